#include "swarm/net/tls.hpp"

#include <gtest/gtest.h>

namespace swarm::net {
namespace {

constexpr SessionSecret kSecret{std::byte{1}, std::byte{2}};

TEST(SwarmKey, IsProvenByItsHolder) {
    const auto proof = prove_swarm_key("secret", kSecret, Side::Client);
    EXPECT_EQ(proof.size(), 32U);
    EXPECT_TRUE(check_swarm_key("secret", kSecret, Side::Client, proof).has_value());
}

TEST(SwarmKey, ProofIsWorthNothingWithAnotherKeyConnectionOrDirection) {
    const auto proof = prove_swarm_key("secret", kSecret, Side::Client);
    EXPECT_FALSE(check_swarm_key("other", kSecret, Side::Client, proof).has_value());
    EXPECT_FALSE(check_swarm_key("secret", SessionSecret{}, Side::Client, proof).has_value());
    EXPECT_FALSE(check_swarm_key("secret", kSecret, Side::Server, proof).has_value());
}

TEST(SwarmKey, OpenRunsProveNothing) {
    EXPECT_TRUE(prove_swarm_key("", kSecret, Side::Client).empty());
    EXPECT_TRUE(check_swarm_key("", kSecret, Side::Server, {}).has_value());
}

TEST(SwarmKey, OpenAndPrivateRunsDoNotMix) {
    const auto proof = prove_swarm_key("secret", kSecret, Side::Client);
    EXPECT_FALSE(check_swarm_key("", kSecret, Side::Client, proof).has_value());
    EXPECT_FALSE(check_swarm_key("secret", kSecret, Side::Client, {}).has_value());
}

}  // namespace
}  // namespace swarm::net
