// How many tokens a second a placement can carry, and over which links: the maximum flow from the
// client over peers that hold layer ranges and back to it. Its flows are the weights of the hops.
// Invariant: no peer and no link carries more than its capacity; what comes in goes out. A session
// may enter a peer in the midst of its range, which costs that peer as much as the whole of it.
// The flow is one of those that are as large; same graph, same flow, on every machine.
// Units: tokens/s, counted to a thousandth; kTokensPerSMax stands for whatever is not limited.
// Threading: pure. Bounds: protocol::kHostsMax hosts, kHopLinksMax links; else an Error, as for a
// link that does not lead on. Cost: push-relabel; 0.15 s for 2,048 hosts of 16 stages.
// Source: Helix (arXiv 2406.01566), graph; Boost.Graph, algorithm (integers: ends, and is exact).
#pragma once

#include "swarm/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace router {

inline constexpr double kTokensPerSMax = 1e9;
inline constexpr std::size_t kHopLinksMax = std::size_t{1} << 18;

/// In place of a host: where paths begin and end.
inline constexpr std::size_t kClientHost = static_cast<std::size_t>(-1);

struct LayerHost {
    std::uint32_t first = 0;
    std::uint32_t end = 0;
    double tokens_per_s = 0;
};

/// Between places in LayerGraph::hosts, or kClientHost. A flow is one, too.
struct HopLink {
    std::size_t from = kClientHost;
    std::size_t to = kClientHost;
    double tokens_per_s = kTokensPerSMax;

    friend bool operator==(const HopLink&, const HopLink&) = default;
};

struct LayerGraph {
    std::uint32_t layers = 0;
    std::vector<LayerHost> hosts;
    std::vector<HopLink> links;
};

struct LayerFlow {
    double tokens_per_s = 0;
    std::vector<HopLink> hops;  // those that carry something, in the order of the graph's links
};

/// Whether a session that left `from` may go on at `to`.
[[nodiscard]] bool leads_on(const LayerGraph& graph, std::size_t from, std::size_t to);

[[nodiscard]] swarm::Result<LayerFlow> max_flow(const LayerGraph& graph);

}  // namespace router
