// The tokens per second that a placement can carry, and the links that they take: the maximum flow
// from the client over peers that hold layer ranges and back to it. Its flows are the weights of
// the hops.
// Invariant: no peer and no link carries more than its capacity; as much leaves a peer as enters
// it. A session may enter a peer in the midst of its range, which costs that peer as much as the
// whole range. Where several flows are maximal, the same graph gives the same flow on every
// machine.
// Units: tokens/s, counted to a thousandth; kTokensPerSMax stands for a capacity without limit.
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

/// Stands in place of a host where paths begin and end.
inline constexpr std::size_t kClientHost = static_cast<std::size_t>(-1);

struct LayerHost {
    std::uint32_t first = 0;
    std::uint32_t end = 0;
    double tokens_per_s = 0;
};

/// A link between two places in LayerGraph::hosts, or kClientHost. A flow is a HopLink, too.
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
    std::vector<HopLink> hops;  // the links with a flow, in the order of the graph's links
};

/// Whether a session that left `from` may go on at `to`.
[[nodiscard]] bool leads_on(const LayerGraph& graph, std::size_t from, std::size_t to);

[[nodiscard]] swarm::Result<LayerFlow> max_flow(const LayerGraph& graph);

}  // namespace router
