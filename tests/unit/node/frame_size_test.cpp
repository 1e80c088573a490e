#include "swarm/node/frame_size.hpp"

#include "swarm/base/rng.hpp"
#include "swarm/protocol/frame.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace swarm::node {
namespace {

using namespace protocol;

std::uint64_t encoded_bytes(const Message& message) {
    return kHeaderBytes + encode_control(message).size();
}

TEST(FrameBytes, CountATensorInFull) {
    const Message message{0, 0, Backward{}};
    const Payload payload({}, std::vector<std::byte>(100'000));
    const std::uint64_t tensor = frame_bytes(message, payload) - frame_bytes(message, {});
    EXPECT_GE(tensor, 100'000U);
    EXPECT_LE(tensor, 100'200U);
}

TEST(FrameBytes, AreNearTheEncodedSizeOfForward) {
    Forward forward;
    forward.version = {1, 1000};
    forward.microbatch = {77};
    forward.attempt = swarm::make_epoch(1, 5);
    forward.mask = swarm::StageMask::first(4);
    forward.path = {{1ULL << 32}, {2ULL << 32}};
    for (std::uint32_t i = 0; i < 4096; ++i) {
        forward.tokens.push_back((i * 7919) % 50'000);
    }
    const Message message{0, 0, std::move(forward)};
    const auto encoded = static_cast<double>(encoded_bytes(message));
    EXPECT_NEAR(static_cast<double>(frame_bytes(message, {})), encoded, 0.2 * encoded);
}

TEST(FrameBytes, AreNearTheEncodedSizeOfRoster) {
    std::vector<SlotInfo> slots;
    for (std::uint64_t i = 0; i < 500; ++i) {
        SlotInfo slot;
        slot.slot = {(1ULL << 32) + i};
        slot.peer = {{swarm::mix_bits(i), swarm::mix_bits(~i), i, ~i}};
        slot.incarnation = {swarm::mix_bits(i)};
        slot.address = "192.168.100.200:30000";
        slots.push_back(slot);
    }
    const Message message{0, 0, Roster{1, std::move(slots)}};
    const auto encoded = static_cast<double>(encoded_bytes(message));
    EXPECT_NEAR(static_cast<double>(frame_bytes(message, {})), encoded, 0.3 * encoded);
}

}  // namespace
}  // namespace swarm::node
