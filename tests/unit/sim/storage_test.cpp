// Append, WriteFile and Load in the world; stop and requests, which end and start what is stored.
#include "tests/unit/sim/recorder.hpp"

#include <gtest/gtest.h>

namespace sim::test {
namespace {

using namespace std::chrono_literals;
using Texts = std::vector<std::string>;

node::Payload bytes(std::size_t count) {
    return {{}, std::vector<std::byte>(count)};
}

class WorldStorage : public testing::Test {
 protected:
    World world_{World::Options{}};
};

TEST_F(WorldStorage, AnswersDurableWritesInOrderAndOthersNot) {
    const auto anna = add_recorder(
        world_,
        kAnna,
        {{"Woke", node::Append{{1}, "one", true}},
         {"Woke", node::Append{{2}, "two", false}},
         {"Woke", node::WriteFile{{3}, "file", {bytes(3), bytes(4)}}},
         {"Woke", node::Append{{4}, "four", true}},
         {"Stored 4", node::Load{}}}
    );
    world_.run_for(1s);
    EXPECT_EQ(
        anna->texts(),
        (Texts{"Woke", "Stored 1", "Stored 3", "Stored 4", "Loaded [one] [two] [four]"})
    );
    EXPECT_EQ(world_.disk(kAnna).files().at("file").size(), 7U);
}

TEST_F(WorldStorage, StoredRecordsSurviveARestart) {
    const auto anna =
        add_recorder(world_, kAnna, {{"Woke", node::Load{}}, {"Loaded", node::Append{{1}, "one"}}});
    world_.run_for(1s);
    ASSERT_EQ(anna->count("Stored 1"), 1U);
    world_.restart(kAnna);
    world_.run_for(1s);
    EXPECT_EQ(anna->count("Loaded [one]"), 1U);
}

TEST_F(WorldStorage, AfterACrashNoAnswerOfTheFormerLifeComes) {
    const auto anna = add_recorder(world_, kAnna, {{"Asked 0", node::Append{{1}, "one"}}});
    world_.ask(kAnna, {swarm::node::DrainRequest{}});
    world_.run_for(0s);
    world_.restart(kAnna);
    world_.run_for(1s);
    EXPECT_EQ(anna->texts(), (Texts{"Woke", "Asked 0", "Woke"}));
}

TEST_F(WorldStorage, RecordsAndFramesOfTheLastTurnAreStoredAndSent) {
    const auto bert = add_recorder(world_, kBert, {});
    const auto anna = add_recorder(
        world_,
        kAnna,
        {{"Woke", node::Dial{kBert, {}, ""}},
         {"Stop", node::Append{{1}, "last word"}},
         {"Stop", message(kBert, 7)},
         {"Stop", node::Close{kBert, {}}}}
    );
    world_.run_for(1s);
    world_.stop(kAnna);
    world_.run_for(1s);
    EXPECT_EQ(anna->texts(), (Texts{"Woke", "LinkUp 2", "Stop"}));
    EXPECT_EQ(bert->texts(), (Texts{"Woke", "LinkUp 1", "Received 1 #7 0", "LinkDown 1"}));
    EXPECT_EQ(world_.disk(kAnna).records(), (Texts{"last word"}));
    EXPECT_FALSE(world_.is_running(kAnna));
}

TEST_F(WorldStorage, ADiskThatFailsEndsTheProcessWithoutAWord) {
    const auto bert = add_recorder(world_, kBert, {});
    const auto anna = add_recorder(
        world_,
        kAnna,
        {{"Woke", node::Dial{kBert, {}, ""}},
         {"LinkUp 2", node::Append{{1}, std::string((1 << 20) + 1, 'x')}},
         {"LinkUp 2", message(kBert, 7)}}
    );
    world_.fill_disk(kAnna);
    world_.run_for(1s);
    EXPECT_FALSE(world_.is_running(kAnna));
    EXPECT_EQ(anna->texts(), (Texts{"Woke", "LinkUp 2"}));
    EXPECT_EQ(bert->texts(), (Texts{"Woke", "LinkUp 1", "LinkDown 1"}));
}

TEST_F(WorldStorage, RequestsComeInOrderAfterTheFirstTurn) {
    const auto anna = add_recorder(world_, kAnna, {});
    world_.ask(kAnna, {swarm::node::DrainRequest{}});
    world_.ask(kAnna, {swarm::node::ReleaseRequest{}});
    world_.run_for(1s);
    EXPECT_EQ(anna->texts(), (Texts{"Woke", "Asked 0", "Asked 2"}));
}

}  // namespace
}  // namespace sim::test
