#include "swarm/cli/common/model_store.hpp"

#include "swarm/cli/common/command.hpp"
#include "tests/unit/stages/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace swarm::cli {
namespace {

TEST(ModelStore, AnExistingPathComesFirst) {
    const stages::test::ScratchFolder folder;
    EXPECT_EQ(*find_model(folder.path().string()), folder.path());
}

TEST(ModelStore, AnUnknownNameIsRefusedWithTheKnownNames) {
    const auto found = find_model("smollm3");
    ASSERT_TRUE(found.has_error());
    EXPECT_EQ(found.error().code, ErrorCode::NotFound);
    EXPECT_NE(found.error().detail.find("the names are smollm2"), std::string::npos);
    Console console;
    EXPECT_EQ(fetch_named_model("smollm3", console).error().code, ErrorCode::Usage);
}

TEST(RunCommand, ReturnsTheExitCode) {
    EXPECT_EQ(run_command({"true"}), 0);
    EXPECT_EQ(run_command({"sh", "-c", "exit 7"}), 7);
    EXPECT_EQ(run_command({"sh", "-c", "kill -9 $$"}), 128 + SIGKILL);
    EXPECT_EQ(run_command({"no-such-program"}), 127);
}

TEST(RunCommand, GivesAnEmptyInputAndSendsTheOutputToStderr) {
    EXPECT_EQ(run_command({"sh", "-c", "! read -r line"}), 0);
    testing::internal::CaptureStderr();
    testing::internal::CaptureStdout();
    EXPECT_EQ(run_command({"echo", "two words"}), 0);
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "two words\n");
}

TEST(RunCommand, ACaughtSignalEndsTheCommandAndIsKept) {
    const CaughtSignals signals;
    EXPECT_FALSE(CaughtSignals::number());
    EXPECT_EQ(run_command({"sh", "-c", "kill -TERM $PPID; exec sleep 60"}), 128 + SIGTERM);
    EXPECT_EQ(CaughtSignals::number(), SIGTERM);
}

}  // namespace
}  // namespace swarm::cli
