#include "stacking/sessions/directory.hpp"

#include <gtest/gtest.h>

namespace stacking::sessions {
namespace {

using namespace std::chrono_literals;

constexpr PeerId kFirst{{1}};
constexpr PeerId kSecond{{2}};
constexpr PeerId kClient{{9}};

swarm::Digest digest(unsigned char first) {
    swarm::Digest digest;
    digest.bytes[0] = static_cast<std::byte>(first);
    return digest;
}

protocol::Register registration(protocol::LayerRange hosted, unsigned char weights = 1) {
    protocol::Register body;
    body.model = digest(7);
    body.layers = 6;
    body.hosted = hosted;
    body.weights = digest(weights);
    body.address = "peer.example:1";
    return body;
}

class DirectoryTest : public testing::Test {
 protected:
    /// What it answers.
    template <class Answer>
    Answer on(PeerId from, protocol::Body body, swarm::Duration at = {}) {
        node::Outbox out;
        directory_.on(
            node::Received{from, node::Lane::Control, {0, 0, std::move(body)}, {}},
            TimePoint(at),
            out
        );
        const auto& sent = std::get<node::Send>(out.actions.at(0));
        EXPECT_EQ(sent.peer, from);
        return std::get<Answer>(sent.message.body);
    }

    void happens(const node::Event& event, swarm::Duration at) {
        node::Outbox out;
        directory_.on(event, TimePoint(at), out);
        EXPECT_TRUE(out.actions.empty());
    }

    std::size_t located(swarm::Duration at = {}) {
        return on<protocol::Located>(kClient, protocol::Locate{digest(7)}, at).hosts.size();
    }

    Directory directory_;
};

TEST_F(DirectoryTest, ListsWhoRegisteredInOrderOfLayers) {
    EXPECT_EQ(on<protocol::Registered>(kFirst, registration({3, 6})).refusal, "");
    EXPECT_EQ(on<protocol::Registered>(kSecond, registration({0, 3})).refusal, "");
    const auto located = on<protocol::Located>(kClient, protocol::Locate{digest(7)});
    EXPECT_EQ(located.layers, 6U);
    ASSERT_EQ(located.hosts.size(), 2U);
    EXPECT_EQ(located.hosts[0].peer, kSecond);
    EXPECT_EQ(located.hosts[1].address, "peer.example:1");
}

TEST_F(DirectoryTest, KnowsNobodyOfAnotherModel) {
    on<protocol::Registered>(kFirst, registration({0, 6}));
    const auto located = on<protocol::Located>(kClient, protocol::Locate{digest(8)});
    EXPECT_EQ(located.layers, 0U);
    EXPECT_TRUE(located.hosts.empty());
}

TEST_F(DirectoryTest, RefusesOtherWeightsOfTheSameLayers) {
    on<protocol::Registered>(kFirst, registration({0, 6}, 1));
    const auto answer = on<protocol::Registered>(kSecond, registration({0, 6}, 2));
    EXPECT_NE(answer.refusal.find("other weights"), std::string::npos) << answer.refusal;
    EXPECT_EQ(located(), 1U);
    EXPECT_EQ(on<protocol::Registered>(kSecond, registration({0, 6}, 1)).refusal, "");
    EXPECT_EQ(located(), 2U);
}

TEST_F(DirectoryTest, RefusesAnotherNumberOfLayers) {
    on<protocol::Registered>(kFirst, registration({0, 3}));
    auto other = registration({3, 6});
    other.layers = 7;
    EXPECT_NE(on<protocol::Registered>(kSecond, other).refusal, "");
}

TEST_F(DirectoryTest, ForgetsWhoseLinkIsGone) {
    on<protocol::Registered>(kFirst, registration({0, 6}));
    happens(node::LinkDown{kFirst, node::Lane::Bulk}, 1s);
    EXPECT_EQ(located(1s), 1U);
    happens(node::LinkDown{kFirst, node::Lane::Control}, 1s);
    EXPECT_EQ(located(1s), 0U);
}

TEST_F(DirectoryTest, ForgetsWhoIsSilentForSixSeconds) {
    on<protocol::Registered>(kFirst, registration({0, 6}));
    on<protocol::Registered>(kSecond, registration({0, 6}), 3s);
    EXPECT_EQ(directory_.next_deadline(), TimePoint(6s));
    happens(node::Woke{}, 6s);
    EXPECT_EQ(located(6s), 1U);
    EXPECT_EQ(directory_.next_deadline(), TimePoint(9s));
}

TEST_F(DirectoryTest, APeerThatServesOtherLayersNowIsListedOnce) {
    on<protocol::Registered>(kFirst, registration({0, 3}));
    on<protocol::Registered>(kFirst, registration({3, 6}));
    EXPECT_EQ(directory_.listed(), 1U);
}

}  // namespace
}  // namespace stacking::sessions
