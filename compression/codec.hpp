// A codec turns the fp32 values of a tensor into bytes and back.
// Invariant: encode is a function of (values, seed), decode of the bytes alone, bit-identical on
// every path and peer; the seed is (run, step, microbatch, stage, leg), never attempt or peer, so
// a replay sends the same bytes.
// Threading: codecs have no state. Errors: Malformed, TooLarge, NotFinite; all Reject.
// To add one: one file, one line in registry.cpp; tests/unit/compression judges every entry.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/protocol/tensor_envelope.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace compression {

using swarm::Result;
using swarm::protocol::CodecId;

enum class TensorRole : std::uint8_t { Activation, ActivationGradient };

class Codec {
 public:
    Codec() = default;
    Codec(const Codec&) = delete;
    Codec& operator=(const Codec&) = delete;
    virtual ~Codec() = default;

    [[nodiscard]] virtual CodecId id() const = 0;
    [[nodiscard]] virtual std::string_view name() const = 0;
    /// Exact size of encode()'s output.
    [[nodiscard]] virtual std::uint64_t encoded_bytes(std::uint64_t elements) const = 0;

    /// `out` has encoded_bytes(values.size()) bytes. NaN and infinity are refused.
    virtual Result<> encode(
        std::span<const float> values, TensorRole role, std::uint64_t seed, std::span<std::byte> out
    ) const = 0;
    /// `bytes` must have encoded_bytes(out.size()) bytes. Values that are not finite are refused.
    virtual Result<> decode(std::span<const std::byte> bytes, std::span<float> out) const = 0;
};

/// Null for a name or number nobody has registered.
const Codec* find_codec(std::string_view name);
const Codec* find_codec(CodecId id);
/// "none, int8": for error texts and --help.
std::string codec_names();

}  // namespace compression
