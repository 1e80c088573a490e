// A peer without a model's files takes them from its servers, which die, freeze and lie: it serves
// verified weights in the end, or says in one line why not, and never registers others.
#include "tests/simulation/sessions/newcomer_bed.hpp"

#include <gtest/gtest.h>

namespace sim {
namespace {

std::vector<GivingServer> three_servers() {
    return {{{0, 2}}, {{2, 4}}, {{4, 6}}};
}

constexpr std::size_t kThird = kLayers / 3 * kChunksPerLayer;

/// Says what is wrong; empty when the newcomer serves a third, which is that of the honest files.
std::string verdict(const NewcomerBed& bed) {
    if (!bed.failure.empty() || !bed.registered) {
        return "it does not serve: " + bed.failure;
    }
    if (bed.registered->weights != weights_of(Files(1), bed.registered->hosted)) {
        return "it serves other weights";
    }
    return bed.taken() == kThird ? "" : "it took " + std::to_string(bed.taken()) + " chunks";
}

TEST(Newcomers, TakeTheirLayersAloneFromSeveralServers) {
    NewcomerBed bed(three_servers());
    bed.add_newcomer();
    ASSERT_TRUE(bed.run());
    EXPECT_EQ(verdict(bed), "");
    EXPECT_EQ(bed.fetches.size(), 3U);
    EXPECT_GE(bed.offers, 1U);
}

TEST(Newcomers, AskAtMostFourServersAtOnce) {
    NewcomerBed bed({{{0, 2}}, {{0, 2}}, {{2, 4}}, {{2, 4}}, {{4, 6}}, {{4, 6}}, {{4, 6}}});
    bed.add_newcomer();
    ASSERT_TRUE(bed.run());
    EXPECT_EQ(verdict(bed), "");
    EXPECT_LE(bed.fetches.size(), 5U);  // one more may have given the manifest
}

/// Each fault hits before each event of a newcomer's way, one by one.
template <class Fault>
void expect_served_after(Fault fault) {
    NewcomerBed calm(three_servers());
    const std::uint64_t begin = calm.world().events();
    calm.add_newcomer();
    ASSERT_TRUE(calm.run());
    const std::uint64_t end = calm.world().events();
    ASSERT_GT(end, begin + 100);
    for (std::uint64_t at = begin; at < end; at += 3) {
        NewcomerBed bed(three_servers());
        bed.add_newcomer();
        bed.world().run_until([&] { return bed.world().events() >= at; }, 60s);
        fault(bed);
        ASSERT_TRUE(bed.run()) << "fault before event " << at;
        ASSERT_EQ(verdict(bed), "") << "fault before event " << at;
    }
}

TEST(Newcomers, ServeThoughAServerDiesAtAnyMoment) {
    expect_served_after([](NewcomerBed& bed) { bed.world().crash(peer(2)); });
}

TEST(Newcomers, ServeThoughAServerFreezesAtAnyMoment) {
    expect_served_after([](NewcomerBed& bed) { bed.world().freeze(peer(2)); });
}

TEST(Newcomers, ServeThoughTwoServersRestartAtAnyMoment) {
    expect_served_after([](NewcomerBed& bed) {
        bed.world().restart(peer(1));
        bed.world().restart(peer(3));
    });
}

TEST(Newcomers, GoOnWithWhatTheyHaveAfterARestart) {
    NewcomerBed bed(three_servers());
    bed.add_newcomer();
    ASSERT_TRUE(bed.world().run_until([&] { return bed.copy->chunks.size() == 4; }, 60s));
    bed.fetches.clear();
    bed.world().restart(kNewcomer);
    ASSERT_TRUE(bed.run());
    EXPECT_EQ(verdict(bed), "");  // put() refuses a chunk that comes twice
}

node::Payload other_bytes(const node::Payload& payload) {
    std::vector<std::byte> bytes(payload.bytes().begin(), payload.bytes().end());
    bytes.back() ^= std::byte{1};
    return {payload.envelope(), std::move(bytes)};
}

TEST(Newcomers, AskAServerNoMoreThatSentAWrongChunk) {
    std::size_t lies = 0;
    std::vector<GivingServer> servers = three_servers();
    servers[1].lie = [&lies](node::Send& send) {
        const auto* chunk = std::get_if<protocol::FileChunk>(&send.message.body);
        if (chunk != nullptr && !chunk->of_manifest) {
            send.payload = other_bytes(send.payload);
            ++lies;
        }
    };
    NewcomerBed bed(servers);
    bed.add_newcomer();
    ASSERT_TRUE(bed.run());
    EXPECT_EQ(verdict(bed), "");
    EXPECT_GE(lies, 1U);
    EXPECT_LE(bed.fetches[peer(2)], protocol::kOpenFetchesMax + 1);  // and the manifest
}

TEST(Newcomers, TakeAnotherManifestThanThatOfALiar) {
    std::vector<GivingServer> servers = three_servers();
    for (GivingServer& server : servers) {
        server.lie = [](node::Send& send) {
            const auto* chunk = std::get_if<protocol::FileChunk>(&send.message.body);
            if (chunk != nullptr && chunk->of_manifest) {
                send.payload = other_bytes(send.payload);
            }
        };
    }
    servers[2].lie = {};
    NewcomerBed bed(servers);
    bed.add_newcomer();
    ASSERT_TRUE(bed.run());
    EXPECT_EQ(verdict(bed), "");
}

TEST(Newcomers, TakeTheFilesOfMostServers) {
    NewcomerBed bed({{{0, 2}, 2}, {{0, 2}}, {{2, 4}}, {{4, 6}}});
    bed.add_newcomer();
    ASSERT_TRUE(bed.run());
    EXPECT_EQ(verdict(bed), "");
    EXPECT_EQ(bed.fetches[peer(1)], 0U);
}

TEST(Newcomers, TakeTheFilesThatWereNamedWhoeverElseHasOthers) {
    NewcomerBed bed({{{0, 2}, 2}, {{2, 4}, 2}, {{4, 6}}});
    bed.add_newcomer(Files(1).name());
    ASSERT_TRUE(bed.run());
    EXPECT_EQ(verdict(bed), "");
    EXPECT_EQ(bed.fetches.size(), 1U);
}

TEST(Newcomers, EndWhenServersDisagreeEqually) {
    NewcomerBed bed({{{0, 3}, 2}, {{3, 6}}});
    bed.add_newcomer();
    ASSERT_TRUE(bed.run());
    EXPECT_NE(bed.failure.find("--files"), std::string::npos) << bed.failure;
    EXPECT_FALSE(bed.registered);
}

TEST(Newcomers, NeverServeWeightsThatAreNotTheirGroups) {
    NewcomerBed bed(three_servers());
    bed.copy->other_weights = true;
    bed.add_newcomer();
    ASSERT_TRUE(bed.run());
    EXPECT_NE(bed.failure.find("have the weights"), std::string::npos) << bed.failure;
    EXPECT_FALSE(bed.registered);
}

TEST(Newcomers, SayThatNobodyServesTheModel) {
    NewcomerBed bed({});
    bed.add_newcomer();
    ASSERT_TRUE(bed.run());
    EXPECT_NE(bed.failure.find("nobody serves"), std::string::npos) << bed.failure;
}

TEST(Newcomers, SayThatNobodyGivesItsFiles) {
    std::vector<GivingServer> servers = three_servers();
    for (GivingServer& server : servers) {
        server.gives = false;
    }
    NewcomerBed bed(servers);
    bed.add_newcomer();
    ASSERT_TRUE(bed.run());
    EXPECT_NE(bed.failure.find("gives"), std::string::npos) << bed.failure;
}

TEST(Newcomers, SayThatTheServersAreGone) {
    NewcomerBed bed(three_servers());
    bed.add_newcomer();
    ASSERT_TRUE(bed.world().run_until([&] { return bed.copy->chunks.size() == 4; }, 60s));
    for (const std::uint64_t number : {1, 2, 3}) {
        bed.world().crash(peer(number));
    }
    ASSERT_TRUE(bed.run());
    EXPECT_NE(bed.failure.find("are gone"), std::string::npos) << bed.failure;
    EXPECT_FALSE(bed.registered);
}

}  // namespace
}  // namespace sim
