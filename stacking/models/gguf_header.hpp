// Metadata and tensor table of a GGUF v3 file. All 13 types of values are read; arrays are kept
// below "tokenizer.ggml." only, others are skipped. Nothing of the tensors themselves is read.
// Invariant: what is returned fits the file: every tensor lies inside it, aligned, beside the
// others, its size is that of its shape; no key and no name comes twice; and nothing was allocated
// that the file had not first shown to contain.
// Errors: Malformed, TooLarge (a bound of limits.hpp), Unsupported (version, byte order, a tensor
// type other than F32, F16, BF16, Q4_1, Q8_0), StorageFailed; Reject.
// Cost: reads the header once, 64 KiB at a time. Source: ggml/docs/gguf.md; the code is own.
#pragma once

#include "stacking/models/byte_source.hpp"
#include "stacking/models/weight_type.hpp"
#include "swarm/base/result.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace stacking::models {

/// Whole numbers of any width, reals of any width, and arrays of strings and whole numbers.
using GgufValue = std::variant<
    std::uint64_t,
    std::int64_t,
    double,
    bool,
    std::string,
    std::vector<std::string>,
    std::vector<std::int64_t>>;

struct GgufTensor {
    std::string name;
    std::vector<std::uint32_t> shape;  // row-major: the reverse of the order in the file
    WeightType type = WeightType::F32;
    std::uint64_t offset = 0;  // from the start of the file, in bytes
    std::uint64_t bytes = 0;
};

struct GgufHeader {
    std::map<std::string, GgufValue, std::less<>> metadata;
    std::vector<GgufTensor> tensors;  // in the order of the file

    /// Null when there is no such key, or when its value is of another type.
    template <class T>
    [[nodiscard]] const T* find(std::string_view key) const {
        const auto found = metadata.find(key);
        return found == metadata.end() ? nullptr : std::get_if<T>(&found->second);
    }
};

swarm::Result<GgufHeader> read_gguf_header(const ByteSource& file);

/// Whether it begins as a GGUF does, whatever its version.
bool is_gguf(const ByteSource& file);

}  // namespace stacking::models
