#include "stacking/sessions/weight_groups.hpp"

#include "tests/unit/stacking_sessions/bench.hpp"

#include <gtest/gtest.h>

namespace stacking::sessions {
namespace {

using protocol::HostInfo;
using Use = WeightGroups::Use;

HostInfo host(std::uint64_t peer, unsigned char weights, protocol::LayerRange layers = {0, 2}) {
    return {{{peer}}, layers, "", {}, digest_of(weights)};
}

std::vector<std::uint64_t> peers(const std::vector<HostInfo>& hosts) {
    std::vector<std::uint64_t> numbers;
    for (const HostInfo& one : hosts) {
        numbers.push_back(one.peer.words[0]);
    }
    return numbers;
}

using Peers = std::vector<std::uint64_t>;

TEST(WeightGroups, PeersThatAgreeAreAllTakenWithoutAWord) {
    WeightGroups groups;
    const std::vector<HostInfo> hosts{host(1, 1), host(2, 1), host(3, 2, {2, 4})};
    EXPECT_EQ(peers(groups.choose(hosts, "m", Use::Idle)), (Peers{1, 2, 3}));
    EXPECT_EQ(groups.news(), "");
}

TEST(WeightGroups, TheGroupWithTheMostPeersIsTakenAndSaidOnce) {
    WeightGroups groups;
    const std::vector<HostInfo> hosts{host(1, 0xab), host(2, 3), host(3, 3), host(4, 9, {2, 4})};
    EXPECT_EQ(peers(groups.choose(hosts, "m", Use::Idle)), (Peers{2, 3, 4}));
    EXPECT_EQ(
        groups.news(),
        "peers disagree about the weights of layers 0 to 1 of m: 03000000 is taken (2 peers); "
        "there is also ab000000 (1); --digest names another one"
    );
    groups.choose(hosts, "m", Use::Idle);
    EXPECT_EQ(groups.news(), "");
}

TEST(WeightGroups, AUserNamesTheGroup) {
    WeightGroups groups({"ab00", "09"});
    const std::vector<HostInfo> hosts{host(1, 0xab), host(2, 3), host(3, 3), host(4, 9, {2, 4})};
    EXPECT_EQ(peers(groups.choose(hosts, "m", Use::Idle)), (Peers{1, 4}));
    EXPECT_EQ(groups.news(), "");
    EXPECT_EQ(peers(groups.choose({host(2, 3)}, "m", Use::Idle)), Peers{});
}

TEST(WeightGroups, AGroupStaysChosenWhileASessionIsUnderWay) {
    WeightGroups groups;
    groups.choose({host(1, 1)}, "m", Use::Idle);
    const std::vector<HostInfo> more{host(1, 1), host(2, 2), host(3, 2)};
    EXPECT_EQ(peers(groups.choose(more, "m", Use::UnderWay)), Peers{1});
    EXPECT_EQ(peers(groups.choose({host(2, 2)}, "m", Use::UnderWay)), Peers{});
    EXPECT_EQ(peers(groups.choose(more, "m", Use::Idle)), (Peers{2, 3}));
}

}  // namespace
}  // namespace stacking::sessions
