#include "stages/files/checkpoint.hpp"

#include "stages/files/best_checkpoint.hpp"
#include "stages/single/single_run.hpp"
#include "tests/unit/stages/scratch_folder.hpp"
#include "tests/unit/stages/small_models.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

namespace stages {
namespace {

namespace fs = std::filesystem;
using swarm::ErrorCode;

std::vector<const StageState*> states_of(const SingleRun& run) {
    std::vector<const StageState*> states;
    for (std::uint32_t s = 0; s < run.stages(); ++s) {
        states.push_back(&run.state(s));
    }
    return states;
}

std::string read_text(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

void write_text(const fs::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
}

class CheckpointOnDisk : public testing::Test {
 protected:
    CheckpointOnDisk() : run_(test::small_run(2), test::make_noise_compute, {}) {}

    /// Makes one more step and writes a checkpoint of the run.
    fs::path write_next() {
        EXPECT_TRUE(run_.step().has_value());
        const auto written = write_checkpoint(scratch_.path(), run_.config(), states_of(run_));
        EXPECT_TRUE(written.has_value());
        return written ? *written : fs::path();
    }

    test::ScratchFolder scratch_;
    SingleRun run_;
};

TEST_F(CheckpointOnDisk, GivesBackEveryStageBitForBit) {
    const auto read = read_checkpoint(write_next());
    ASSERT_TRUE(read.has_value()) << read.error().detail;
    EXPECT_EQ(read->version, run_.version());
    EXPECT_EQ(swarm::run::to_toml(read->config), swarm::run::to_toml(run_.config()));
    const auto layouts = swarm::run::partition(run_.config());
    for (std::uint32_t s = 0; s < run_.stages(); ++s) {
        const auto state = restore_stage(*read, layouts[s]);
        ASSERT_TRUE(state.has_value()) << state.error().detail;
        EXPECT_EQ(state->hash(), run_.state(s).hash()) << s;
    }
}

TEST_F(CheckpointOnDisk, HasTheWeightsOfALayerInAFileOfTheirOwn) {
    const fs::path folder = write_next();
    EXPECT_EQ(folder.filename(), "checkpoint-0-1");
    const std::string text = read_text(folder / "layers.2.safetensors");
    const auto file = Safetensors::parse(std::as_bytes(std::span(text)));
    ASSERT_TRUE(file.has_value());
    EXPECT_NE(file->find("layers.2.attn.wo"), nullptr);
    EXPECT_EQ(file->find("layers.2.attn.wo.exp_avg"), nullptr);
    EXPECT_TRUE(fs::exists(folder / "layers.2.adam.safetensors"));
    EXPECT_TRUE(fs::exists(folder / "embed.safetensors"));
    EXPECT_TRUE(fs::exists(folder / "head.safetensors"));
}

TEST_F(CheckpointOnDisk, IsRefusedWhereAnyFileIsMissingTruncatedOrFlipped) {
    const fs::path folder = write_next();
    for (const auto& entry : fs::directory_iterator(folder)) {
        const std::string whole = read_text(entry.path());
        fs::remove(entry.path());
        EXPECT_TRUE(read_checkpoint(folder).has_error()) << "without " << entry.path();
        write_text(entry.path(), whole.substr(0, whole.size() / 2));
        EXPECT_TRUE(read_checkpoint(folder).has_error()) << "half of " << entry.path();
        std::string flipped = whole;
        flipped[whole.size() * 3 / 4] ^= 16;
        write_text(entry.path(), flipped);
        EXPECT_TRUE(read_checkpoint(folder).has_error()) << "bit flipped in " << entry.path();
        write_text(entry.path(), whole);
    }
    EXPECT_TRUE(read_checkpoint(folder).has_value());
}

TEST_F(CheckpointOnDisk, IsPassedOverWithANoticeWhereItIsDamaged) {
    const fs::path old = write_next();
    const fs::path damaged = write_next();
    const fs::path unfinished = write_next();
    fs::remove(unfinished / "manifest.json");
    std::string text = read_text(damaged / "layers.1.adam.safetensors");
    text.back() ^= 1;
    write_text(damaged / "layers.1.adam.safetensors", text);
    const auto found = find_latest(scratch_.path());
    ASSERT_TRUE(found.has_value()) << found.error().detail;
    EXPECT_EQ(found->folder, old);
    ASSERT_EQ(found->notices.size(), 2U);
    EXPECT_NE(found->notices[0].find("never finished"), std::string::npos);
    EXPECT_NE(found->notices[1].find("layers.1.adam.safetensors"), std::string::npos);
}

TEST_F(CheckpointOnDisk, IsTheNewestByNumberNotByName) {
    for (int step = 1; step <= 10; ++step) {
        ASSERT_TRUE(run_.step().has_value());
        if (step >= 9) {
            ASSERT_TRUE(write_checkpoint(scratch_.path(), run_.config(), states_of(run_)));
        }
    }
    fs::create_directories(scratch_.path() / "checkpoint-0-99x");
    const auto found = find_latest(scratch_.path());
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->checkpoint.version.step, 10U);
    EXPECT_TRUE(found->notices.empty());
}

TEST_F(CheckpointOnDisk, IsNotFoundWhereThereIsNone) {
    EXPECT_EQ(find_latest(scratch_.path()).error().code, ErrorCode::NotFound);
    EXPECT_EQ(find_latest(scratch_.path() / "nowhere").error().code, ErrorCode::NotFound);
}

TEST_F(CheckpointOnDisk, DoesNotFitAnotherModel) {
    const auto read = read_checkpoint(write_next());
    auto wider = test::small_run(2);
    wider.model.ffn_width = 24;
    auto deeper = test::small_run(2);
    deeper.model.layers = 4;
    for (const auto& config : {wider, deeper}) {
        const auto states = restore_stages(*read, swarm::run::partition(config));
        ASSERT_TRUE(states.has_error());
        EXPECT_EQ(states.error().code, ErrorCode::Mismatch);
    }
}

TEST_F(CheckpointOnDisk, CannotBeWrittenBelowAFile) {
    write_text(scratch_.path() / "file", "x");
    const auto written = write_checkpoint(scratch_.path() / "file", run_.config(), states_of(run_));
    ASSERT_TRUE(written.has_error());
    EXPECT_EQ(written.error().code, ErrorCode::StorageFailed);
    EXPECT_EQ(written.error().reaction, swarm::Reaction::Fatal);
}

TEST_F(CheckpointOnDisk, LeavesNothingWhenItCannotBeFinished) {
    const fs::path whole = write_next();
    ASSERT_TRUE(run_.step().has_value());
    const fs::path next = scratch_.path() / "checkpoint-0-2";
    fs::create_directories(next / "manifest.json.draft");  // stands where the last file would go
    const auto written = write_checkpoint(scratch_.path(), run_.config(), states_of(run_));
    ASSERT_TRUE(written.has_error());
    EXPECT_FALSE(fs::exists(next));
    EXPECT_TRUE(fs::exists(whole));
}

/// A run whose checkpoints of steps 1 to 8 are there.
class PrunedCheckpoints : public CheckpointOnDisk {
 protected:
    PrunedCheckpoints() {
        for (int step = 1; step <= 8; ++step) {
            newest_ = write_next().filename().string();
        }
    }

    /// Returns the steps of the checkpoints that stay, newest first.
    std::vector<std::uint64_t> left_after(std::uint32_t keep, std::uint32_t every = 0) {
        auto config = run_.config();
        config.checkpoint_keep = keep;
        config.checkpoint_keep_every = every;
        EXPECT_TRUE(prune_checkpoints(scratch_.path(), newest_, config).has_value());
        std::vector<std::uint64_t> steps;
        for (const fs::path& folder : checkpoint_folders(scratch_.path())) {
            const auto read = read_checkpoint(folder);
            EXPECT_TRUE(read.has_value()) << read.error().detail;
            steps.push_back(read ? read->version.step : 0);
        }
        return steps;
    }

    using Steps = std::vector<std::uint64_t>;

    std::string newest_;
};

TEST_F(PrunedCheckpoints, AreTheOldestAndNoneIfAllAreKept) {
    EXPECT_EQ(left_after(0).size(), 8U);
    EXPECT_EQ(left_after(3), (Steps{8, 7, 6}));
    EXPECT_EQ(left_after(3), (Steps{8, 7, 6}));
    EXPECT_EQ(left_after(1), (Steps{8}));
}

TEST_F(PrunedCheckpoints, LeaveTheBestOne) {
    const fs::path& run = scratch_.path();
    EXPECT_FALSE(read_best_checkpoint(run));
    const BestCheckpoint best{checkpoint_name({0, 4}), 0.1};
    ASSERT_TRUE(write_best_checkpoint(run, best).has_value());
    EXPECT_EQ(read_best_checkpoint(run), best);
    EXPECT_EQ(left_after(1), (Steps{8, 4}));
    ASSERT_TRUE(write_best_checkpoint(run, {checkpoint_name({0, 8}), 0.05}).has_value());
    EXPECT_EQ(left_after(1), (Steps{8}));
    std::ofstream(run / kBestCheckpointFile) << "checkpoint-0-8 low\n";
    EXPECT_FALSE(read_best_checkpoint(run));
}

TEST_F(PrunedCheckpoints, LeaveEveryNthForEver) {
    EXPECT_EQ(left_after(2, 3), (Steps{8, 7, 6, 3}));
    EXPECT_EQ(left_after(1, 3), (Steps{8, 6, 3}));
}

TEST_F(PrunedCheckpoints, DoNotCountThoseThatAreNotWhole) {
    fs::remove(scratch_.path() / "checkpoint-0-7" / "manifest.json");
    fs::resize_file(scratch_.path() / "checkpoint-0-6" / "head.safetensors", 5);
    EXPECT_EQ(left_after(3), (Steps{8, 5, 4}));
}

TEST_F(PrunedCheckpoints, AreNeverTheOneThatWasRecordedOrALaterOne) {
    newest_ = "checkpoint-0-5";
    EXPECT_EQ(left_after(1), (Steps{8, 7, 6, 5}));
}

TEST(SafetensorsCheckpoint, MakesTheSameFilesFromChunksAsFromStages) {
    SingleRun run(test::small_run(3), test::make_noise_compute, {});
    ASSERT_TRUE(run.step().has_value());
    swarm::run::RunState fetched{run.version(), {}};
    for (std::uint32_t s = 0; s < run.stages(); ++s) {
        auto& chunks = fetched.chunks.emplace_back();
        for (std::uint32_t i = 0; i < run.state(s).chunk_count(); ++i) {
            chunks.push_back(run.state(s).chunk(i));
        }
    }
    const SafetensorsCheckpoint format(run.config());
    const auto made = format.make_files(fetched);
    ASSERT_TRUE(made.has_value());
    const auto expected = checkpoint_files(run.config(), states_of(run));
    EXPECT_EQ(made->name, "checkpoint-0-1");
    ASSERT_EQ(made->files.size(), expected.files.size());
    for (std::size_t i = 0; i < expected.files.size(); ++i) {
        EXPECT_EQ(made->files[i].name, expected.files[i].name);
        const auto content = made->files[i].content();
        const auto wanted = expected.files[i].content();
        EXPECT_TRUE(std::ranges::equal(content.bytes(), wanted.bytes())) << made->files[i].name;
    }
    EXPECT_EQ(made->weights_sha256(), run.weights_sha256());
    EXPECT_EQ(made->files.back().name, "checkpoint-0-1/manifest.json");
}

TEST(SafetensorsCheckpoint, RefusesChunksOfAnotherModel) {
    const SafetensorsCheckpoint format(test::small_run(2));
    const swarm::run::RunState fetched{{}, {{}, {}}};
    EXPECT_EQ(format.make_files(fetched).error().code, ErrorCode::Mismatch);
}

}  // namespace
}  // namespace stages
