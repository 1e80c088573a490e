#include "router/policy.hpp"

#include "router/expected_finish.hpp"
#include "router/iwrr.hpp"
#include "router/shortest_queue.hpp"
#include "router/uniform.hpp"
#include "swarm/base/check.hpp"
#include "swarm/base/rng.hpp"

#include <array>

namespace router {
namespace {

struct Entry {
    std::string_view name;
    std::unique_ptr<Policy> (*make)(std::uint64_t seed);
};

// To add a policy: one file, one line here; tests/unit/router/policy_test.cpp judges every entry.
constexpr std::array<Entry, 4> kPolicies{{
    {"expected_finish",
     [](std::uint64_t seed) -> std::unique_ptr<Policy> {
         return std::make_unique<ExpectedFinish>(seed);
     }},
    {"iwrr",
     [](std::uint64_t seed) -> std::unique_ptr<Policy> { return std::make_unique<Iwrr>(seed); }},
    {"shortest_queue",
     [](std::uint64_t seed) -> std::unique_ptr<Policy> {
         return std::make_unique<ShortestQueue>(seed);
     }},
    {"uniform",
     [](std::uint64_t seed) -> std::unique_ptr<Policy> { return std::make_unique<Uniform>(seed); }},
}};

/// Returns null for an unknown name.
const Entry* find_entry(std::string_view name) {
    for (const Entry& entry : kPolicies) {
        if (entry.name == name) {
            return &entry;
        }
    }
    return nullptr;
}

}  // namespace

std::uint64_t own_order(std::uint64_t seed, SlotId slot) {
    return swarm::mix_bits(seed ^ swarm::mix_bits(slot.value));
}

std::optional<PolicyName> PolicyName::find(std::string_view name) {
    const Entry* const entry = find_entry(name);
    return entry == nullptr ? std::nullopt : std::optional(PolicyName(entry->name));
}

std::unique_ptr<Policy> make_policy(std::string_view name, std::uint64_t seed) {
    const Entry* const entry = find_entry(name);
    return entry == nullptr ? nullptr : entry->make(seed);
}

std::unique_ptr<Policy> make_policy(PolicyName name, std::uint64_t seed) {
    auto policy = make_policy(name.text(), seed);
    SWARM_ASSERT(policy != nullptr);
    return policy;
}

std::string policy_names() {
    std::string names;
    for (const Entry& entry : kPolicies) {
        names += names.empty() ? "" : ", ";
        names += entry.name;
    }
    return names;
}

}  // namespace router
