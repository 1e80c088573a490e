// How a directory's table and time are shared among peers that do not know each other: squatters,
// junk for a model that others serve, and clients that ask too much.
#include "stacking/sessions/directory.hpp"
#include "swarm/protocol/limits.hpp"
#include "tests/unit/stacking_sessions/bench.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace stacking::sessions {
namespace {

using namespace std::chrono_literals;
using protocol::LayerRange;

constexpr std::uint64_t kStrangers = 1000;  // number of the first one
constexpr PeerId kGuest{{9}};

swarm::Digest model_of(std::uint64_t number) {
    swarm::Digest digest;
    digest.bytes[0] = static_cast<std::byte>(number >> 8U);
    digest.bytes[1] = static_cast<std::byte>(number);
    return digest;
}

class DirectorySharesTest : public testing::Test {
 protected:
    void connect(PeerId peer, std::uint64_t network) {
        happens(node::LinkUp{peer, node::Lane::Control, {1}, false, network});
    }

    void happens(const node::Event& event) {
        node::Outbox out;
        directory_.on(event, now_, out);
        for (const node::Action& action : out.actions) {
            told_ += std::holds_alternative<node::Tell>(action) ? 1 : 0;
        }
    }

    template <class Answer>
    std::vector<Answer> on(PeerId from, protocol::Body body) {
        node::Outbox out;
        directory_.on(
            node::Received{from, node::Lane::Control, {0, 0, std::move(body)}, {}}, now_, out
        );
        std::vector<Answer> answers;
        for (auto& [peer, answer] : sent<Answer>(out)) {
            EXPECT_EQ(peer, from);
            answers.push_back(std::move(answer));
        }
        for (const node::Action& action : out.actions) {
            told_ += std::holds_alternative<node::Tell>(action) ? 1 : 0;
        }
        return answers;
    }

    /// Returns the refusal; empty when the peer is listed.
    std::string serve(
        PeerId peer,
        const swarm::Digest& model,
        LayerRange hosted = {0, 6},
        unsigned char weights = 1
    ) {
        protocol::Register body;
        body.model = model;
        body.layers = 6;
        body.hosted = hosted;
        body.weights = digest_of(weights);
        const auto answers = on<protocol::Registered>(peer, body);
        return answers.empty() ? "no answer" : answers[0].refusal;
    }

    /// Connects a stranger that registers a model of its own.
    std::string squat(std::uint64_t number, std::uint64_t network) {
        const PeerId peer{{kStrangers + number}};
        connect(peer, network);
        return serve(peer, model_of(1 + number));
    }

    std::vector<protocol::HostInfo> located(const swarm::Digest& model) {
        const auto answers = on<protocol::Located>(kGuest, protocol::Locate{model, 6});
        return answers.empty() ? std::vector<protocol::HostInfo>() : answers[0].hosts;
    }

    LayerRange place_of(PeerId peer, std::vector<LayerRange> split, std::uint64_t network) {
        connect(peer, network);
        const auto places =
            on<protocol::HostPlace>(peer, protocol::HostOffer{model_of(0), 6, std::move(split)});
        return places.empty() ? LayerRange{} : places[0].hosted;
    }

    Directory directory_;
    TimePoint now_{1s};
    int told_ = 0;
};

TEST_F(DirectorySharesTest, SixtyFourSquattersDoNotStopThe65thModel) {
    for (const bool one_network : {true, false}) {
        for (std::uint64_t number = 0; number < 64; ++number) {
            EXPECT_EQ(squat(number, one_network ? 7 : 100 + number), "");
        }
        const PeerId honest{{1}};
        connect(honest, 7);
        EXPECT_EQ(serve(honest, model_of(0)), "");
        ASSERT_EQ(located(model_of(0)).size(), 1U);
        EXPECT_EQ(located(model_of(0))[0].peer, honest);
        happens(node::LinkDown{honest, node::Lane::Control});
    }
}

TEST_F(DirectorySharesTest, ANetworkHasAQuarterOfTheModelsAtMost) {
    for (std::uint64_t number = 0; number < protocol::kModelsPerNetworkMax; ++number) {
        EXPECT_EQ(squat(number, 7), "");
    }
    EXPECT_EQ(squat(500, 7), "too many models of this network are listed here");
    EXPECT_EQ(squat(501, 8), "");
}

TEST_F(DirectorySharesTest, InAFullTableTheFullestNetworkLosesItsNewestModel) {
    const PeerId early{{1}};
    connect(early, 3);
    EXPECT_EQ(serve(early, model_of(0)), "");
    for (std::uint64_t number = 1; number < protocol::kModelsMax; ++number) {
        EXPECT_EQ(squat(number, 100 + number % 5), "");
    }
    EXPECT_EQ(directory_.table().models().size(), protocol::kModelsMax);
    const PeerId late{{2}};
    connect(late, 4);
    EXPECT_EQ(serve(late, model_of(700)), "");
    EXPECT_EQ(located(model_of(0)).size(), 1U);
    EXPECT_EQ(located(model_of(700)).size(), 1U);
    EXPECT_EQ(directory_.table().models().size(), protocol::kModelsMax);
    EXPECT_EQ(squat(900, 101), "too many models are listed here");
}

TEST_F(DirectorySharesTest, ANetworkHasAnEighthOfAModelsPeersAtMost) {
    for (std::uint64_t number = 0; number < protocol::kHostsPerNetworkMax; ++number) {
        const PeerId peer{{kStrangers + number}};
        connect(peer, 7);
        EXPECT_EQ(serve(peer, model_of(0), {0, 6}, 9), "");
        now_ += 1ms;
    }
    const PeerId one_more{{1}};
    connect(one_more, 7);
    EXPECT_EQ(
        serve(one_more, model_of(0)), "too many peers of this network serve this model already"
    );
    connect({{2}}, 8);
    EXPECT_EQ(serve({{2}}, model_of(0)), "");
}

TEST_F(DirectorySharesTest, InAFullModelTheFullestNetworkLosesItsNewestPeer) {
    for (std::uint64_t number = 0; number < protocol::kHostsMax; ++number) {
        const PeerId peer{{kStrangers + number}};
        connect(peer, 100 + number % 8);
        EXPECT_EQ(serve(peer, model_of(0), {0, 6}, 9), "");
    }
    connect({{1}}, 7);
    EXPECT_EQ(serve({{1}}, model_of(0)), "");
    EXPECT_EQ(directory_.listed(), protocol::kHostsMax);
    EXPECT_EQ(located(model_of(0))[0].peer, (PeerId{{1}}));
}

TEST_F(DirectorySharesTest, JunkForAModelNeitherBlocksNorDisplacesTheHonestPeers) {
    connect({{kStrangers}}, 7);
    protocol::Register junk;
    junk.model = model_of(0);
    junk.layers = 5;
    junk.hosted = {0, 5};
    EXPECT_EQ(on<protocol::Registered>({{kStrangers}}, junk)[0].refusal, "");
    connect({{kStrangers + 1}}, 7);
    EXPECT_EQ(serve({{kStrangers + 1}}, model_of(0), {0, 6}, 9), "");
    connect({{1}}, 8);
    EXPECT_EQ(serve({{1}}, model_of(0)), "");
    const auto hosts = located(model_of(0));
    ASSERT_EQ(hosts.size(), 2U);
    EXPECT_EQ(hosts[0].peer, (PeerId{{1}}));
    EXPECT_EQ(hosts[0].weights, digest_of(1));
    EXPECT_EQ(hosts[1].weights, digest_of(9));
}

TEST_F(DirectorySharesTest, AStrangersSplitDoesNotHoldForPeersOfOtherNetworks) {
    const std::vector<LayerRange> junk{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}};
    EXPECT_EQ(place_of({{kStrangers}}, junk, 7), (LayerRange{0, 1}));
    EXPECT_EQ(place_of({{1}}, {{0, 3}, {3, 6}}, 8), (LayerRange{0, 3}));
    EXPECT_EQ(place_of({{2}}, {{0, 3}, {3, 6}}, 9), (LayerRange{3, 6}));
    EXPECT_EQ(place_of({{3}}, {{0, 6}}, 8), (LayerRange{0, 3}));  // that of its own network
}

TEST_F(DirectorySharesTest, PeersOfAnotherNetworkCountAsOneWhereAPlaceIsNeeded) {
    for (std::uint64_t number = 0; number < 20; ++number) {
        connect({{kStrangers + number}}, 7);
        serve({{kStrangers + number}}, model_of(0), {0, 3});
    }
    const std::vector<LayerRange> split{{0, 3}, {3, 6}};
    EXPECT_EQ(place_of({{1}}, split, 8), (LayerRange{3, 6}));
    EXPECT_EQ(place_of({{2}}, split, 9), (LayerRange{0, 3}));
}

TEST_F(DirectorySharesTest, LookUpsOfAClientAreLimitedPerSecond) {
    connect(kGuest, 7);
    connect({{1}}, 7);
    EXPECT_EQ(serve({{1}}, model_of(0)), "");
    int answers = 0;
    for (int i = 0; i < 2000; ++i) {
        answers += located(model_of(0)).empty() ? 0 : 1;
    }
    EXPECT_EQ(answers, static_cast<int>(protocol::kRequestsAtOnceMax));
    EXPECT_EQ(serve({{1}}, model_of(0)), "");  // others are answered
    now_ += 1s;
    answers = 0;
    for (int i = 0; i < 2000; ++i) {
        answers += located(model_of(0)).empty() ? 0 : 1;
    }
    EXPECT_EQ(answers, static_cast<int>(protocol::kRequestsPerS));
}

TEST_F(DirectorySharesTest, APeerThatChangesItsLayersAllTheTimeIsNotHeardForLong) {
    connect({{1}}, 7);
    told_ = 0;
    for (std::uint32_t i = 0; i < 2000; ++i) {
        serve({{1}}, model_of(0), {0, 1 + i % 6});
    }
    EXPECT_LE(told_, 40);
}

}  // namespace
}  // namespace stacking::sessions
