// Fuzzes the control part of a frame. The first two bytes are the kind, as in a header; the rest is
// the control part.
#include "swarm/base/check.hpp"
#include "swarm/protocol/frame.hpp"

#include <algorithm>

using namespace swarm::protocol;

namespace {

void decode_and_encode_hello(std::span<const std::byte> bytes) {
    const auto hello = decode_hello(bytes);
    SWARM_ASSERT(!hello || std::ranges::equal(encode_hello(*hello), bytes));
}

void decode_and_encode(std::uint16_t kind, std::span<const std::byte> bytes) {
    const auto message = decode_control(kind, bytes);
    if (message) {
        SWARM_ASSERT(message->body.index() == kind);
        SWARM_ASSERT(std::ranges::equal(encode_control(*message), bytes));
    }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) {
        return -1;
    }
    const auto kind = static_cast<std::uint16_t>(data[0] | (data[1] << 8));
    const auto bytes = std::as_bytes(std::span(data, size)).subspan(2);
    if (kind == kHelloKind) {
        decode_and_encode_hello(bytes);
    } else {
        decode_and_encode(kind, bytes);
    }
    return 0;
}
