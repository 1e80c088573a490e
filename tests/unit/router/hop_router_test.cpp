#include "router/hop_router.hpp"

#include "swarm/base/rng.hpp"
#include "tests/start.hpp"
#include "tests/unit/router/in_slot_order.hpp"

#include <gtest/gtest.h>

#include <array>
#include <map>

namespace router {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using swarm::kNever;
using swarm::protocol::RefusedReason;
using swarm::test::kStart;

constexpr Request kHopRequest{.work_units = 10, .bytes = 1000};
constexpr SlotId kPeer{1};
constexpr SlotId kOther{2};

LegId leg(std::uint64_t attempt) {
    return {.version = {}, .microbatch = {}, .attempt = {attempt}};
}

/// A router whose peers are linked.
struct Bed {
    explicit Bed(std::vector<SlotId> slots, HopRouter::Options options = {})
        : router(make_policy("iwrr", kInSlotOrder), options) {
        router.set_candidates(slots, kStart);
        for (const SlotId slot : slots) {
            router.set_linked(slot, true, kStart);
        }
    }

    std::optional<SlotId> pick(TimePoint now = kStart) {
        return router.pick(leg(++picks), kHopRequest, now);
    }

    /// Lets the peer's next offers run into their deadline, one second each, until it is closed.
    TimePoint close_by_timeouts(TimePoint now) {
        for (int i = 0; i < HopRouter::Options{}.timeouts_until_closed; ++i) {
            EXPECT_EQ(pick(now), kPeer);
            now += seconds(1);
            router.timed_out(kPeer, leg(picks), now);
        }
        return now;
    }

    HopRouter router;
    std::uint64_t picks = 0;
};

TEST(HopRouter, DoesNotPickAPeerThatRefusedTheLegForGood) {
    Bed bed({kPeer, kOther});
    const std::array<SlotId, 1> refused{kPeer};
    for (std::uint64_t n = 101; n <= 104; ++n) {
        EXPECT_EQ(bed.router.pick(leg(n), kHopRequest, kStart, refused), kOther);
    }
    EXPECT_EQ(bed.pick(), kPeer) << "another leg may go there";
    const std::array<SlotId, 2> both{kPeer, kOther};
    EXPECT_EQ(bed.router.pick(leg(105), kHopRequest, kStart, both), std::nullopt);
}

TEST(HopRouter, PicksOnlyCandidatesWithALink) {
    HopRouter router(make_policy("iwrr", kInSlotOrder), {});
    router.set_candidates({kPeer, kOther}, kStart);
    EXPECT_EQ(router.pick(leg(1), kHopRequest, kStart), std::nullopt) << "links start down";
    router.set_linked(kOther, true, kStart);
    EXPECT_EQ(router.pick(leg(1), kHopRequest, kStart), kOther);
    router.set_linked(kOther, false, kStart);
    EXPECT_EQ(router.pick(leg(2), kHopRequest, kStart), std::nullopt);
}

TEST(HopRouter, RemembersALinkThatCameBeforeTheCandidate) {
    HopRouter router(make_policy("iwrr", kInSlotOrder), {});
    router.set_linked(kPeer, true, kStart);
    router.set_candidates({kPeer}, kStart);
    EXPECT_EQ(router.pick(leg(1), kHopRequest, kStart), kPeer);
}

TEST(HopRouter, StopsAtTheWindowAndGoesOnAfterAPassed) {
    Bed bed({kPeer}, {.offers_per_peer = 2});
    EXPECT_EQ(bed.pick(), kPeer);
    EXPECT_EQ(bed.pick(), kPeer);
    EXPECT_EQ(bed.pick(), std::nullopt);
    EXPECT_EQ(bed.router.offers_at(kPeer), 2U);
    bed.router.passed(kPeer, leg(1), kStart + seconds(1));
    EXPECT_EQ(bed.router.offers_at(kPeer), 1U);
    EXPECT_EQ(bed.pick(kStart + seconds(1)), kPeer);
}

TEST(HopRouter, TheDefaultWindowIsThatOfAReceiver) {
    EXPECT_EQ(HopRouter::Options{}.offers_per_peer, swarm::protocol::kOffersPerReceiverMax);
}

TEST(HopRouter, ForgetsTheOffersOfASlotThatIsNoLongerListed) {
    Bed bed({kPeer, kOther});
    ASSERT_EQ(bed.pick(), kPeer);
    bed.router.set_candidates({kOther}, kStart);
    EXPECT_EQ(bed.router.offers_at(kPeer), 0U);
    bed.router.passed(kPeer, leg(1), kStart + seconds(1));
    bed.router.refused(kPeer, leg(1), RefusedReason::Busy, kStart + seconds(1));
    bed.router.timed_out(kPeer, leg(1), kStart + seconds(1));
    bed.router.abandoned(kPeer, leg(1), kStart + seconds(1));
    bed.router.accepted(kPeer, leg(1));
    EXPECT_EQ(bed.router.next_deadline(), kNever);
    EXPECT_TRUE(bed.router.observed_rates(kStart + seconds(1)).empty());
}

TEST(HopRouter, KeepsTheOffersOfASlotThatStaysListed) {
    Bed bed({kPeer});
    ASSERT_EQ(bed.pick(), kPeer);
    bed.router.set_candidates({kPeer, kOther}, kStart);
    EXPECT_EQ(bed.router.offers_at(kPeer), 1U);
}

TEST(HopRouter, ASecondAnswerToAnOfferChangesNothing) {
    Bed bed({kPeer});
    bed.pick();
    bed.pick();
    bed.router.passed(kPeer, leg(1), kStart + seconds(1));
    bed.router.passed(kPeer, leg(1), kStart + seconds(9));
    EXPECT_EQ(bed.router.offers_at(kPeer), 1U);
    const auto rates = bed.router.observed_rates(kStart + seconds(1));
    ASSERT_EQ(rates.size(), 1U);
    EXPECT_DOUBLE_EQ(rates[0].units_per_s, 10);
}

// While others of ours wait there, a PASSED tells of the peer's other work as well.
TEST(HopRouter, TheHighestRateIsThatOfTheQuickestAnswerAlone) {
    Bed bed({kPeer});
    bed.pick();
    bed.router.passed(kPeer, leg(1), kStart + seconds(10));
    bed.pick(kStart + seconds(10));
    bed.router.passed(kPeer, leg(2), kStart + seconds(12));
    const auto rates = bed.router.observed_rates(kStart + seconds(12));
    ASSERT_EQ(rates.size(), 1U);
    EXPECT_DOUBLE_EQ(rates[0].units_per_s, 5);
}

TEST(HopRouter, BusyBacksOffTwiceAsLongEachTimeUpToTheLimit) {
    Bed bed({kPeer}, {.backoff_first = milliseconds(20), .backoff_max = milliseconds(70)});
    TimePoint now = kStart;
    for (const int pause_ms : {20, 40, 70, 70}) {
        ASSERT_EQ(bed.pick(now), kPeer);
        bed.router.refused(kPeer, leg(bed.picks), RefusedReason::Busy, now);
        EXPECT_EQ(bed.router.next_deadline(), now + milliseconds(pause_ms));
        EXPECT_EQ(bed.pick(now + milliseconds(pause_ms - 1)), std::nullopt);
        now += milliseconds(pause_ms);
        bed.router.wake(now);
        EXPECT_EQ(bed.router.next_deadline(), kNever);
    }
}

TEST(HopRouter, OffersRefusedTogetherBackOffOnce) {
    Bed bed({kPeer});
    for (int i = 0; i < 8; ++i) {
        bed.pick();
    }
    for (std::uint64_t i = 1; i <= 8; ++i) {
        bed.router.refused(kPeer, leg(i), RefusedReason::Busy, kStart);
    }
    EXPECT_EQ(bed.router.next_deadline(), kStart + HopRouter::Options{}.backoff_first);
}

TEST(HopRouter, APassedEndsTheBackoffAndStartsItAnew) {
    Bed bed({kPeer});
    for (int i = 0; i < 3; ++i) {
        bed.pick();
    }
    bed.router.refused(kPeer, leg(1), RefusedReason::Busy, kStart);
    bed.router.passed(kPeer, leg(2), kStart + milliseconds(1));
    EXPECT_EQ(bed.router.next_deadline(), kNever);
    bed.router.refused(kPeer, leg(3), RefusedReason::Busy, kStart + milliseconds(2));
    EXPECT_EQ(bed.router.next_deadline(), kStart + milliseconds(22));
}

TEST(HopRouter, OtherRefusalsOnlyEndTheOffer) {
    Bed bed({kPeer});
    for (const RefusedReason reason :
         {RefusedReason::Behind,
          RefusedReason::Stale,
          RefusedReason::NotAdmitted,
          RefusedReason::NoGraph,
          RefusedReason::Invalid}) {
        ASSERT_EQ(bed.pick(), kPeer);
        bed.router.refused(kPeer, leg(bed.picks), reason, kStart);
        EXPECT_EQ(bed.router.offers_at(kPeer), 0U);
        EXPECT_EQ(bed.router.next_deadline(), kNever);
    }
}

TEST(HopRouter, ATimeoutEndsTheOfferAndCountsItsTimeOnce) {
    Bed bed({kPeer});
    bed.pick();
    bed.router.timed_out(kPeer, leg(1), kStart + seconds(10));
    bed.router.timed_out(kPeer, leg(1), kStart + seconds(20));
    EXPECT_EQ(bed.router.offers_at(kPeer), 0U);
    const auto rates = bed.router.observed_rates(kStart + seconds(20));
    ASSERT_EQ(rates.size(), 1U);
    EXPECT_DOUBLE_EQ(rates[0].units_per_s, 1);
}

TEST(HopRouter, TimeoutsInARowCloseAPeerUntilAProbeSucceeds) {
    Bed bed({kPeer});
    TimePoint now = bed.close_by_timeouts(kStart);
    EXPECT_EQ(bed.pick(now), std::nullopt);
    EXPECT_EQ(bed.router.next_deadline(), now + seconds(5));

    now += seconds(5);
    bed.router.wake(now);
    EXPECT_EQ(bed.pick(now), kPeer) << "the probe";
    EXPECT_EQ(bed.pick(now), std::nullopt) << "one at a time";
    bed.router.passed(kPeer, leg(bed.picks - 1), now + seconds(1));
    EXPECT_EQ(bed.pick(now + seconds(1)), kPeer);
    EXPECT_EQ(bed.pick(now + seconds(1)), kPeer) << "open again";
}

TEST(HopRouter, AProbeWithoutAnswerClosesAgain) {
    for (const bool recalled : {false, true}) {
        Bed bed({kPeer});
        TimePoint now = bed.close_by_timeouts(kStart) + seconds(5);
        bed.router.wake(now);
        ASSERT_EQ(bed.pick(now), kPeer);
        now += seconds(1);
        if (recalled) {
            bed.router.abandoned(kPeer, leg(bed.picks), now);
        } else {
            bed.router.timed_out(kPeer, leg(bed.picks), now);
        }
        EXPECT_EQ(bed.pick(now), std::nullopt) << recalled;
        EXPECT_EQ(bed.router.next_deadline(), now + seconds(5)) << recalled;
    }
}

TEST(HopRouter, APassedBetweenTwoTimeoutsKeepsThePeerOpen) {
    Bed bed({kPeer});
    TimePoint now = kStart;
    for (int i = 0; i < 10; ++i) {
        ASSERT_EQ(bed.pick(now), kPeer);
        ASSERT_EQ(bed.pick(now), kPeer);
        now += seconds(1);
        bed.router.timed_out(kPeer, leg(bed.picks), now);
        bed.router.passed(kPeer, leg(bed.picks - 1), now);
    }
}

TEST(HopRouter, AbandonedSaysNothingAboutThePeer) {
    Bed bed({kPeer});
    bed.pick();
    bed.router.abandoned(kPeer, leg(1), kStart + seconds(100));
    EXPECT_EQ(bed.router.offers_at(kPeer), 0U);
    EXPECT_TRUE(bed.router.observed_rates(kStart + seconds(100)).empty());
}

TEST(HopRouter, AbandonAllEndsEveryOffer) {
    Bed bed({kPeer, kOther}, {.offers_per_peer = 1});
    bed.pick();
    bed.pick();
    ASSERT_EQ(bed.pick(), std::nullopt);
    bed.router.abandon_all(kStart);
    EXPECT_EQ(bed.router.offers_at(kPeer) + bed.router.offers_at(kOther), 0U);
    EXPECT_TRUE(bed.pick().has_value());
}

TEST(HopRouter, RemovingAPausedPeerForgetsItsDeadline) {
    Bed bed({kPeer});
    bed.pick();
    bed.router.refused(kPeer, leg(1), RefusedReason::Busy, kStart);
    bed.router.set_candidates({}, kStart);
    EXPECT_EQ(bed.router.next_deadline(), kNever);
}

TEST(HopRouter, MeasuresTheWayToThePeer) {
    HopRouter router(make_policy("expected_finish", kInSlotOrder), {});
    router.set_candidates({kPeer, kOther}, kStart);
    TimePoint now = kStart;
    std::uint64_t attempt = 0;
    // Both work equally fast, but the way to one of them takes half of the time.
    for (const auto& [slot, way_ms] : {std::pair{kPeer, 500}, std::pair{kOther, 5}}) {
        router.set_linked(slot, true, now);
        ASSERT_EQ(router.pick(leg(++attempt), kHopRequest, now), slot);
        router.accepted(slot, leg(attempt), now + milliseconds(way_ms));
        router.accepted(slot, leg(attempt), now + seconds(100));  // repeated after a reconnect
        router.passed(slot, leg(attempt), now + seconds(1));
        router.set_linked(slot, false, now);
        now += seconds(1);
    }
    router.set_linked(kPeer, true, now);
    router.set_linked(kOther, true, now);
    EXPECT_EQ(router.pick(leg(++attempt), kHopRequest, now), kOther);
}

TEST(HopRouter, KeepsWindowsAndFutureDeadlinesUnderRandomCalls) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        swarm::Rng rng(seed, 1);
        HopRouter router(make_policy(seed % 2 == 0 ? "iwrr" : "expected_finish", seed), {});
        TimePoint now = kStart;
        std::uint64_t attempts = 0;
        for (int turn = 0; turn < 3000; ++turn) {
            now += milliseconds(rng.below(200));
            router.wake(now);
            ASSERT_GT(router.next_deadline(), now) << "seed " << seed << ", turn " << turn;
            const SlotId slot{rng.below(6)};
            const LegId some = leg(attempts - std::min(attempts, rng.below(40)));
            switch (rng.below(12)) {
                case 0: {
                    std::vector<SlotId> slots;
                    for (std::uint64_t i = 0; i < 6; ++i) {
                        if (rng.chance(3, 4)) {
                            slots.push_back({i});
                        }
                    }
                    router.set_candidates(slots, now);
                    break;
                }
                case 1:
                case 2:
                    router.set_linked(slot, rng.chance(3, 4), now);
                    break;
                case 3:
                    router.refused(slot, some, static_cast<RefusedReason>(rng.below(6)), now);
                    break;
                case 4:
                case 5:
                    router.passed(slot, some, now);
                    break;
                case 6:
                    router.timed_out(slot, some, now);
                    break;
                case 7:
                    router.abandoned(slot, some, now);
                    break;
                default:
                    router.pick(leg(++attempts), kHopRequest, now);
            }
            for (std::uint64_t i = 0; i < 6; ++i) {
                ASSERT_LE(router.offers_at({i}), HopRouter::Options{}.offers_per_peer)
                    << "seed " << seed << ", turn " << turn;
            }
        }
    }
}

}  // namespace
}  // namespace router
