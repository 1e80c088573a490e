// One epoch of an exchange between the replicas of a stage in mode sparse. Each member that has
// trained sends its share to the others and to observers; a member with all shares proposes the new
// shared weights (sparse_replica.hpp). The rules of a reduction hold: a share is given only where
// the list counts as many microbatches as its member has trained on (R1), it counts only for the
// epoch that it names, and a proposal changes nothing before it is decided (R2, R3).
// Invariant: members that complete an epoch have the same proposal, bit for bit.
// Threading: single strand; shares are coded and applied on the device. Bounds: one early share per
// replica. Errors: a share of the wrong size is dropped; one that does not decode counts as
// missing, and STUCK then names its member to the coordinator.
// Cost: one share to each other member per epoch. Source: swarm/run/spec/sparse-over-peers.md.
#pragma once

#include "stages/server/server_context.hpp"
#include "stages/worker/sparse_replica.hpp"

#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace stages {

class ShareExchange {
 public:
    using Trained = protocol::Trained;

    /// The list of an epoch. Each vector is in slot order; every slot of `shares` is in `group`.
    /// Without shares the proposal is the present shared weights.
    struct List {
        swarm::Epoch epoch;
        std::vector<Trained> shares;
        std::vector<SlotId> group;
        std::vector<SlotId> observers;
    };

    /// context.replica exists before start().
    explicit ShareExchange(ServerContext& context) : context_(context) {}

    /// Begins an epoch, unless it is under way. The own share is made and sent.
    void start(List list, node::Turn turn);
    /// Drops the epoch under way; is called at a recall. The replica keeps its share for the next
    /// epoch.
    void abort();
    /// Ends the exchange, which is decided.
    void new_step();

    void on(PeerId from, const protocol::Part& part, node::Payload share, node::Turn turn);
    /// Repeats the own share to a peer whose links are back, because it may have been lost.
    void resend(PeerId peer, node::Turn turn);

    void wake(node::Turn turn);

    [[nodiscard]] TimePoint next_deadline() const { return stuck_at_; }

    [[nodiscard]] bool is_active() const { return active_; }

    /// The shared weights that this epoch gives; null while a share is missing.
    [[nodiscard]] SparseReplica::Weights proposal(swarm::Epoch epoch) const {
        return list_.epoch == epoch ? proposal_ : nullptr;
    }

 private:
    static constexpr swarm::Duration kStuckAfter = std::chrono::seconds(3);

    struct Early {
        protocol::Part part;
        node::Payload share;
    };

    void make_own(std::size_t index, node::Turn turn);
    void send_own(PeerId to, node::Turn turn) const;
    void keep_early(PeerId from, const protocol::Part& part, node::Payload share);
    void arrived(std::size_t index, node::Payload share, node::Turn turn);
    void propose(node::Turn turn);
    void refused(const std::vector<std::size_t>& indices, node::Turn turn);
    /// Index of the share of this slot; empty when the list does not name it.
    [[nodiscard]] std::optional<std::size_t> index_of(SlotId slot) const;
    /// Index of the share of this peer; empty when the list does not name its slot.
    [[nodiscard]] std::optional<std::size_t> index_of(PeerId peer) const;
    [[nodiscard]] bool has_size(const node::Payload& share) const;

    /// False in a continuation whose epoch was aborted or replaced meanwhile.
    [[nodiscard]] bool is_current(std::uint64_t generation) const {
        return generation_ == generation;
    }

    ServerContext& context_;
    std::uint64_t generation_ = 0;  // calls of start() and abort(), which void continuations
    bool active_ = false;
    List list_;
    std::optional<std::size_t> own_;                    // index of the own share in list_.shares
    std::vector<std::optional<node::Payload>> shares_;  // shares in the order of list_.shares
    SparseReplica::Weights proposal_;
    std::map<PeerId, Early> early_;  // shares that came before their list
    TimePoint stuck_at_ = swarm::kNever;
};

}  // namespace stages
