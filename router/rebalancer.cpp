#include "router/rebalancer.hpp"

#include "router/capacity.hpp"
#include "router/no_rebalancing.hpp"
#include "router/swarm_alg2.hpp"
#include "swarm/base/check.hpp"

#include <array>

namespace router {
namespace {

struct NamedRebalancer {
    std::string_view name;
    std::unique_ptr<Rebalancer> (*make)();
};

// To add a rebalancer: one file, one line here; tests/unit/router/rebalancer_test.cpp judges
// every entry.
constexpr std::array<NamedRebalancer, 3> kRebalancers{{
    {"none", []() -> std::unique_ptr<Rebalancer> { return std::make_unique<NoRebalancing>(); }},
    {"capacity", []() -> std::unique_ptr<Rebalancer> { return std::make_unique<Capacity>(); }},
    {"swarm-alg2", []() -> std::unique_ptr<Rebalancer> { return std::make_unique<SwarmAlg2>(); }},
}};

/// Returns null for an unknown name.
const NamedRebalancer* find_rebalancer(std::string_view name) {
    for (const NamedRebalancer& entry : kRebalancers) {
        if (entry.name == name) {
            return &entry;
        }
    }
    return nullptr;
}

}  // namespace

std::optional<RebalancerName> RebalancerName::find(std::string_view name) {
    const NamedRebalancer* const entry = find_rebalancer(name);
    return entry == nullptr ? std::nullopt : std::optional(RebalancerName(entry->name));
}

std::unique_ptr<Rebalancer> make_rebalancer(std::string_view name) {
    const NamedRebalancer* const entry = find_rebalancer(name);
    return entry == nullptr ? nullptr : entry->make();
}

std::unique_ptr<Rebalancer> make_rebalancer(RebalancerName name) {
    auto rebalancer = make_rebalancer(name.text());
    SWARM_ASSERT(rebalancer != nullptr);
    return rebalancer;
}

std::string rebalancer_names() {
    std::string names;
    for (const NamedRebalancer& entry : kRebalancers) {
        names += names.empty() ? "" : ", ";
        names += entry.name;
    }
    return names;
}

}  // namespace router
