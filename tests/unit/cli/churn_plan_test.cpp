#include "swarm/cli/local/churn_plan.hpp"

#include <gtest/gtest.h>

namespace swarm::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

std::string error_of(const std::string& toml) {
    const Result<ChurnPlan> plan = parse_churn(toml, "plan.toml");
    return plan ? "" : plan.error().detail;
}

TEST(ChurnPlan, ReadsEveryKey) {
    const Result<ChurnPlan> plan = parse_churn(
        "kill_every = \"7s\"\ndrain_every = \"1m\"\nfreeze_every = \"500ms\"\n"
        "freeze_shortest = \"2s\"\nfreeze_longest = \"20s\"\ncoordinator_kill_every = \"2m\"\n"
        "kill_after_step = 6\n",
        "plan.toml"
    );
    ASSERT_TRUE(plan) << plan.error().detail;
    EXPECT_EQ(plan->kill_every, seconds(7));
    EXPECT_EQ(plan->drain_every, minutes(1));
    EXPECT_EQ(plan->freeze_every, milliseconds(500));
    EXPECT_EQ(plan->freeze_shortest, seconds(2));
    EXPECT_EQ(plan->freeze_longest, seconds(20));
    EXPECT_EQ(plan->coordinator_kill_every, minutes(2));
    EXPECT_EQ(plan->kill_after_step, 6U);
}

TEST(ChurnPlan, AnAbsentKindNeverHappens) {
    const Result<ChurnPlan> plan = parse_churn("", "plan.toml");
    ASSERT_TRUE(plan);
    EXPECT_FALSE(plan->kill_every || plan->drain_every || plan->freeze_every);
    EXPECT_FALSE(plan->coordinator_kill_every);
}

TEST(ChurnPlan, TheDefaultHasEveryKind) {
    const Result<ChurnPlan> plan = load_churn("default");
    ASSERT_TRUE(plan);
    EXPECT_TRUE(plan->kill_every && plan->drain_every && plan->freeze_every);
    EXPECT_TRUE(plan->coordinator_kill_every);
}

TEST(ChurnPlan, SaysWhatIsWrongAndWhere) {
    EXPECT_EQ(error_of("\nkil_every = \"7s\"\n"), "plan.toml:2: unknown key kil_every");
    const std::string wanted = " must be a time of at least 100ms, like \"20s\"";
    EXPECT_EQ(error_of("kill_every = 7\n"), "plan.toml:1: kill_every" + wanted);
    EXPECT_EQ(error_of("kill_every = \"-7s\"\n"), "plan.toml:1: kill_every" + wanted);
    EXPECT_EQ(error_of("freeze_every = \"0s\"\n"), "plan.toml:1: freeze_every" + wanted);
    EXPECT_EQ(
        error_of("freeze_shortest = \"9s\"\n"),
        "plan.toml: freeze_shortest must not be above freeze_longest"
    );
    const std::string steps = "plan.toml:1: kill_after_step must be a number of steps, 1 or more";
    for (const char* text : {"0", "-3", "\"6\"", "1.5"}) {
        EXPECT_EQ(error_of("kill_after_step = " + std::string(text) + "\n"), steps);
    }
    EXPECT_EQ(error_of("kill_every = \n").substr(0, 12), "plan.toml:1:");
    EXPECT_EQ(
        load_churn("no-such-plan.toml").error().detail,
        "no-such-plan.toml: cannot be read; --churn takes `default` or a TOML file"
    );
}

}  // namespace
}  // namespace swarm::cli
