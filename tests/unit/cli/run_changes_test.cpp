#include "swarm/cli/train/run_changes.hpp"

#include <gtest/gtest.h>

namespace swarm::cli {
namespace {

/// A run of 20 steps by peers, whose newest checkpoint is that of step 16.
class JudgeChanges : public testing::Test {
 protected:
    Result<std::vector<std::string>> judge() {
        return judge_changes(was_, now_, progress_, request_);
    }

    std::string refusal() {
        const auto judged = judge();
        EXPECT_FALSE(judged.has_value());
        return judged ? "" : judged.error().detail;
    }

    run::RunConfig was_;
    run::RunConfig now_;
    RunProgress progress_{20, 16, true};
    ResumeRequest request_{"runs/a", false, false};
};

TEST_F(JudgeChanges, TakesWhatTheCoordinatorAloneReads) {
    EXPECT_TRUE(judge()->empty());
    now_.optimizer.learning_rate = 1e-3;
    now_.steps = 90;
    const auto lines = judge();
    ASSERT_TRUE(lines) << lines.error().detail;
    EXPECT_EQ(
        *lines,
        (std::vector<std::string>{
            "run.steps: was 60, now 90", "optimizer.learning_rate: was 0.003, now 0.001"})
    );
}

TEST_F(JudgeChanges, AsksForWhatChangesTheTrainingAndSaysWhatItCosts) {
    now_.stages = 4;
    EXPECT_EQ(
        refusal(),
        "the run in runs/a was trained otherwise: run.stages was 3, is 4; go on with the new "
        "values by --accept-changes (the run then goes back from step 20 to the checkpoint of step "
        "16), or leave them as they were"
    );
    request_.accept_changes = true;
    EXPECT_EQ(*judge(), std::vector<std::string>{"run.stages: was 3, now 4"});
}

TEST_F(JudgeChanges, AsksForAnotherText) {
    was_.corpus = "old.txt";
    was_.corpus_sha256 = "aa";
    now_.corpus = "new.txt";
    now_.corpus_sha256 = "aa";
    EXPECT_EQ(*judge(), std::vector<std::string>{"run.corpus: was \"old.txt\", now \"new.txt\""});
    now_.corpus_sha256 = "bb";
    EXPECT_NE(
        refusal().find("run.corpus was old.txt with SHA-256 aa, is new.txt with SHA-256 bb;"),
        std::string::npos
    ) << refusal();
    EXPECT_EQ(refusal().find("goes back"), std::string::npos) << "peers do not read the text";
    was_.corpus_sha256.clear();
    EXPECT_TRUE(judge()) << "a run of an earlier version has no digest";
}

TEST_F(JudgeChanges, RefusesWhatMakesTheStatesUseless) {
    request_.accept_changes = true;
    now_.seed = 2;
    now_.model.width = 64;
    EXPECT_NE(refusal().find("seed was 1, is 2; model.width was 128, is 64"), std::string::npos)
        << refusal();
    progress_ = {0, std::nullopt, false};
    EXPECT_TRUE(judge()) << "nothing was trained yet";
}

TEST_F(JudgeChanges, WithoutACheckpointPeersCannotBeginWithOtherSettings) {
    request_.accept_changes = true;
    progress_.checkpoint.reset();
    now_.microbatches = 9;
    EXPECT_NE(refusal().find("has no checkpoint"), std::string::npos) << refusal();
    now_.microbatches = was_.microbatches;
    now_.layers_per_stage = {1, 1, 4};
    EXPECT_NE(refusal().find("has no checkpoint"), std::string::npos) << refusal();
    request_.single = true;
    EXPECT_TRUE(judge());
}

TEST_F(JudgeChanges, TheExchangesOfARunOfPeersStayWhereTheyAre) {
    request_.accept_changes = true;
    now_.mode = run::SyncMode::Sparse;
    EXPECT_NE(refusal().find("counts its exchanges"), std::string::npos) << refusal();
    was_ = now_;
    now_.sync_every = 5;
    EXPECT_NE(refusal().find("run.sync_every was 0, is 5"), std::string::npos) << refusal();
    now_ = was_;
    now_.steps = 90;
    EXPECT_TRUE(judge()) << "the run stands within its steps";
    progress_.steps = was_.steps;  // 60 is no multiple of 8
    EXPECT_NE(refusal().find("run.steps was 60, is 90"), std::string::npos) << refusal();
}

}  // namespace
}  // namespace swarm::cli
