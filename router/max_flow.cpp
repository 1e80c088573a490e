#include "router/max_flow.hpp"

#include "swarm/protocol/limits.hpp"

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

namespace router {
namespace {

using swarm::Error;

constexpr double kUnitsPerToken = 1000;

using Units = std::int64_t;
using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
using Network = boost::adjacency_list<
    boost::vecS,
    boost::vecS,
    boost::directedS,
    boost::no_property,
    boost::property<
        boost::edge_capacity_t,
        Units,
        boost::property<
            boost::edge_residual_capacity_t,
            Units,
            boost::property<boost::edge_reverse_t, Traits::edge_descriptor>>>>;

Units units(double tokens_per_s) {
    return static_cast<Units>(std::floor(std::min(tokens_per_s, kTokensPerSMax) * kUnitsPerToken));
}

Traits::edge_descriptor connect(Network& network, std::size_t from, std::size_t to, Units units) {
    const auto there = boost::add_edge(from, to, network).first;
    const auto back = boost::add_edge(to, from, network).first;
    boost::put(boost::edge_capacity, network, there, units);
    boost::put(boost::edge_capacity, network, back, 0);
    boost::put(boost::edge_reverse, network, there, back);
    boost::put(boost::edge_reverse, network, back, there);
    return there;
}

Error refused(swarm::ErrorCode code, std::string why) {
    return {code, swarm::Reaction::Reject, std::move(why)};
}

std::optional<Error> fault_of(const LayerGraph& graph) {
    if (graph.hosts.size() > swarm::protocol::kHostsMax || graph.links.size() > kHopLinksMax) {
        return refused(
            swarm::ErrorCode::TooLarge,
            "a layer graph of " + std::to_string(graph.hosts.size()) + " hosts and " +
                std::to_string(graph.links.size()) + " links; at most " +
                std::to_string(swarm::protocol::kHostsMax) + " and " + std::to_string(kHopLinksMax)
        );
    }
    for (std::size_t i = 0; i < graph.hosts.size(); ++i) {
        const LayerHost& host = graph.hosts[i];
        const bool in_model = host.first < host.end && host.end <= graph.layers;
        if (!in_model || !(host.tokens_per_s >= 0)) {
            return refused(
                swarm::ErrorCode::Mismatch,
                "host " + std::to_string(i) +
                    " of a layer graph holds layers outside of the model," +
                    " none, or has no capacity"
            );
        }
    }
    for (std::size_t i = 0; i < graph.links.size(); ++i) {
        const HopLink& link = graph.links[i];
        if (!leads_on(graph, link.from, link.to) || !(link.tokens_per_s >= 0)) {
            return refused(
                swarm::ErrorCode::Mismatch,
                "link " + std::to_string(i) +
                    " of a layer graph does not lead on, or has no capacity"
            );
        }
    }
    return std::nullopt;
}

}  // namespace

bool leads_on(const LayerGraph& graph, std::size_t from, std::size_t to) {
    const std::size_t hosts = graph.hosts.size();
    const bool known = (from < hosts || from == kClientHost) && (to < hosts || to == kClientHost);
    if (!known || (from == kClientHost && to == kClientHost)) {
        return false;
    }
    const std::uint32_t upto = from == kClientHost ? 0 : graph.hosts[from].end;
    if (to == kClientHost) {
        return upto == graph.layers;
    }
    return graph.hosts[to].first <= upto && upto < graph.hosts[to].end;
}

swarm::Result<LayerFlow> max_flow(const LayerGraph& graph) {
    if (auto fault = fault_of(graph)) {
        return *std::move(fault);
    }
    // A host is two vertices with its capacity between them; the last two are the client's.
    const std::size_t hosts = graph.hosts.size();
    const std::size_t source = 2 * hosts;
    const std::size_t sink = source + 1;
    Network network(sink + 1);
    for (std::size_t i = 0; i < hosts; ++i) {
        connect(network, 2 * i, 2 * i + 1, units(graph.hosts[i].tokens_per_s));
    }
    std::vector<Traits::edge_descriptor> edges;
    for (const HopLink& link : graph.links) {
        const std::size_t from = link.from == kClientHost ? source : 2 * link.from + 1;
        const std::size_t to = link.to == kClientHost ? sink : 2 * link.to;
        edges.push_back(connect(network, from, to, units(link.tokens_per_s)));
    }
    const Units flow = boost::push_relabel_max_flow(network, source, sink);

    LayerFlow result{.tokens_per_s = static_cast<double>(flow) / kUnitsPerToken, .hops = {}};
    for (std::size_t i = 0; i < edges.size(); ++i) {
        const Units carried = boost::get(boost::edge_capacity, network, edges[i]) -
                              boost::get(boost::edge_residual_capacity, network, edges[i]);
        if (carried > 0) {
            const HopLink& link = graph.links[i];
            result.hops.push_back(
                {link.from, link.to, static_cast<double>(carried) / kUnitsPerToken}
            );
        }
    }
    return result;
}

}  // namespace router
