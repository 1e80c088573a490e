// The role that tells clients who serves which layers of which model, and newcomers which layers
// need them most. Peers offer, load, register, and repeat it every 2 s; it computes nothing and no
// token passes through it.
// Invariants: a peer is listed while its link is up and it was heard within 6 s; all peers of one
// layer range have the same weights, those of the first one listed; all of one model agree on its
// layers. Who does not is refused with a line that says why. A place is kept for who was sent
// there, as long as it is heard, so newcomers who come together spread out.
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

    [[nodiscard]] std::size_t listed() const;

 private:
    struct Host {
        protocol::LayerRange hosted;
        TimePoint heard;
        std::optional<protocol::Register> registration{};  // none: still loading
    };

    using Hosts = std::map<PeerId, Host>;

    struct Model {
        std::uint32_t layers = 0;
        std::vector<protocol::LayerRange> split{};  // of the first offer; empty: none yet
        Hosts hosts{};
    };

    using Models = std::map<swarm::Digest, Model>;

    void take(PeerId from, const protocol::HostOffer& offer, node::Turn turn);
    void take(PeerId from, const protocol::Register& registration, node::Turn turn);
    void take(PeerId from, const protocol::Locate& locate, node::Turn turn) const;
    [[nodiscard]] std::string refusal(PeerId from, const swarm::Digest& model, std::uint32_t layers)
        const;
    [[nodiscard]] std::string refusal(PeerId from, const protocol::Register& registration) const;
    [[nodiscard]] static protocol::LayerRange neediest(PeerId newcomer, const Model& model);
    /// Its host there; it leaves any other model.
    Host& host_of(PeerId peer, const swarm::Digest& digest, std::uint32_t layers, node::Turn turn);
    void forget(PeerId peer, node::Turn turn);
    void expire(node::Turn turn);
    static void tell(
        PeerId peer,
        const swarm::Digest& digest,
        const Model& model,
        const Host& host,
        bool listed,
        node::Turn turn
    );

    Models models_;
    bool ended_ = false;
};

}  // namespace stacking::sessions
