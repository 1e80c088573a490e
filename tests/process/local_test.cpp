// Real processes on loopback, over TLS, give the result of one process.
#include "tests/process/local_run.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

namespace swarm::test {
namespace {

using std::chrono::seconds;

TEST(LocalRun, EqualsOneProcess) {
    const LocalRun run =
        run_local({"--stages", "2", "--peers", "4", "--steps", "20", "--verify"}, seconds(60));
    expect_exact(run);
    ASSERT_EQ(run.report.at("losses").as_array().size(), 20U);
    EXPECT_EQ(run.report.at("peers").as_array().size(), 4U);
    EXPECT_EQ(run.report.at("kills").to_number<int>(), 0);
}

TEST(LocalRun, EqualsOneProcessWithThreeStagesAndNinePeers) {
    expect_exact(
        run_local({"--stages", "3", "--peers", "9", "--steps", "20", "--verify"}, seconds(60))
    );
}

TEST(LocalRun, EqualsOneProcessWithOnePeerPerStage) {
    expect_exact(
        run_local({"--stages", "3", "--peers", "3", "--steps", "20", "--verify"}, seconds(60))
    );
}

TEST(LocalRun, EqualsOneProcessUnderEveryPolicy) {
    for (const char* policy : {"iwrr", "expected_finish", "uniform"}) {
        SCOPED_TRACE(policy);
        expect_exact(run_local(
            {"--stages", "2", "--peers", "4", "--steps", "10", "--policy", policy, "--verify"},
            seconds(60)
        ));
    }
}

TEST(LocalRun, EqualsOneProcessWithTheSameCodec) {
    for (const char* codec : {"int8", "bf16", "int4", "hadamard-int4"}) {
        SCOPED_TRACE(codec);
        expect_exact(run_local(
            {"--stages", "3", "--peers", "3", "--steps", "10", "--codec", codec, "--verify"},
            seconds(60)
        ));
    }
}

LocalRun run_disturbed(std::vector<std::string> how, const char* steps = "30") {
    how.insert(
        how.end(),
        {"--stages", "2", "--peers", "4", "--steps", steps, "--service-ms", "20", "--verify"}
    );
    return run_local(std::move(how), seconds(150));
}

TEST(LocalRun, EqualsOneProcessWhenPeersAreKilled) {
    const LocalRun run = run_disturbed({"--kill-every", "3s"});
    expect_exact(run);
    EXPECT_GE(run.report.at("kills").to_number<int>(), 1);
    EXPECT_GE(run.report.at("joins").to_number<int>(), 1);
}

/// A replay sends the bytes that the attempt of the dead peer sent, because the same draws round
/// the gradients.
TEST(LocalRun, EqualsOneProcessWithDrawnRoundingWhenPeersAreKilled) {
    const LocalRun run = run_disturbed({"--kill-every", "3s", "--codec", "int4"}, "15");
    expect_exact(run);
    EXPECT_GE(run.report.at("kills").to_number<int>(), 1);
}

TEST(LocalRun, EqualsOneProcessWithAnotherScheduleAndLessDecayWhenPeersAreKilled) {
    const LocalRun run = run_disturbed(
        {"--kill-every",
         "3s",
         "--set",
         "model.width=64",  // layers are matrices then, which decay
         "--set",
         "optimizer.no_decay=layers.1",
         "--set",
         "optimizer.schedule=wsd",
         "--set",
         "optimizer.warmup_tokens=2000"},
        "15"
    );
    expect_exact(run);
    EXPECT_GE(run.report.at("kills").to_number<int>(), 1);
}

#ifdef SWARM_WITH_TORCH

/// Runs it with two peers per stage, of which one after the other is killed.
void expect_exact_under_kills(const std::string& run_file, const char* peers) {
    const TemporaryFolder folder;
    const std::string file = folder.path() / "run.toml";
    std::ofstream(file) << run_file;
    const LocalRun run = run_local(
        {file, "--peers", peers, "--service-ms", "20", "--kill-every", "2s", "--verify"},
        seconds(150)
    );
    expect_exact(run);
    EXPECT_GE(run.report.at("kills").to_number<int>(), 1);
}

/// The first and the last of three stages exchange the sums of the matrix, over links that die with
/// peers.
TEST(LocalRun, ATiedModelEqualsOneProcessWhenPeersAreKilled) {
    expect_exact_under_kills(
        "[run]\nstages = 3\nsteps = 10\nmicrobatches = 8\nbatch = 2\n"
        "[model]\ntied_embeddings = true\nlayers = 3\nwidth = 64\nffn_width = 128\ncontext = 64\n",
        "6"
    );
}

TEST(LocalRun, RepeatedLayersEqualOneProcessWhenPeersAreKilled) {
    expect_exact_under_kills(
        "[run]\nstages = 2\nsteps = 8\nmicrobatches = 8\nbatch = 2\n"
        "[model]\nlayers = 2\nrepeat = 3\nwidth = 64\nffn_width = 128\ncontext = 64\n",
        "4"
    );
}

TEST(LocalRun, BottlenecksEqualOneProcessWhenPeersAreKilled) {
    expect_exact_under_kills(
        "[run]\nstages = 3\nsteps = 8\nmicrobatches = 8\nbatch = 2\ncodec = \"int4/int8\"\n"
        "[model]\nlayers = 3\nbottleneck = 24\nwidth = 64\nffn_width = 128\ncontext = 64\n",
        "6"
    );
}

TEST(LocalRun, LoopedStepsEqualOneProcessWhenPeersAreKilled) {
    expect_exact_under_kills(
        "[run]\nstages = 1\nsteps = 14\nmicrobatches = 12\nbatch = 2\n"
        "[model]\nlayers = 2\nwidth = 64\nffn_width = 128\ncontext = 64\n[loop]\nevery = 2\n",
        "3"
    );
}

TEST(LocalRun, OtherPathsEqualOneProcessWhenPeersAreKilled) {
    expect_exact_under_kills(
        "[run]\nstages = 3\nsteps = 8\nmicrobatches = 8\nbatch = 2\n"
        "layers_per_stage = [1, 2, 1]\n"
        "[model]\nlayers = 4\nwidth = 64\nffn_width = 128\ncontext = 64\n"
        "[paths]\nlayers = [1, 2]\nskip_every = 3\ntwice_every = 3\n",
        "6"
    );
}

TEST(LocalRun, MixturesEqualOneProcessWhenPeersAreKilled) {
    expect_exact_under_kills(
        "[run]\nstages = 3\nsteps = 8\nmicrobatches = 8\nbatch = 2\n"
        "[model]\nkind = \"mixtral\"\nexperts = 6\nlayers = 3\nwidth = 64\nffn_width = 96\n"
        "context = 64\n",
        "6"
    );
}

TEST(LocalRun, ExpertsOfALayerAtSeveralPeersEqualOneProcessWhenPeersAreKilled) {
    expect_exact_under_kills(
        "[run]\nstages = 4\nexpert_stages = 2\nsteps = 8\nmicrobatches = 8\nbatch = 2\n"
        "codec = \"auto\"\n"
        "[model]\nkind = \"mixtral\"\nlayers = 2\nexperts = 4\nexperts_per_token = 2\n"
        "width = 64\nffn_width = 64\ncontext = 64\n",
        "7"
    );
}

/// A Llama that is large enough for LibTorch to split its operations.
LocalRun run_on_threads(const char* threads, std::vector<std::string> how) {
    const TemporaryFolder folder;
    const std::string file = folder.path() / "run.toml";
    std::ofstream(file) << "[run]\nstages = 2\nsteps = 6\nmicrobatches = 8\nbatch = 4\n"
                           "[model]\nlayers = 4\nwidth = 256\nffn_width = 512\n";
    how.insert(how.begin(), {file, "--peers", "4", "--threads", threads, "--verify"});
    return run_local(std::move(how), seconds(150));
}

TEST(LocalRun, PeersOfTwoThreadsEqualOneProcessOfTwo) {
    // With some BLAS the bits are those of one thread: `swarm-bench threads` shows the threads.
    expect_exact(run_on_threads("2", {}));
}

TEST(LocalRun, PeersOfTwoThreadsEqualOneProcessOfTwoWhenTheyAreKilled) {
    const LocalRun run = run_on_threads("2", {"--service-ms", "20", "--kill-every", "2s"});
    expect_exact(run);
    EXPECT_GE(run.report.at("kills").to_number<int>(), 1);
}

/// A killed replica loses the work that it has not shared, and the run tells how much that was.
TEST(LocalRun, ModeSparseGoesOnWithoutTheShareOfAKilledPeer) {
    const TemporaryFolder folder;
    const std::string file = folder.path() / "run.toml";
    std::ofstream(file) << "[run]\nstages = 2\nsteps = 16\nmode = \"sparse\"\nsync_every = 4\n";
    const LocalRun run =
        run_local({file, "--peers", "4", "--service-ms", "20", "--kill-every", "2s"}, seconds(150));
    ASSERT_EQ(run.exit_code, 0) << run.err;
    const auto& losses = run.report.at("losses").as_array();
    ASSERT_EQ(losses.size(), 16U);
    EXPECT_LT(losses.back().as_double(), losses.front().as_double());
    for (const auto& step : run.report.at("steps").as_array()) {
        EXPECT_EQ(step.at("counted"), step.at("expected"));
    }
    EXPECT_GE(run.report.at("kills").to_number<int>(), 2);
    int lost = 0;
    for (const auto& event : run.report.at("events").as_array()) {
        lost += event.at("kind").as_string() == "share_lost" ? 1 : 0;
    }
    const bool told =
        run.out.find("microbatches lost before they were shared") != std::string::npos;
    EXPECT_EQ(told, lost > 0) << run.out;
    EXPECT_LE(lost, run.report.at("kills").to_number<int>());
}

#endif

/// Between the last microbatch of a step and the first of the next one lie two round trips: HELD
/// and REDUCE, REDUCED and COMMIT. A third one would show, however slow the machine is.
TEST(LocalRun, AStepBoundaryCostsTwoRoundTrips) {
    const LocalRun run = run_local(
        {"--stages",
         "1",
         "--peers",
         "1",
         "--steps",
         "8",
         "--microbatches",
         "2",
         "--line-delay",
         "100ms"},
        seconds(60)
    );
    ASSERT_EQ(run.exit_code, 0) << run.err;
    std::vector<double> took_s;
    for (const auto& step : run.report.at("steps").as_array()) {
        took_s.push_back(step.at("seconds").as_double());
    }
    std::sort(took_s.begin(), took_s.end());
    EXPECT_GE(took_s.at(4), 0.4);
    EXPECT_LT(took_s.at(4), 0.5);
}

/// The lines are like those of a home: 20 Mb/s, 10 ms, and connections that do not last.
TEST(LocalRun, EqualsOneProcessWhenConnectionsAreCut) {
    const LocalRun run =
        run_disturbed({"--cut-every", "700ms", "--line-rate", "20Mb/s", "--line-delay", "10ms"});
    expect_exact(run);
    EXPECT_GE(run.report.at("cuts").to_number<int>(), 3);
}

TEST(LocalRun, EqualsOneProcessWhenPeersFreeze) {
    const LocalRun run = run_disturbed({"--freeze-every", "4s"}, "15");
    expect_exact(run);
    EXPECT_GE(run.report.at("freezes").to_number<int>(), 1);
}

TEST(LocalRun, FasterPeersGetMoreWork) {
    const LocalRun run = run_local(
        {"--stages",
         "1",
         "--peers",
         "2",
         "--steps",
         "2",
         "--microbatches",
         "40",
         "--in-flight",
         "8",
         "--service-ms",
         "10,40",
         "--policy",
         "iwrr"},
        seconds(60)
    );
    ASSERT_EQ(run.exit_code, 0) << run.err;
    for (const boost::json::value& peer : run.report.at("peers").as_array()) {
        const double share = peer.at("share").as_double();
        if (peer.at("service_ms").to_number<int>() == 10) {
            EXPECT_GT(share, 0.6);
        } else {
            EXPECT_LT(share, 0.4);
        }
    }
}

TEST(LocalRun, ContinuesAPromptWithTheSamePeers) {
    const LocalRun run = run_local(
        {"--stages", "2", "--peers", "2", "--steps", "3", "--prompt", "abc", "--tokens", "5"},
        seconds(60)
    );
    ASSERT_EQ(run.exit_code, 0) << run.err;
    const std::string first_line = run.out.substr(0, run.out.find('\n'));
    EXPECT_EQ(first_line.rfind("abc", 0), 0U) << run.out;
    EXPECT_EQ(first_line.size(), 8U) << run.out;
}

#ifdef SWARM_WITH_TORCH

/// The lines are slow for the activations of this model, so the run chooses codecs. Its choices are
/// in the log, so replays and one process pass the same bytes.
TEST(LocalRun, EqualsOneProcessWhenItChoosesItsCodecsAndPeersAreKilled) {
    const TemporaryFolder folder;
    const std::filesystem::path text = folder.path() / "text.txt";
    const std::filesystem::path run_file = folder.path() / "run.toml";
    std::ofstream out(text);
    for (int line = 0; line < 500; ++line) {
        out << "line " << line << " of a text that is " << line * line << " times too long\n";
    }
    out.close();
    std::ofstream(run_file) << "[run]\nstages = 2\nsteps = 20\nmicrobatches = 8\nbatch = 4\n"
                            << "codec = \"auto\"\ncorpus = \"" << text.string() << "\"\n"
                            << "[model]\nkind = \"llama\"\nlayers = 2\nwidth = 64\nheads = 2\n"
                            << "kv_heads = 2\nffn_width = 128\ncontext = 64\n";
    const LocalRun run = run_local(
        {run_file.string(),
         "--peers",
         "4",
         "--line-rate",
         "4Mb/s",
         "--kill-every",
         "6s",
         "--verify"},
        seconds(240)
    );
    expect_exact(run);
    EXPECT_GE(run.report.at("kills").to_number<int>(), 1);
    const auto& steps = run.report.at("steps").as_array();
    EXPECT_EQ(steps.front().at("codecs"), "int8/int8");
    EXPECT_NE(steps.back().at("codecs"), "int8/int8");
}

#endif

}  // namespace
}  // namespace swarm::test
