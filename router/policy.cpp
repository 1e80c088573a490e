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

struct NamedPolicy {
    std::string_view name;
    std::unique_ptr<Policy> (*make)(std::uint64_t seed);
};

// To add a policy: one file, one line here; tests/unit/router/policy_test.cpp judges every entry.
constexpr std::array<NamedPolicy, 4> kPolicies{{
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
const NamedPolicy* find_policy(std::string_view name) {
    for (const NamedPolicy& entry : kPolicies) {
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
    const NamedPolicy* const entry = find_policy(name);
    return entry == nullptr ? std::nullopt : std::optional(PolicyName(entry->name));
}

std::unique_ptr<Policy> make_policy(std::string_view name, std::uint64_t seed) {
    const NamedPolicy* const entry = find_policy(name);
    return entry == nullptr ? nullptr : entry->make(seed);
}

std::unique_ptr<Policy> make_policy(PolicyName name, std::uint64_t seed) {
    auto policy = make_policy(name.text(), seed);
    SWARM_ASSERT(policy != nullptr);
    return policy;
}

std::string policy_names() {
    std::string names;
    for (const NamedPolicy& entry : kPolicies) {
        names += names.empty() ? "" : ", ";
        names += entry.name;
    }
    return names;
}

}  // namespace router
