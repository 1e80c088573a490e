// The table of a directory: which peer serves, or loads, which layers of which model, and how the
// table is shared among networks.
// Invariants: a peer has one entry. Claims of another number of layers are another model. A network
// has kModelsPerNetworkMax models and kHostsPerNetworkMax peers of a model at most; when the table
// is full, a newcomer takes the place of an entry of the network that has the most of them, if that
// network keeps as many as the newcomer's network then has.
// Threading: single strand. Cost: O(peers) for a newcomer, else O(log peers).
#pragma once

#include "stacking/sessions/link_book.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stacking::sessions {

/// Names what a peer serves: the model's digest, and the number of layers that the peer says it
/// has.
using ModelName = std::pair<swarm::Digest, std::uint32_t>;

struct ListedHost {
    ModelName model;
    protocol::LayerRange hosted;
    TimePoint heard;
    std::uint64_t network = 0;
    std::uint64_t number = 0;                   // in order of arrival
    std::vector<protocol::LayerRange> split{};  // the hosted layers are a part of it, if it is set
    std::optional<protocol::Register> registration{};  // nothing: the peer is loading

    /// Whether both serve the same layers with the same weights, and lend the same experts.
    [[nodiscard]] bool is_replica_of(const ListedHost& other) const;
};

class DirectoryTable {
 public:
    using Hosts = std::map<PeerId, ListedHost>;
    using Models = std::map<ModelName, Hosts>;

    [[nodiscard]] const Models& models() const { return models_; }

    [[nodiscard]] ListedHost* find(PeerId peer);

    [[nodiscard]] bool contains(PeerId peer) const { return places_.contains(peer); }

    [[nodiscard]] const Hosts& hosts_of(const ModelName& model) const;

    /// The model that a client means which does not know its number of layers: the one with the
    /// most peers.
    [[nodiscard]] ModelName most_served(const swarm::Digest& digest) const;

    struct Admission {
        std::string refusal;         // empty: the peer may be added
        std::vector<PeerId> losers;  // peers that must be removed first
    };

    /// Whether a peer of this network may serve this model.
    [[nodiscard]] Admission admit(PeerId peer, const ModelName& model, std::uint64_t network) const;

    /// Returns the peer's entry for this model, which replaces its entry for another model.
    /// REQUIRES: admit() has said so.
    ListedHost& add(PeerId peer, const ModelName& model, std::uint64_t network);

    void remove(PeerId peer);

    /// The split of which the newcomer serves a part, and the part with the fewest peers. The
    /// newcomer's own split holds, unless nobody serves it and peers of its own network serve
    /// another one. The peers of another network at a part count as one.
    [[nodiscard]] std::pair<std::vector<protocol::LayerRange>, protocol::LayerRange> place_of(
        PeerId newcomer,
        const ModelName& model,
        std::uint64_t network,
        const std::vector<protocol::LayerRange>& offered
    ) const;

 private:
    [[nodiscard]] Admission admit_host(const Hosts& hosts, std::uint64_t network) const;
    [[nodiscard]] Admission admit_model(std::uint64_t network) const;
    [[nodiscard]] std::vector<protocol::LayerRange> split_for(
        PeerId newcomer,
        const Hosts& hosts,
        std::uint64_t network,
        const std::vector<protocol::LayerRange>& offered
    ) const;

    Models models_;
    std::map<PeerId, ModelName> places_;
    std::uint64_t arrivals_ = 0;
};

}  // namespace stacking::sessions
