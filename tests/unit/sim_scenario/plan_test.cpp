#include "sim/scenario/plan.hpp"

#include <gtest/gtest.h>

namespace sim {
namespace {

using namespace std::chrono_literals;

/// Eight peers and these lines; the plan begins in line 3.
swarm::Result<Scenario> parse_plan(
    const std::string& plan, const std::string& duration = "'10min'"
) {
    return parse_scenario(
        "duration = " + duration + "\npeers = [{ count = 8 }]\n" + plan, "s.toml"
    );
}

std::string entry(const std::string& keys) {
    return "[[plan]]\n" + keys + "\n";
}

void expect_plan_refused(const std::string& plan, const std::string& beginning) {
    const auto scenario = parse_plan(plan);
    ASSERT_TRUE(scenario.has_error()) << plan;
    const std::string& text = scenario.error().detail;
    EXPECT_TRUE(text.starts_with(beginning)) << "refusal of\n" << plan << "\nwas: " << text;
    EXPECT_EQ(text.find('\n'), std::string::npos);
}

TEST(Plan, ReadsEachKindSortedByTime) {
    const auto scenario = parse_plan(
        entry("at = 60\nkind = 'cut_links'\npeer = 1\nlength = 9") +
        entry("at = 50\nkind = 'partition'\npeer = 1\nto = 2\nlength = 5") +
        entry("at = 40\nkind = 'slow_down'\npeer = 1\nlength = '5s'\nfactor = 0.25") +
        entry("at = 30\nkind = 'freeze'\npeer = 1\nlength = 5") +
        entry("at = 20\nkind = 'leave'\npeer = 8") + entry("at = 25\nkind = 'join'\npeer = 8") +
        entry("at = 10\nkind = 'crash'\npeer = 7")
    );
    ASSERT_TRUE(scenario.has_value()) << scenario.error().detail;
    const std::vector<Planned>& plan = scenario->plan;
    ASSERT_EQ(plan.size(), 7U);
    const Planned::Kind kinds[] = {
        Planned::Kind::Crash,
        Planned::Kind::Leave,
        Planned::Kind::Join,
        Planned::Kind::Freeze,
        Planned::Kind::SlowDown,
        Planned::Kind::Partition,
        Planned::Kind::CutLinks};
    for (std::size_t i = 0; i < plan.size(); ++i) {
        EXPECT_EQ(plan[i].kind, kinds[i]) << i;
    }
    EXPECT_EQ(plan[4].factor, 0.25);
    EXPECT_EQ(plan[4].length, 5s);
    EXPECT_EQ(plan[5].to, 2U);
    EXPECT_EQ(plan[6].at, 60s);
}

TEST(Plan, AnEntryMayBeginAfterTheEndOfAnother) {
    const auto scenario = parse_plan(
        entry("after = 'b'\nat = 5\nkind = 'crash'\npeer = 3") +
        entry("name = 'b'\nafter = 'a'\nkind = 'freeze'\npeer = 2\nlength = 20") +
        entry("name = 'a'\nat = 60\nkind = 'freeze'\npeer = 1\nlength = 10")
    );
    ASSERT_TRUE(scenario.has_value()) << scenario.error().detail;
    EXPECT_EQ(scenario->plan[0].at, 60s);
    EXPECT_EQ(scenario->plan[1].at, 70s);
    EXPECT_EQ(scenario->plan[2].at, 95s);
    EXPECT_EQ(scenario->plan[2].peer, 3U);
}

TEST(Plan, RefusesACircle) {
    const std::string freeze = "kind = 'freeze'\nlength = 1\n";
    expect_plan_refused(
        entry(freeze + "name = 'a'\nafter = 'b'\npeer = 1") +
            entry(freeze + "name = 'b'\nafter = 'c'\npeer = 2") +
            entry(freeze + "name = 'c'\nafter = 'a'\npeer = 3"),
        "s.toml:3: plan is circular: \"a\" begins after \"b\", which begins after \"c\", which "
        "begins after \"a\""
    );
    expect_plan_refused(
        entry(freeze + "name = 'a'\nafter = 'a'\npeer = 1"),
        "s.toml:3: plan is circular: \"a\" begins after \"a\""
    );
}

TEST(Plan, RefusesToFollowAnUnknownNameOrATwin) {
    expect_plan_refused(
        entry("kind = 'crash'\nafter = 'b'\npeer = 1"),
        "s.toml:3: plan.after \"b\" is the name of no entry"
    );
    expect_plan_refused(
        entry("name = 'a'\nat = 1\nkind = 'crash'\npeer = 1") +
            entry("name = 'a'\nat = 1\nkind = 'crash'\npeer = 2"),
        "s.toml:8: plan.name \"a\" is there twice"
    );
}

TEST(Plan, RefusesAJoinOfAPeerThatIsThere) {
    expect_plan_refused(
        entry("at = 10\nkind = 'join'\npeer = 3") + entry("at = 20\nkind = 'join'\npeer = 3"),
        "s.toml:7: plan contradicts itself: join of peer 3 at 20 s, but it is there since s.toml:3"
    );
}

TEST(Plan, RefusesADepartureOfAPeerThatIsNotThere) {
    expect_plan_refused(
        entry("at = 10\nkind = 'crash'\npeer = 3") + entry("at = 20\nkind = 'leave'\npeer = 3"),
        "s.toml:7: plan contradicts itself: leave of peer 3 at 20 s, but it is not there since "
        "s.toml:3"
    );
    expect_plan_refused(
        entry("at = 5\nkind = 'freeze'\npeer = 3\nlength = 1") +
            entry("at = 10\nkind = 'join'\npeer = 3"),
        "s.toml:3: plan contradicts itself: freeze of peer 3 at 5 s, but it is not there from the "
        "start"
    );
}

TEST(Plan, RefusesTheSameFaultOnTopOfItself) {
    expect_plan_refused(
        entry("at = 10\nkind = 'freeze'\npeer = 3\nlength = 20") +
            entry("at = 20\nkind = 'freeze'\npeer = 3\nlength = 1"),
        "s.toml:8: plan contradicts itself: freeze of peer 3 at 20 s, but that of s.toml:3 lasts "
        "until 30 s"
    );
    EXPECT_TRUE(parse_plan(
                    entry("at = 10\nkind = 'freeze'\npeer = 3\nlength = 10") +
                    entry("at = 20\nkind = 'freeze'\npeer = 3\nlength = 1")
    )
                    .has_value());
}

TEST(Plan, ACrashEndsAFreeze) {
    EXPECT_TRUE(parse_plan(
                    entry("at = 10\nkind = 'freeze'\npeer = 3\nlength = 60") +
                    entry("at = 20\nkind = 'crash'\npeer = 3") +
                    entry("at = 30\nkind = 'join'\npeer = 3") +
                    entry("at = 40\nkind = 'freeze'\npeer = 3\nlength = 1")
    )
                    .has_value());
}

TEST(Plan, RefusesKeysThatAreMissingOrMakeNoSense) {
    expect_plan_refused(entry("at = 1\npeer = 1"), "s.toml:3: plan.kind is missing");
    expect_plan_refused(
        entry("at = 1\nkind = 'nap'\npeer = 1"), "s.toml:5: plan.kind must be one of"
    );
    expect_plan_refused(
        entry("kind = 'crash'\npeer = 1"), "s.toml:3: plan.at is missing for a crash"
    );
    expect_plan_refused(
        entry("at = 1\nkind = 'crash'"), "s.toml:3: plan.peer is missing for a crash"
    );
    expect_plan_refused(
        entry("at = 1\nkind = 'crash'\npeer = 9"),
        "s.toml:6: plan.peer must be a whole number from 1 to 8"
    );
    expect_plan_refused(
        entry("at = 1\nkind = 'freeze'\npeer = 1"), "s.toml:3: plan.length is missing for a freeze"
    );
    expect_plan_refused(
        entry("at = 1\nkind = 'crash'\npeer = 1\nlength = 3"),
        "s.toml:7: plan.length makes no sense for a crash"
    );
    expect_plan_refused(
        entry("at = 1\nkind = 'partition'\npeer = 1\nlength = 3\nto = 1"),
        "s.toml:8: plan.to must be another peer than plan.peer"
    );
    expect_plan_refused(
        entry("at = -1\nkind = 'crash'\npeer = 1"), "s.toml:4: plan.at must be a duration"
    );
}

TEST(Plan, RefusesAnEntryThatBeginsInTheCalmOrAfterTheEnd) {
    expect_plan_refused(
        "[[plan]]\nat = 600\nkind = 'crash'\npeer = 1\n",
        "s.toml:3: plan.at is 600 s, must be before 600 s"
    );
    const auto calm =
        parse_plan("calm = 60\n[[plan]]\nat = 550\nkind = 'crash'\npeer = 1\n", "'10min'");
    ASSERT_TRUE(calm.has_error());
    EXPECT_TRUE(calm.error().detail.starts_with("s.toml:4: plan.at is 550 s, must be before 540 s"))
        << calm.error().detail;
}

}  // namespace
}  // namespace sim
