// The role that tells clients which peers serve which layers of which model, and tells newcomers
// which layers need them most. Peers offer, load, register, and repeat the message every 2 s. The
// directory computes nothing, and no token passes through it.
// Invariants: a peer is listed once, while its link is up and its last message is less than 6 s
// old. It believes nobody: peers that contradict each other about a model's layers or weights are
// listed side by side, and no peer keeps another one out. One network has a bounded share of the
// table, and in a full table the network with the most entries loses one to another network. A
// place is kept for the peer that was sent there, as long as it is heard.
// Threading: a role, single strand. Bounds: limits.hpp. Cost: O(peers) per offer, registration and
// Locate.
#pragma once

#include "stacking/sessions/directory_table.hpp"
#include "stacking/sessions/request_budget.hpp"

#include <string>

namespace stacking::sessions {

class Directory final : public node::Role {
 public:
    static constexpr swarm::Duration kSilentMax = std::chrono::seconds(6);

    void on(const node::Event& event, TimePoint now, node::Outbox& out) override;
    [[nodiscard]] TimePoint next_deadline() const override;
    [[nodiscard]] node::Allowance allowance(const PeerId& peer) const override;

    [[nodiscard]] std::size_t listed() const;

    /// The models and the peers of each.
    [[nodiscard]] const DirectoryTable& table() const { return table_; }

 private:
    void take(PeerId from, const protocol::HostOffer& offer, node::Turn turn);
    void take(PeerId from, const protocol::Register& registration, node::Turn turn);
    void take(PeerId from, const protocol::Locate& locate, node::Turn turn);
    void remove(PeerId peer, node::Turn turn);
    void remove_all(const std::vector<PeerId>& peers, node::Turn turn);
    void expire(node::Turn turn);
    void tell(PeerId peer, const ListedHost& host, bool listed, node::Turn turn) const;

    DirectoryTable table_;
    RequestBudget budget_;
    bool ended_ = false;
};

}  // namespace stacking::sessions
