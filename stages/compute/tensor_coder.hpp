// Codes activations and their gradients on the compute's device, so that coded bytes cross the bus
// instead of fp32 values.
// Invariant: bytes and values are those of Codec::encode and decode, bit for bit, so a peer with a
// coder and a peer without one are replicas like any others.
// Threading: one thread, that of the compute to which the coder belongs.
// Errors: those of Codec, and Unsupported where the device fails. All of them say Reject.
#pragma once

#include "compression/codec.hpp"
#include "stages/compute/stage_tensor.hpp"
#include "swarm/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stages {

using swarm::Result;

class TensorCoder {
 public:
    TensorCoder() = default;
    TensorCoder(const TensorCoder&) = delete;
    TensorCoder& operator=(const TensorCoder&) = delete;
    virtual ~TensorCoder() = default;

    /// True when the device knows this codec. Values of other codecs go through host memory.
    [[nodiscard]] virtual bool serves(const compression::Codec& codec) const = 0;

    /// `tensor` is on the device and was made by the coder's compute; `out` has
    /// codec.encoded_bytes() bytes.
    virtual Result<> encode(
        const compression::Codec& codec,
        const StageTensor& tensor,
        compression::TensorRole role,
        std::uint64_t seed,
        std::span<std::byte> out
    ) = 0;

    /// Returns a tensor on the device. `bytes` are as many as the codec needs for the shape.
    virtual Result<StageTensor> decode(
        const compression::Codec& codec,
        std::span<const std::byte> bytes,
        std::vector<std::uint32_t> shape
    ) = 0;

    /// Returns a copy in host memory. Error: NotFinite.
    virtual Result<StageTensor> to_host(const StageTensor& tensor) = 0;
};

}  // namespace stages
