// Metadata and tensor table of a GGUF v3 file. All 13 types of values are read. Arrays are kept
// only below "tokenizer.ggml."; others are skipped. The values of the tensors are not read.
// Invariant: the returned header fits the file. Every tensor lies inside the file, is aligned,
// overlaps no other, and has the size of its shape; no key and no name comes twice. Nothing is
// allocated for entries before the file has shown that it contains them.
// Threading: pure functions. Errors: Malformed, TooLarge (a bound of limits.hpp), Unsupported
// (version, byte order, a tensor type that is not in stacking/blocks), StorageFailed;
// Reject.
// Cost: one pass over the header, 64 KiB at a time. Source: ggml/docs/gguf.md; the code is own.
#pragma once

#include "stacking/models/byte_source.hpp"
#include "stacking/models/weight_type.hpp"
#include "swarm/base/result.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace stacking::models {

/// Whole numbers and reals of any width, and arrays of strings, whole numbers and fp32.
using GgufValue = std::variant<
    std::uint64_t,
    std::int64_t,
    double,
    bool,
    std::string,
    std::vector<std::string>,
    std::vector<std::int64_t>,
    std::vector<float>>;

struct GgufTensor {
    std::string name;
    std::vector<std::uint32_t> shape;  // row-major: the reverse of the order in the file
    WeightType type = WeightType::F32;
    std::uint64_t offset = 0;  // bytes from the start of the file
    std::uint64_t bytes = 0;
    std::size_t file = 0;  // index of the part that has it (gguf_parts.hpp)
};

struct GgufHeader {
    std::map<std::string, GgufValue, std::less<>> metadata;
    std::set<std::string, std::less<>> skipped;  // keys whose arrays were not kept
    std::vector<GgufTensor> tensors;             // in the file's order

    /// Returns null when there is no such key, or when its value has another type.
    template <class T>
    [[nodiscard]] const T* find(std::string_view key) const {
        const auto found = metadata.find(key);
        return found == metadata.end() ? nullptr : std::get_if<T>(&found->second);
    }
};

swarm::Result<GgufHeader> read_gguf_header(const ByteSource& file);

/// Whether the file begins as a GGUF of any version does.
bool is_gguf(const ByteSource& file);

}  // namespace stacking::models
