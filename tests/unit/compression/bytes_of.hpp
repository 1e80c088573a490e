// Bytes that a test writes out as numbers.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <vector>

namespace compression::test {

inline std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
    std::vector<std::byte> bytes;
    for (const int value : values) {
        bytes.push_back(static_cast<std::byte>(value));
    }
    return bytes;
}

}  // namespace compression::test
