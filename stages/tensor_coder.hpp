// Codes activations and their gradients where a compute's device keeps them, so that their fp32
// values cross no bus: coded bytes do.
// Invariant: bytes and values are those of Codec::encode and decode, bit for bit, so a peer with a
// coder and one without are replicas like any others.
// Threading: one thread, that of the compute it belongs to.
// Errors, Reject: as Codec's; Unsupported where the device fails.
#pragma once

#include "compression/codec.hpp"
#include "stages/stage_tensor.hpp"
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

    /// Whether the device knows this codec; values of the others go over host memory.
    [[nodiscard]] virtual bool serves(const compression::Codec& codec) const = 0;

    /// `tensor` is its compute's and on the device; `out` has codec.encoded_bytes().
    virtual Result<> encode(
        const compression::Codec& codec,
        const StageTensor& tensor,
        compression::TensorRole role,
        std::uint64_t seed,
        std::span<std::byte> out
    ) = 0;

    /// A tensor on the device. `bytes` are as many as the codec needs for the shape.
    virtual Result<StageTensor> decode(
        const compression::Codec& codec,
        std::span<const std::byte> bytes,
        std::vector<std::uint32_t> shape
    ) = 0;

    /// A copy in host memory. NotFinite.
    virtual Result<StageTensor> to_host(const StageTensor& tensor) = 0;
};

}  // namespace stages
