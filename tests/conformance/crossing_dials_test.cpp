// C4 and C5 of swarm/node/role.hpp where two peers dial each other at once, on both hosts.
#include "tests/conformance/bed.hpp"
#include "tests/conformance/probe.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace swarm::test {
namespace {

using node::Lane;

class CrossingDials : public testing::TestWithParam<std::unique_ptr<Bed> (*)()> {
 protected:
    CrossingDials() {
        names_[bed_->id_of(kAnna)] = "anna";
        names_[bed_->id_of(kBert)] = "bert";
    }

    /// Starts a peer that dials the other one when it is asked to drain.
    std::shared_ptr<Diary> start(Who who, Who other) {
        const auto diary = std::make_shared<Diary>();
        std::vector<node::Action> dial;
        dial.emplace_back(node::Dial{bed_->id_of(other), Lane::Control, ""});
        const std::vector<Rule> script{{"Asked 0", dial}};
        const Names names = names_;
        bed_->start(who, [=] { return std::make_unique<Probe>(script, diary, names, kAtOnce); });
        return diary;
    }

    static std::ptrdiff_t starting(const Diary& diary, const char* word) {
        return std::ranges::count_if(diary.events, [&](const std::string& event) {
            return event.starts_with(word);
        });
    }

    static bool has_one_link(const Diary& diary) {
        return starting(diary, "LinkUp") - starting(diary, "LinkDown") == 1;
    }

    static std::ptrdiff_t own_links(const Diary& diary) {
        return std::ranges::count(diary.dialed, true);
    }

    std::unique_ptr<Bed> bed_ = GetParam()();
    Names names_;
};

TEST_P(CrossingDials, BothSidesKeepTheLinkOfTheSmallerId) {
    const auto anna = start(kAnna, kBert);
    const auto bert = start(kBert, kAnna);
    ASSERT_TRUE(bed_->run_until([&] { return !anna->events.empty() && !bert->events.empty(); }));
    bed_->ask(kAnna, {node::DrainRequest{}});
    bed_->ask(kBert, {node::DrainRequest{}});
    const bool anna_is_smaller = bed_->id_of(kAnna) < bed_->id_of(kBert);
    const Diary& smaller = anna_is_smaller ? *anna : *bert;
    const Diary& larger = anna_is_smaller ? *bert : *anna;
    const auto are_answered = [&] {
        return own_links(smaller) == 1 && own_links(larger) + starting(larger, "DialFailed") == 1 &&
               has_one_link(smaller) && has_one_link(larger);
    };
    ASSERT_TRUE(bed_->run_until(are_answered))
        << testing::PrintToString(smaller.events) << testing::PrintToString(larger.events);
    EXPECT_TRUE(smaller.dialed.back()) << "its own link is the one that stays";
    EXPECT_FALSE(larger.dialed.back());
    EXPECT_EQ(starting(smaller, "DialFailed"), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Both,
    CrossingDials,
    testing::Values(&make_host_bed, &make_sim_bed),
    [](const auto& bed) { return bed.index == 0 ? "Host" : "World"; }
);

}  // namespace
}  // namespace swarm::test
