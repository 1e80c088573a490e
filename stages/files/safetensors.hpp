// Safetensors files with fp32 tensors: header length (u64 little-endian), JSON header, raw values.
// Invariant: a file that parses is whole: offsets tile the buffer in some order without holes or
// overlaps, each tensor's size fits its shape, no name comes twice, header at most 100 MB.
// Threading: pure functions, immutable objects. Errors: Malformed, TooLarge (header), Unsupported
// (a dtype other than F32); all Reject.
// Cost: one copy of the values. Source: github.com/huggingface/safetensors, README "Format".
#pragma once

#include "swarm/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stages {

struct NamedTensor {
    std::string name;
    std::vector<std::uint32_t> shape;  // row-major
    std::span<const float> values;
};

/// Returns the bytes of a file. Names are unique and not "__metadata__"; the values lie in the file
/// in the order of `tensors`.
std::vector<std::byte> write_safetensors(std::span<const NamedTensor> tensors);

class Safetensors {
 public:
    Safetensors(Safetensors&&) = default;
    Safetensors& operator=(Safetensors&&) = default;
    Safetensors(const Safetensors&) = delete;  // the views look into values_
    Safetensors& operator=(const Safetensors&) = delete;
    ~Safetensors() = default;

    static swarm::Result<Safetensors> parse(std::span<const std::byte> file);

    /// Null when no tensor has this name. The pointer is valid as long as the object, also after
    /// the
    /// object is moved.
    [[nodiscard]] const NamedTensor* find(std::string_view name) const;

    /// All tensors by name.
    [[nodiscard]] const std::map<std::string, NamedTensor, std::less<>>& tensors() const {
        return tensors_;
    }

 private:
    Safetensors() = default;

    std::vector<float> values_;
    std::map<std::string, NamedTensor, std::less<>> tensors_;
};

}  // namespace stages
