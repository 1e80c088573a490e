// The role that tells clients which peers serve which layers of which model, and tells newcomers
// which layers need them most. Peers offer, load, register, and repeat the message every 2 s. The
// directory computes nothing, and no token passes through it.
// Invariants: a peer is listed while its link is up and its last message is less than 6 s old. All
// peers of one layer range have the weights of the first one listed, and all peers of one model
// agree on its number of layers; a peer that differs is refused with one line that says why. A
// place is kept for the peer that was sent there, as long as it is heard, so newcomers that come
// together spread out.
// Threading: a role, single strand. Bounds: kModelsMax models, kHostsMax peers each.
// Cost: O(peers) per offer, registration and Locate.
#pragma once

#include "stacking/sessions/link_book.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace stacking::sessions {

class Directory final : public node::Role {
 public:
    static constexpr swarm::Duration kSilentMax = std::chrono::seconds(6);

    void on(const node::Event& event, TimePoint now, node::Outbox& out) override;
    [[nodiscard]] TimePoint next_deadline() const override;
    [[nodiscard]] node::Allowance allowance(const PeerId& peer) const override;

    [[nodiscard]] std::size_t listed() const;

 private:
    struct Host {
        protocol::LayerRange hosted;
        TimePoint heard;
        std::optional<protocol::Register> registration{};  // nothing: the peer is loading
    };

    using Hosts = std::map<PeerId, Host>;

    struct Model {
        std::uint32_t layers = 0;
        std::vector<protocol::LayerRange> split{};  // the first offer's; empty: no offer yet
        Hosts hosts{};
    };

    using Models = std::map<swarm::Digest, Model>;

    enum class Change { Listed, Gone };

    void take(PeerId from, const protocol::HostOffer& offer, node::Turn turn);
    void take(PeerId from, const protocol::Register& registration, node::Turn turn);
    void take(PeerId from, const protocol::Locate& locate, node::Turn turn) const;
    [[nodiscard]] std::string refusal(PeerId from, const swarm::Digest& model, std::uint32_t layers)
        const;
    [[nodiscard]] std::string refusal(PeerId from, const protocol::Register& registration) const;
    [[nodiscard]] static protocol::LayerRange neediest(PeerId newcomer, const Model& model);
    /// Returns the entry of the peer for this model, and forgets the peer at every other model.
    Host& host_of(PeerId peer, const swarm::Digest& digest, std::uint32_t layers, node::Turn turn);
    void forget(PeerId peer, node::Turn turn);
    void expire(node::Turn turn);
    static void tell(
        PeerId peer,
        const swarm::Digest& digest,
        const Model& model,
        const Host& host,
        Change change,
        node::Turn turn
    );

    Models models_;
    bool ended_ = false;
};

}  // namespace stacking::sessions
