// Fuzzes the envelope, which says how a tensor's raw bytes are to be read.
#include "swarm/base/check.hpp"
#include "swarm/protocol/tensor_envelope.hpp"

#include <algorithm>

using namespace swarm::protocol;

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto bytes = std::as_bytes(std::span(data, size));
    const auto envelope = decode_envelope(bytes);
    if (envelope) {
        SWARM_ASSERT(std::ranges::equal(encode_envelope(*envelope), bytes));
        SWARM_ASSERT(envelope->elements() * bytes_of(envelope->dtype) <= kTensorBytesMax);
    }
    return 0;
}
