// Keys of a GGUF's metadata, read with checks, and whether tensors exist.
// Invariant: only the first fault is kept; after a fault the values that are returned mean nothing.
// Names that begin with a dot follow the architecture: ".block_count" is "llama.block_count".
// Threading: one thread. Errors: fault(): Malformed or Unsupported; Reject.
#pragma once

#include "stacking/models/gguf_header.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace stacking::models {

class GgufKeys {
 public:
    GgufKeys(const GgufHeader& header, std::string architecture)
        : header_(header), architecture_(std::move(architecture)) {}

    /// Whether there is such a key, also one whose array the header does not keep.
    [[nodiscard]] bool has(const std::string& key) const;

    /// An absent key is a fault.
    std::uint32_t count(const std::string& key);
    std::uint32_t count_or(const std::string& key, std::uint32_t missing);
    double real(const std::string& key);
    double real_or(const std::string& key, double missing);
    bool boolean_or(const std::string& key, bool missing);
    std::string text_or(const std::string& key, const char* missing);

    /// Returns null when there is no such tensor.
    [[nodiscard]] const GgufTensor* find_tensor(std::string_view name) const;

    void require(bool holds, swarm::ErrorCode code, const std::string& what);

    [[nodiscard]] const std::optional<swarm::Error>& fault() const { return fault_; }

 private:
    [[nodiscard]] std::string full(const std::string& key) const;
    [[nodiscard]] std::optional<std::uint64_t> whole(const std::string& key) const;

    const GgufHeader& header_;
    std::string architecture_;
    std::optional<swarm::Error> fault_;
};

}  // namespace stacking::models
