#include "stacking/sessions/directory.hpp"

#include <gtest/gtest.h>

namespace stacking::sessions {
namespace {

using namespace std::chrono_literals;

constexpr PeerId kFirst{{1}};
constexpr PeerId kSecond{{2}};
constexpr PeerId kThird{{3}};
constexpr PeerId kReader{{9}};

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

protocol::HostOffer offer(std::vector<protocol::LayerRange> split) {
    return {digest(7), 6, std::move(split)};
}

class DirectoryTest : public testing::Test {
 protected:
    /// Returns the directory's answer to a message.
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

    /// Returns the reports for people that an event causes.
    std::vector<node::HostListed> happens(const node::Event& event, swarm::Duration at) {
        node::Outbox out;
        directory_.on(event, TimePoint(at), out);
        std::vector<node::HostListed> told;
        for (const node::Action& action : out.actions) {
            told.push_back(std::get<node::HostListed>(std::get<node::Tell>(action).report));
        }
        return told;
    }

    protocol::LayerRange place_of(PeerId newcomer, swarm::Duration at = {}) {
        return on<protocol::HostPlace>(newcomer, offer({{0, 2}, {2, 4}, {4, 6}}), at).hosted;
    }

    std::size_t located(swarm::Duration at = {}) {
        return on<protocol::Located>(kReader, protocol::Locate{digest(7)}, at).hosts.size();
    }

    Directory directory_;
};

TEST_F(DirectoryTest, ListsRegisteredPeersInOrderOfLayers) {
    EXPECT_EQ(on<protocol::Registered>(kFirst, registration({3, 6})).refusal, "");
    EXPECT_EQ(on<protocol::Registered>(kSecond, registration({0, 3})).refusal, "");
    const auto located = on<protocol::Located>(kReader, protocol::Locate{digest(7)});
    EXPECT_EQ(located.layers, 6U);
    ASSERT_EQ(located.hosts.size(), 2U);
    EXPECT_EQ(located.hosts[0].peer, kSecond);
    EXPECT_EQ(located.hosts[1].address, "peer.example:1");
}

TEST_F(DirectoryTest, ListsNobodyForAnotherModel) {
    on<protocol::Registered>(kFirst, registration({0, 6}));
    const auto located = on<protocol::Located>(kReader, protocol::Locate{digest(8)});
    EXPECT_EQ(located.layers, 0U);
    EXPECT_TRUE(located.hosts.empty());
}

TEST_F(DirectoryTest, ListsPeersWithOtherWeightsSideBySide) {
    on<protocol::Registered>(kFirst, registration({0, 6}, 1));
    EXPECT_EQ(on<protocol::Registered>(kSecond, registration({0, 6}, 2)).refusal, "");
    const auto located = on<protocol::Located>(kReader, protocol::Locate{digest(7)});
    ASSERT_EQ(located.hosts.size(), 2U);
    EXPECT_EQ(located.hosts[0].weights, digest(1));
    EXPECT_EQ(located.hosts[1].weights, digest(2));
}

TEST_F(DirectoryTest, ListsPeersThatSayAnotherNumberOfLayersForClientsThatMeanIt) {
    auto other = registration({3, 6});
    other.layers = 7;
    on<protocol::Registered>(kFirst, other);
    EXPECT_EQ(on<protocol::Registered>(kSecond, registration({0, 3})).refusal, "");
    on<protocol::Registered>(kThird, registration({3, 6}));
    const auto of = [&](std::uint32_t layers) {
        return on<protocol::Located>(kReader, protocol::Locate{digest(7), layers});
    };
    EXPECT_EQ(of(6).hosts.size(), 2U);
    ASSERT_EQ(of(7).hosts.size(), 1U);
    EXPECT_EQ(of(7).hosts[0].peer, kFirst);
    EXPECT_EQ(of(8).layers, 0U);
    EXPECT_EQ(of(0).layers, 6U);  // most peers say so
}

/// It is told to people and to whoever asks, and counts at no place of a split.
TEST_F(DirectoryTest, ListsAPeerThatLendsExpertsAlone) {
    auto lends = registration({0, 2}, 3);
    lends.experts = {5};
    lends.experts_only = true;
    on<protocol::Registered>(kFirst, lends);
    const auto located = on<protocol::Located>(kReader, protocol::Locate{digest(7)});
    ASSERT_EQ(located.hosts.size(), 1U);
    EXPECT_TRUE(located.hosts[0].experts_only);
    EXPECT_EQ(located.hosts[0].experts, lends.experts);
    EXPECT_EQ(place_of(kSecond), (protocol::LayerRange{0, 2}));
    const auto told = happens(node::LinkDown{kFirst, node::Lane::Control}, 1s);
    ASSERT_EQ(told.size(), 1U);
    EXPECT_EQ(told[0].experts, (std::vector<std::uint32_t>{0, 2}));
}

TEST_F(DirectoryTest, ForgetsAPeerWhoseLinkIsGone) {
    on<protocol::Registered>(kFirst, registration({0, 6}));
    EXPECT_TRUE(happens(node::LinkDown{kFirst, node::Lane::Bulk}, 1s).empty());
    EXPECT_EQ(located(1s), 1U);
    happens(node::LinkDown{kFirst, node::Lane::Control}, 1s);
    EXPECT_EQ(located(1s), 0U);
}

TEST_F(DirectoryTest, ForgetsAPeerThatIsSilentForSixSeconds) {
    on<protocol::Registered>(kFirst, registration({0, 6}));
    on<protocol::Registered>(kSecond, registration({0, 6}), 3s);
    EXPECT_EQ(directory_.next_deadline(), TimePoint(6s));
    happens(node::Woke{}, 6s);
    EXPECT_EQ(located(6s), 1U);
    EXPECT_EQ(directory_.next_deadline(), TimePoint(9s));
}

TEST_F(DirectoryTest, APeerThatChangesItsLayersIsListedOnce) {
    on<protocol::Registered>(kFirst, registration({0, 3}));
    on<protocol::Registered>(kFirst, registration({3, 6}));
    EXPECT_EQ(directory_.listed(), 1U);
}

TEST_F(DirectoryTest, ReportsEachArrivalAndEachLossOnce) {
    const node::Received registers{kFirst, node::Lane::Control, {0, 0, registration({0, 6})}, {}};
    node::Outbox out;
    directory_.on(registers, TimePoint(0s), out);
    const auto& tell = std::get<node::Tell>(out.actions.at(1));
    EXPECT_TRUE(std::get<node::HostListed>(tell.report).listed);
    out.actions.clear();
    directory_.on(registers, TimePoint(2s), out);
    EXPECT_EQ(out.actions.size(), 1U);
    const auto gone = happens(node::LinkDown{kFirst, node::Lane::Control}, 3s);
    ASSERT_EQ(gone.size(), 1U);
    EXPECT_FALSE(gone[0].listed);
    EXPECT_EQ(gone[0].hosts, 0U);
}

TEST_F(DirectoryTest, NewcomersThatComeTogetherSpreadOverTheLayers) {
    EXPECT_EQ(place_of({{1}}), (protocol::LayerRange{0, 2}));
    EXPECT_EQ(place_of({{2}}), (protocol::LayerRange{2, 4}));
    EXPECT_EQ(place_of({{3}}), (protocol::LayerRange{4, 6}));
    EXPECT_EQ(place_of({{4}}), (protocol::LayerRange{0, 2}));
    EXPECT_EQ(located(), 0U);  // peers that load do not serve yet
}

TEST_F(DirectoryTest, APeerThatAsksAgainKeepsItsPlaceWhileItLoads) {
    place_of(kFirst);
    EXPECT_EQ(place_of(kSecond), (protocol::LayerRange{2, 4}));
    EXPECT_EQ(place_of(kSecond, 4s), (protocol::LayerRange{2, 4}));
    happens(node::Woke{}, 6s);  // the first peer was silent for 6 s
    EXPECT_EQ(place_of(kReader, 6s), (protocol::LayerRange{0, 2}));
}

TEST_F(DirectoryTest, TheNextNewcomerGetsALostPeersLayers) {
    for (const PeerId peer : {PeerId{{1}}, PeerId{{2}}, PeerId{{3}}}) {
        on<protocol::Registered>(peer, registration(place_of(peer)));
    }
    happens(node::LinkDown{{{2}}, node::Lane::Control}, 1s);
    EXPECT_EQ(place_of({{4}}, 1s), (protocol::LayerRange{2, 4}));
}

TEST_F(DirectoryTest, TheFirstPeersSplitHoldsForAll) {
    EXPECT_EQ(place_of(kFirst), (protocol::LayerRange{0, 2}));
    const auto place = on<protocol::HostPlace>(kSecond, offer({{0, 6}}));
    EXPECT_EQ(place.hosted, (protocol::LayerRange{2, 4}));
    happens(node::LinkDown{kFirst, node::Lane::Control}, 1s);
    EXPECT_EQ(  // a peer that is alone may offer any split
        on<protocol::HostPlace>(kSecond, offer({{0, 6}}), 1s).hosted,
        (protocol::LayerRange{0, 6})
    );
}

TEST_F(DirectoryTest, AnOfferOfAnotherNumberOfLayersHasPlacesOfItsOwn) {
    place_of(kFirst);
    protocol::HostOffer other = offer({{0, 7}});
    other.layers = 7;
    EXPECT_EQ(on<protocol::HostPlace>(kSecond, other).hosted, (protocol::LayerRange{0, 7}));
    EXPECT_EQ(place_of(kThird), (protocol::LayerRange{2, 4}));
}

}  // namespace
}  // namespace stacking::sessions
