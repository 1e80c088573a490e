// The contract of swarm/node/role.hpp, clause by clause, on both hosts.
#include "tests/conformance/bed.hpp"
#include "tests/conformance/probe.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <ostream>

namespace swarm::test {
namespace {

using namespace node;
using protocol::Chunk;
using protocol::Leave;

constexpr auto kBulk = Lane::Bulk;

struct BedKind {
    const char* name;
    std::unique_ptr<Bed> (*make)();

    // NOLINTNEXTLINE(readability-identifier-naming): the name is GoogleTest's
    friend void PrintTo(const BedKind& kind, std::ostream* out) { *out << kind.name; }
};

using Events = std::vector<std::string>;

/// Makes a list of actions. Nested braces would not do: gcc 12 misreads them for variants of
/// aggregates.
template <class... Asked>
std::vector<Action> actions(Asked... asked) {
    std::vector<Action> all;
    (all.emplace_back(std::move(asked)), ...);
    return all;
}

Append append(std::uint64_t id, std::string record) {
    return {{id}, std::move(record), true};
}

Payload payload_of(std::size_t bytes) {
    protocol::TensorEnvelope envelope;
    envelope.shape = {static_cast<std::uint32_t>(bytes)};
    std::vector<std::byte> content(bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
        content[i] = static_cast<std::byte>(i % 251);
    }
    return {envelope, std::move(content)};
}

class NoteJob final : public Job {
 public:
    NoteJob(int number, std::shared_ptr<std::vector<int>> ran)
        : number_(number), ran_(std::move(ran)) {}

    void run() override { ran_->push_back(number_); }

    [[nodiscard]] double work_units() const override { return 1; }

 private:
    int number_;
    std::shared_ptr<std::vector<int>> ran_;
};

class RoleContract : public testing::TestWithParam<BedKind> {
 protected:
    RoleContract() {
        names_[anna_] = "anna";
        names_[bert_] = "bert";
        names_[bed_->id_of(Who::Cleo)] = "cleo";
    }

    std::shared_ptr<Diary> start(
        Who who, const std::vector<Rule>& script, TimePoint first_deadline = kAtOnce
    ) {
        auto diary = std::make_shared<Diary>();
        const Names names = names_;
        bed_->start(who, [=] {
            return std::make_unique<Probe>(script, diary, names, first_deadline);
        });
        return diary;
    }

    Dial dial_bert(Lane lane = Lane::Control) const { return {bert_, lane, ""}; }

    Send leave_to(const PeerId& peer, std::string reason) const {
        return {peer, {0, 0, Leave{std::move(reason)}}, {}};
    }

    Send chunk_to(const PeerId& peer, std::size_t bytes) const {
        return {peer, {0, 0, Chunk{}}, payload_of(bytes)};
    }

    static std::ptrdiff_t count(const std::shared_ptr<Diary>& diary, const std::string& event) {
        return std::ranges::count(diary->events, event);
    }

    /// Runs until the diary has the event; without the event the test fails and shows the diary.
    void run_until_seen(
        const std::shared_ptr<Diary>& diary, const std::string& event, std::ptrdiff_t times = 1
    ) {
        const bool seen = bed_->run_until([&] { return count(diary, event) >= times; });
        ASSERT_TRUE(seen) << event << " not in " << testing::PrintToString(diary->events);
    }

    std::unique_ptr<Bed> bed_ = GetParam().make();
    PeerId anna_ = bed_->id_of(kAnna);
    PeerId bert_ = bed_->id_of(kBert);
    Names names_;
};

TEST_P(RoleContract, C1TurnsAreNeverNestedAndTimeNeverGoesBack) {
    const auto bert = start(kBert, {{"LinkUp anna control", actions(Close{anna_})}});
    const auto anna = start(kAnna, {{"Woke", actions(dial_bert())}});
    run_until_seen(anna, "LinkDown bert control");
    run_until_seen(bert, "LinkDown anna control");
    for (const auto& diary : {anna, bert}) {
        EXPECT_TRUE(std::ranges::is_sorted(diary->times));
        EXPECT_FALSE(diary->re_entered);
    }
}

TEST_P(RoleContract, C1ActionsAreCarriedOutInOrder) {
    const auto bert = start(kBert, {});
    start(
        kAnna,
        {{"Woke", actions(dial_bert())},
         {"LinkUp bert control", actions(leave_to(bert_, "1"), Close{bert_}, leave_to(bert_, "2"))}}
    );
    run_until_seen(bert, "LinkDown anna control");
    EXPECT_EQ(
        bert->events,
        (Events{
            "Woke",
            "LinkUp anna control",
            "Received anna control Leave(1) 0",
            "LinkDown anna control"})
    );
}

TEST_P(RoleContract, C2TheFirstDeadlineIsReadBeforeAnyEvent) {
    const auto sleeper = start(kBert, {}, kNever);
    const auto anna = start(kAnna, {{"Woke", actions(dial_bert())}});
    run_until_seen(anna, "LinkUp bert control");
    run_until_seen(sleeper, "LinkUp anna control");
    EXPECT_EQ(sleeper->events, Events{"LinkUp anna control"});
    EXPECT_EQ(anna->events, (Events{"Woke", "LinkUp bert control"}));
}

TEST_P(RoleContract, C3WokeComesAtOrAfterTheDeadlineNeverBefore) {
    const auto anna = start(kAnna, {{"Woke", {}, std::chrono::milliseconds(20)}});
    run_until_seen(anna, "Woke", 2);
    EXPECT_FALSE(anna->woken_early);
    EXPECT_GE(anna->times[1] - anna->times[0], std::chrono::milliseconds(20));
}

TEST_P(RoleContract, C3TheDeadlineIsReadAgainAfterEachTurn) {
    const auto hour = std::chrono::hours(1);
    const auto anna =
        start(kAnna, {{"Woke", {}, hour}, {"Asked 0", {}, std::chrono::milliseconds(5)}});
    bed_->ask(kAnna, {DrainRequest{}});
    run_until_seen(anna, "Woke", 2);
    EXPECT_FALSE(anna->woken_early);
}

TEST_P(RoleContract, C4ADialBringsOneLinkOfItsLaneToBothSides) {
    const auto bert = start(kBert, {});
    const auto anna = start(
        kAnna, {{"Woke", actions(dial_bert())}, {"LinkUp bert control", actions(dial_bert(kBulk))}}
    );
    run_until_seen(anna, "LinkUp bert bulk");
    run_until_seen(bert, "LinkUp anna bulk");
    EXPECT_EQ(anna->events, (Events{"Woke", "LinkUp bert control", "LinkUp bert bulk"}));
    EXPECT_EQ(bert->events, (Events{"Woke", "LinkUp anna control", "LinkUp anna bulk"}));
}

TEST_P(RoleContract, C4CloseTakesTheLinkDownOnceOnBothSides) {
    const auto bert = start(kBert, {{"LinkUp anna control", actions(Close{anna_}, Close{anna_})}});
    const auto anna = start(
        kAnna, {{"Woke", actions(dial_bert())}, {"LinkDown bert control", actions(dial_bert())}}
    );
    run_until_seen(anna, "LinkUp bert control", 2);
    run_until_seen(bert, "LinkUp anna control", 2);
    EXPECT_EQ(
        anna->events,
        (Events{"Woke", "LinkUp bert control", "LinkDown bert control", "LinkUp bert control"})
    );
    EXPECT_EQ(count(bert, "LinkDown anna control"), 1);
}

TEST_P(RoleContract, C4ClosingOneLaneLeavesTheOther) {
    const auto bert = start(kBert, {});
    const auto anna = start(
        kAnna,
        {{"Woke", actions(dial_bert())},
         {"LinkUp bert control", actions(dial_bert(kBulk))},
         {"LinkUp bert bulk", actions(Close{bert_, Lane::Control}, chunk_to(bert_, 100))}}
    );
    run_until_seen(bert, "LinkDown anna control");
    run_until_seen(bert, "Received anna bulk Chunk 100");
    EXPECT_EQ(count(bert, "LinkDown anna bulk"), 0);
}

TEST_P(RoleContract, C4ANewLinkOfThePeerReplacesTheOldOne) {
    const auto bert = start(kBert, {});
    const auto anna = start(
        kAnna, {{"Woke", actions(dial_bert())}, {"LinkUp bert control", actions(dial_bert())}}
    );
    run_until_seen(anna, "LinkUp bert control", 2);
    run_until_seen(bert, "LinkUp anna control", 2);
    EXPECT_EQ(
        anna->events,
        (Events{"Woke", "LinkUp bert control", "LinkDown bert control", "LinkUp bert control"})
    );
    EXPECT_EQ(
        bert->events,
        (Events{"Woke", "LinkUp anna control", "LinkDown anna control", "LinkUp anna control"})
    );
}

TEST_P(RoleContract, C4ARestartedPeerHasANewIncarnation) {
    const auto bert = start(kBert, {});
    start(kAnna, {{"Woke", actions(dial_bert())}});
    run_until_seen(bert, "LinkUp anna control");
    bed_->restart(kAnna);
    run_until_seen(bert, "LinkUp anna control", 2);
    EXPECT_NE(bert->incarnations[0], bert->incarnations[1]);
    EXPECT_EQ(count(bert, "LinkDown anna control"), 1);
}

TEST_P(RoleContract, C5DialToADeadPeerFailsOnce) {
    start(kBert, {});
    bed_->crash(kBert);
    const auto anna = start(
        kAnna, {{"Woke", actions(dial_bert())}, {"DialFailed bert control", {}, Duration(1)}}
    );
    run_until_seen(anna, "Woke", 2);
    EXPECT_EQ(anna->events, (Events{"Woke", "DialFailed bert control", "Woke"}));
}

TEST_P(RoleContract, C6MessagesArriveInOrderAndOnce) {
    const auto bert = start(kBert, {});
    std::vector<Action> sends;
    Events expected{"Woke", "LinkUp anna control"};
    for (int i = 0; i < 200; ++i) {
        sends.emplace_back(leave_to(bert_, std::to_string(i)));
        expected.push_back("Received anna control Leave(" + std::to_string(i) + ") 0");
    }
    start(kAnna, {{"Woke", actions(dial_bert())}, {"LinkUp bert control", sends}});
    run_until_seen(bert, expected.back());
    EXPECT_EQ(bert->events, expected);
}

TEST_P(RoleContract, C6APayloadArrivesByteForByte) {
    constexpr std::size_t kBytes = (3U << 20) + 1;
    const auto bert = start(kBert, {});
    start(
        kAnna,
        {{"Woke", actions(dial_bert(kBulk))},
         {"LinkUp bert bulk", actions(chunk_to(bert_, kBytes))}}
    );
    run_until_seen(bert, "Received anna bulk Chunk " + std::to_string(kBytes));
    const Payload sent = payload_of(kBytes);
    EXPECT_EQ(bert->last_payload.envelope(), sent.envelope());
    EXPECT_TRUE(std::ranges::equal(bert->last_payload.bytes(), sent.bytes()));
}

TEST_P(RoleContract, C6NothingIsReceivedAfterLinkDown) {
    std::vector<Action> sends;
    for (int i = 0; i < 50; ++i) {
        sends.emplace_back(leave_to(anna_, std::to_string(i)));
    }
    start(kBert, {{"LinkUp anna control", sends}});
    const auto anna = start(
        kAnna,
        {{"Woke", actions(dial_bert())},
         {"Received bert control Leave(3) 0", actions(Close{bert_})},
         {"LinkDown bert control", {}, std::chrono::milliseconds(50)}}
    );
    run_until_seen(anna, "Woke", 2);
    EXPECT_EQ(anna->events[anna->events.size() - 2], "LinkDown bert control");
    EXPECT_EQ(anna->events.size(), 8U) << testing::PrintToString(anna->events);
}

TEST_P(RoleContract, C6ASendWithoutALinkVanishes) {
    const auto bert = start(kBert, {});
    const auto anna = start(
        kAnna,
        {{"Woke", actions(leave_to(bert_, "early"), dial_bert())},
         {"LinkDown bert control", actions(leave_to(bert_, "late"))}}
    );
    run_until_seen(bert, "LinkUp anna control");
    run_until_seen(anna, "LinkUp bert control");
    bed_->crash(kBert);
    run_until_seen(anna, "LinkDown bert control");
    EXPECT_EQ(bert->events, (Events{"Woke", "LinkUp anna control"}));
}

TEST_P(RoleContract, C7StoredRecordsSurviveACrashInOrder) {
    const auto anna = start(
        kAnna,
        {{"Woke", actions(append(1, "one"), append(2, "two"))},
         {"Stored 2", actions(append(3, "three"))},
         {"Stored 3", actions(Load{})}}
    );
    run_until_seen(anna, "Loaded [one] [two] [three]");
    EXPECT_EQ(
        anna->events,
        (Events{"Woke", "Stored 1", "Stored 2", "Stored 3", "Loaded [one] [two] [three]"})
    );
    bed_->restart(kAnna);
    run_until_seen(anna, "Loaded [one] [two] [three] [one] [two] [three]");
}

TEST_P(RoleContract, C7ARecordThatIsNotDurableIsWrittenWithTheNextOneAndNotAnswered) {
    const auto anna = start(
        kAnna,
        {{"Woke", actions(Append{{1}, "one", false}, append(2, "two"))},
         {"Stored 2", actions(Load{})}}
    );
    run_until_seen(anna, "Loaded [one] [two]");
    EXPECT_EQ(anna->events, (Events{"Woke", "Stored 2", "Loaded [one] [two]"}));
}

TEST_P(RoleContract, C7FilesAndRecordsAreAnsweredInOrder) {
    const std::vector<Payload> parts{payload_of(1000), payload_of(1)};
    const auto anna = start(
        kAnna,
        {{"Woke",
          actions(append(1, "one"), WriteFile{{2}, "step-1/state.bin", parts}, append(3, "three"))}}
    );
    run_until_seen(anna, "Stored 3");
    EXPECT_EQ(anna->events, (Events{"Woke", "Stored 1", "Stored 2", "Stored 3"}));
}

TEST_P(RoleContract, C7ADiskThatFailsEndsTheProcessWithoutAnEvent) {
    const auto anna = start(
        kAnna,
        {{"Woke", actions(append(1, "small"))},
         {"Asked 0", actions(append(2, std::string(2U << 20, 'x')), append(3, "after"))}}
    );
    run_until_seen(anna, "Stored 1");
    bed_->fill_disk(kAnna);
    bed_->ask(kAnna, {DrainRequest{}});
    EXPECT_TRUE(bed_->run_until([&] { return !bed_->is_running(kAnna); }));
    EXPECT_EQ(anna->events, (Events{"Woke", "Stored 1", "Asked 0"}));
}

TEST_P(RoleContract, C8MessagesOfTheLastTurnArriveBeforeTheLinkEnds) {
    const auto bert = start(kBert, {{"LinkUp anna bulk", actions(chunk_to(anna_, 3U << 20))}});
    const auto anna = start(
        kAnna,
        {{"Woke", actions(dial_bert(kBulk))}, {"Stop", actions(chunk_to(bert_, (3U << 20) + 1))}}
    );
    run_until_seen(anna, "LinkUp bert bulk");
    bed_->stop(kAnna);
    run_until_seen(bert, "LinkDown anna bulk");
    EXPECT_EQ(
        bert->events,
        (Events{
            "Woke", "LinkUp anna bulk", "Received anna bulk Chunk 3145729", "LinkDown anna bulk"})
    );
    EXPECT_EQ(anna->events.back(), "Stop");
}

TEST_P(RoleContract, C8RecordsOfTheLastTurnAreThereAfterARestart) {
    const auto anna =
        start(kAnna, {{"Woke", actions(Load{})}, {"Stop", actions(append(1, "last word"))}});
    run_until_seen(anna, "Loaded");
    bed_->stop(kAnna);
    EXPECT_EQ(anna->events.back(), "Stop");
    bed_->restart(kAnna);
    run_until_seen(anna, "Loaded [last word]");
}

TEST_P(RoleContract, C8ACrashGivesNoEventAndTheOtherSideLosesTheLink) {
    const auto bert = start(kBert, {});
    const auto anna = start(kAnna, {{"Woke", actions(dial_bert())}});
    run_until_seen(bert, "LinkUp anna control");
    run_until_seen(anna, "LinkUp bert control");
    bed_->crash(kAnna);
    run_until_seen(bert, "LinkDown anna control");
    EXPECT_EQ(anna->events, (Events{"Woke", "LinkUp bert control"}));
}

TEST_P(RoleContract, C10JobsRunInOrderAndAreAnsweredOnceEach) {
    const auto ran = std::make_shared<std::vector<int>>();
    std::vector<Action> computes;
    Events expected{"Woke"};
    for (int i = 1; i <= 5; ++i) {
        const JobId id{static_cast<std::uint64_t>(i)};
        computes.emplace_back(Compute{id, std::make_shared<NoteJob>(i, ran)});
        expected.push_back("Computed " + std::to_string(i));
    }
    const auto anna = start(kAnna, {{"Woke", computes}});
    run_until_seen(anna, "Computed 5");
    EXPECT_EQ(anna->events, expected);
    EXPECT_EQ(*ran, (std::vector<int>{1, 2, 3, 4, 5}));
}

TEST_P(RoleContract, C10AJobWithoutAnAnswerRunsInItsTurn) {
    const auto ran = std::make_shared<std::vector<int>>();
    const std::vector<Action> computes{
        Compute{{1}, std::make_shared<NoteJob>(1, ran)},
        Compute{{2}, std::make_shared<NoteJob>(2, ran), false},
        Compute{{3}, std::make_shared<NoteJob>(3, ran)}};
    const auto anna = start(kAnna, {{"Woke", computes}});
    run_until_seen(anna, "Computed 3");
    EXPECT_EQ(anna->events, (Events{"Woke", "Computed 1", "Computed 3"}));
    EXPECT_EQ(*ran, (std::vector<int>{1, 2, 3}));
}

TEST_P(RoleContract, C11RequestsComeInOrderAfterTheFirstTurn) {
    const auto anna = start(kAnna, {});
    bed_->ask(kAnna, {DrainRequest{}});
    bed_->ask(kAnna, {ReleaseRequest{}});
    run_until_seen(anna, "Asked 2");
    EXPECT_EQ(anna->events, (Events{"Woke", "Asked 0", "Asked 2"}));
}

INSTANTIATE_TEST_SUITE_P(
    Both,
    RoleContract,
    testing::Values(BedKind{"Host", make_host_bed}, BedKind{"World", make_sim_bed}),
    [](const auto& kind) { return std::string(kind.param.name); }
);

}  // namespace
}  // namespace swarm::test
