#include "stages/server/state_cache.hpp"

#include "tests/unit/stages/server_bed.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace stages {
namespace {

using namespace std::chrono_literals;

class StateCacheTest : public testing::Test {
 protected:
    /// The files that are written at `now`, after the device has made its copy.
    std::vector<node::WriteFile> writes(TimePoint now) {
        std::vector<node::WriteFile> found;
        while (!bed_.out.actions.empty()) {
            for (node::Action& action : std::exchange(bed_.out.actions, {})) {
                if (auto* const compute = std::get_if<node::Compute>(&action)) {
                    compute->work->run();
                    bed_.context.device.done(compute->job, bed_.at(now));
                } else if (auto* const file = std::get_if<node::WriteFile>(&action)) {
                    found.push_back(std::move(*file));
                }
            }
        }
        return found;
    }

    std::vector<node::WriteFile> look(StateCache& cache, std::uint64_t step, TimePoint now) {
        bed_.context.version = {0, step};
        cache.look("[run]\n", bed_.at(now));
        return writes(now);
    }

    std::vector<node::WriteFile> stored(StateCache& cache, swarm::StoreId store, TimePoint now) {
        cache.on(node::Stored{store}, "[run]\n", bed_.at(now));
        return writes(now);
    }

    static CachedState parsed(const node::WriteFile& file) {
        std::string bytes;
        for (const node::Payload& part : file.parts) {
            bytes.append(reinterpret_cast<const char*>(part.bytes().data()), part.bytes().size());
        }
        std::istringstream from(bytes);
        auto state = parse_cached_state(from);
        EXPECT_TRUE(state);
        return *state;
    }

    test::Bed bed_{{{9}}, test::small_run(2), 1};
};

TEST_F(StateCacheTest, KeepsTheStateWithItsRunAndVersion) {
    StateCache cache(bed_.context, StateCache::Mode::On);
    const auto files = look(cache, 3, test::kStart);
    ASSERT_EQ(files.size(), 1U);
    EXPECT_EQ(files[0].name, StateCache::kFileName);
    const CachedState state = parsed(files[0]);
    EXPECT_EQ(state.coordinator, test::kCoordinator);
    EXPECT_EQ(state.version, (ParameterVersion{0, 3}));
    EXPECT_EQ(state.stage, StageIndex{1});
    EXPECT_EQ(state.run_file, "[run]\n");
    const auto whole = StageState::from_chunks(bed_.context.layout, state.version, state.chunks);
    ASSERT_TRUE(whole);
    EXPECT_EQ(whole->hash(), bed_.context.worker->state().hash());
}

TEST_F(StateCacheTest, KeepsTheSparseBufferAfterEachExchange) {
    bed_.context.config.mode = swarm::run::SyncMode::Sparse;
    bed_.context.config.sync_every = 2;  // commits 2, 5, 8, ... are exchanges
    bed_.context.config.steps = 100;
    const std::vector<float> unsent(bed_.context.layout.elements(), 0.25F);
    const auto shared = std::make_shared<const std::vector<float>>(unsent.size());
    bed_.context.replica = std::make_shared<SparseReplica>(
        bed_.context.layout, *compression::find_codec(compression::CodecId::Sparse), shared
    );
    bed_.context.replica->resume(shared, unsent);
    StateCache cache(bed_.context, StateCache::Mode::On);
    EXPECT_TRUE(look(cache, 2, test::kStart).empty());
    const auto files = look(cache, 3, test::kStart);
    ASSERT_EQ(files.size(), 1U);
    EXPECT_EQ(files[0].name, StateCache::kUnsentFileName);
    const CachedState kept = parsed(files[0]);
    EXPECT_EQ(kept.version, (ParameterVersion{0, 3}));
    EXPECT_EQ(to_values(kept, unsent.size()), unsent);
    EXPECT_TRUE(stored(cache, files[0].store, test::kStart).empty());
    EXPECT_TRUE(look(cache, 4, test::kStart + 1s).empty());
    EXPECT_EQ(look(cache, 6, test::kStart + 2s).size(), 1U);
}

TEST_F(StateCacheTest, KeepsNothingUnlessAsked) {
    StateCache cache(bed_.context, StateCache::Mode::Off);
    EXPECT_TRUE(look(cache, 3, test::kStart).empty());
}

TEST_F(StateCacheTest, KeepsNothingOfVersionZero) {
    StateCache cache(bed_.context, StateCache::Mode::On);
    EXPECT_TRUE(look(cache, 0, test::kStart).empty());
}

TEST_F(StateCacheTest, WritesAVersionOnce) {
    StateCache cache(bed_.context, StateCache::Mode::On);
    const auto files = look(cache, 3, test::kStart);
    ASSERT_EQ(files.size(), 1U);
    EXPECT_TRUE(stored(cache, files[0].store, test::kStart).empty());
    EXPECT_TRUE(look(cache, 3, test::kStart + 1s).empty());
}

TEST_F(StateCacheTest, WritesOneAtATimeAndThenTheNewest) {
    StateCache cache(bed_.context, StateCache::Mode::On);
    const auto first = look(cache, 3, test::kStart);
    ASSERT_EQ(first.size(), 1U);
    EXPECT_TRUE(look(cache, 4, test::kStart).empty());
    EXPECT_TRUE(look(cache, 5, test::kStart).empty());
    const auto next = stored(cache, first[0].store, test::kStart);
    ASSERT_EQ(next.size(), 1U);
    EXPECT_EQ(parsed(next[0]).version.step, 5U);
}

TEST_F(StateCacheTest, SpendsATenthOfTheTimeOnWriting) {
    StateCache cache(bed_.context, StateCache::Mode::On);
    const auto first = look(cache, 3, test::kStart);
    ASSERT_EQ(first.size(), 1U);
    EXPECT_TRUE(stored(cache, first[0].store, test::kStart + 2s).empty());
    EXPECT_EQ(cache.next_deadline(), swarm::kNever);
    EXPECT_TRUE(look(cache, 4, test::kStart + 3s).empty());
    EXPECT_EQ(cache.next_deadline(), test::kStart + 20s);
    EXPECT_EQ(look(cache, 4, test::kStart + 20s).size(), 1U);
    EXPECT_EQ(cache.next_deadline(), swarm::kNever);
}

}  // namespace
}  // namespace stages
