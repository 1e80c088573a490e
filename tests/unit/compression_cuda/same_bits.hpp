// Judges a coder against the scalar codecs, bit for bit: the lanes on the host, and each GPU.
#pragma once

#include "compression/codec.hpp"
#include "compression/cuda/lanes.hpp"

#include <optional>
#include <vector>

namespace compression::cuda::test {

using Bytes = std::vector<std::byte>;
using Values = std::vector<float>;

class Coder {
 public:
    Coder() = default;
    Coder(const Coder&) = delete;
    Coder& operator=(const Coder&) = delete;
    virtual ~Coder() = default;

    /// Returns nothing when the values are refused.
    virtual std::optional<Bytes> encode(
        const Codec& codec, const Values& values, TensorRole role, std::uint64_t seed
    ) = 0;
    /// Decode writes over `start`, DecodeAdd adds to it. Returns nothing when the bytes are
    /// refused.
    virtual std::optional<Values> decode(
        const Codec& codec, const Bytes& bytes, const Values& start, Direction direction
    ) = 0;
};

/// The scalar codecs that have a body for GPUs: five.
std::vector<const Codec*> coded_on_gpus();

/// Sizes around the group, magnitudes from denormals to FLT_MAX, every role and several seeds.
void expect_same_encoding(Coder& coder, const Codec& codec);
/// NaN, infinity and magnitudes above the limit at every place of a tensor with a tail.
void expect_same_refusals(Coder& coder, const Codec& codec);
/// Random bit patterns as values.
void expect_same_of_random_bits(Coder& coder, const Codec& codec);
/// Coded bytes as they are, with flipped ones, and random ones; written and added.
void expect_same_decoding(Coder& coder, const Codec& codec);

}  // namespace compression::cuda::test
