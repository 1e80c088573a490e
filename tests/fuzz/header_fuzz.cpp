// Fuzzes the first 32 bytes of a frame, from anybody, on either lane.
#include "swarm/base/check.hpp"
#include "swarm/protocol/frame.hpp"
#include "swarm/protocol/limits.hpp"

#include <cstring>

using namespace swarm::protocol;

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    HeaderBytes bytes{};
    if (size != bytes.size()) {
        return -1;
    }
    std::memcpy(bytes.data(), data, size);
    for (const Lane lane : {Lane::Control, Lane::Bulk}) {
        const auto header = decode_header(bytes, lane);
        if (header) {
            SWARM_ASSERT(encode_header(*header) == bytes);
            SWARM_ASSERT(header->control_bytes <= kRosterBytesMax);
            SWARM_ASSERT(header->tensor_bytes <= kTensorBytesMax);
            SWARM_ASSERT(header->tensor_bytes == 0 || lane == Lane::Bulk);
        }
    }
    return 0;
}
