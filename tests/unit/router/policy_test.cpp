// The duties of every registered policy; the lists come from the registry.
#include "router/policy.hpp"

#include "swarm/base/rng.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace router {
namespace {

constexpr Request kRequest{.work_units = 1, .bytes = 100};

std::vector<std::string> every_policy() {
    std::vector<std::string> names;
    std::istringstream list(policy_names());
    for (std::string name; std::getline(list >> std::ws, name, ',');) {
        names.push_back(name);
    }
    return names;
}

class PolicyConformance : public testing::TestWithParam<std::string> {
 protected:
    std::unique_ptr<Policy> policy_ = make_policy(GetParam(), 42);
};

TEST_P(PolicyConformance, PicksNothingWithoutCandidates) {
    EXPECT_EQ(policy_->pick(kRequest, {}), std::nullopt);
}

TEST_P(PolicyConformance, ANewPeerIsOpen) {
    policy_->add({7}, {});
    EXPECT_EQ(policy_->pick(kRequest, {}), SlotId{7});
}

TEST_P(PolicyConformance, NeverPicksAPeerThatIsClosedOrGone) {
    swarm::Rng rng(1, 2);
    std::set<SlotId> known;
    std::set<SlotId> open;
    TimePoint now{};
    for (int i = 0; i < 20'000; ++i) {
        now += std::chrono::milliseconds(1);
        const SlotId slot{rng.below(80)};
        switch (rng.below(8)) {
            case 0:
                policy_->add(slot, now);
                if (known.insert(slot).second) {
                    open.insert(slot);
                }
                break;
            case 1:
                policy_->remove(slot);
                known.erase(slot);
                open.erase(slot);
                break;
            case 2:
                policy_->set_open(slot, false, now);
                open.erase(slot);
                break;
            case 3:
                policy_->set_open(slot, true, now);
                if (known.contains(slot)) {
                    open.insert(slot);
                }
                break;
            case 4:
                policy_->rate_changed(slot, 1 + rng.unit(), now);
                policy_->bandwidth_changed(slot, 1 + rng.unit(), now);
                break;
            default: {
                const auto picked = policy_->pick(kRequest, now);
                ASSERT_EQ(picked.has_value(), !open.empty()) << "turn " << i;
                if (picked) {
                    ASSERT_TRUE(open.contains(*picked)) << "turn " << i;
                    rng.chance(1, 2) ? policy_->undo(*picked, kRequest, now)
                                     : policy_->finished(*picked, kRequest, now);
                }
            }
        }
    }
}

TEST_P(PolicyConformance, TriesEveryPeerSoon) {
    for (std::uint64_t i = 0; i < 20; ++i) {
        policy_->add({i}, {});
    }
    std::set<SlotId> tried;
    for (int i = 0; i < 200; ++i) {
        const SlotId slot = *policy_->pick(kRequest, {});
        policy_->finished(slot, kRequest, {});
        policy_->rate_changed(slot, static_cast<double>(1 + slot.value), {});
        tried.insert(slot);
    }
    EXPECT_EQ(tried.size(), 20U);
}

TEST_P(PolicyConformance, SameSeedAndHistoryGiveTheSamePicks) {
    const auto other = make_policy(GetParam(), 42);
    for (std::uint64_t i = 0; i < 100; ++i) {
        policy_->add({i}, {});
        other->add({i}, {});
    }
    for (int i = 0; i < 1000; ++i) {
        ASSERT_EQ(policy_->pick(kRequest, {}), other->pick(kRequest, {})) << i;
    }
}

/// No peer has been measured: two hundred senders must not all begin with the same eight peers.
TEST_P(PolicyConformance, SendersThatKnowNothingSpreadTheirWork) {
    constexpr std::uint64_t kPeers = 200;
    std::map<SlotId, int> picked;
    for (std::uint64_t sender = 0; sender < 200; ++sender) {
        const auto policy = make_policy(GetParam(), sender);
        for (std::uint64_t i = 0; i < kPeers; ++i) {
            policy->add({i}, {});
        }
        for (int i = 0; i < 8; ++i) {
            ++picked[*policy->pick(kRequest, {})];
        }
    }
    for (const auto& [slot, times] : picked) {
        EXPECT_LE(times, 25) << "slot " << slot.value << ": 8 would be its share";
    }
}

TEST_P(PolicyConformance, PicksDoNotDependOnTheUnitOfWork) {
    constexpr double kUnit = 1024;  // a power of two: no rounding
    const auto other = make_policy(GetParam(), 42);
    for (std::uint64_t i = 0; i < 5; ++i) {
        policy_->add({i}, {});
        other->add({i}, {});
    }
    for (int i = 0; i < 1000; ++i) {
        const SlotId slot = *policy_->pick({.work_units = kUnit}, {});
        ASSERT_EQ(other->pick({.work_units = 1}, {}), slot) << i;
        if (i < 2) {
            continue;  // no peer has been measured yet
        }
        const double units_per_s = static_cast<double>(10 + slot.value);
        policy_->finished(slot, {.work_units = kUnit}, {});
        other->finished(slot, {.work_units = 1}, {});
        policy_->rate_changed(slot, kUnit * units_per_s, {});
        other->rate_changed(slot, units_per_s, {});
    }
}

INSTANTIATE_TEST_SUITE_P(
    Registered,
    PolicyConformance,
    testing::ValuesIn(every_policy()),
    [](const testing::TestParamInfo<std::string>& policy) { return policy.param; }
);

TEST(PolicyRegistry, NamesEveryPolicyForErrorTexts) {
    EXPECT_EQ(policy_names(), "expected_finish, iwrr, shortest_queue, uniform");
}

TEST(PolicyRegistry, KnowsNoPolicyThatIsNotRegistered) {
    EXPECT_EQ(make_policy("fastest", 1), nullptr);
    EXPECT_EQ(make_policy("", 1), nullptr);
}

}  // namespace
}  // namespace router
