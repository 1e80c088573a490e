#include "router/policy.hpp"

#include "router/expected_finish.hpp"
#include "router/iwrr.hpp"
#include "router/shortest_queue.hpp"
#include "router/uniform.hpp"
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

}  // namespace

std::uint64_t own_order(std::uint64_t seed, SlotId slot) {
    return swarm::mix_bits(seed ^ swarm::mix_bits(slot.value));
}

std::unique_ptr<Policy> make_policy(std::string_view name, std::uint64_t seed) {
    for (const Entry& entry : kPolicies) {
        if (entry.name == name) {
            return entry.make(seed);
        }
    }
    return nullptr;
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
