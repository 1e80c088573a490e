// One epoch of an exchange between the replicas of a stage in mode sparse: each member that has
// trained sends its share to the others and to observers; whoever has all proposes what the shared
// weights become (sparse_replica.hpp). It keeps the rules of a reduction: a share is given only
// where the list counts as many microbatches as its member has trained on (R1), it counts only for
// the epoch it names, and a proposal touches nothing before it is decided (R2, R3).
// Invariant: members that complete an epoch have the same proposal, bit for bit.
// Threading: single strand; shares are coded and applied on the device. Bounds: one early share per
// replica. Errors: a share of the wrong size is dropped; one that does not decode counts as not
// there, so the coordinator hears whom we wait for.
// Source: swarm/run/model/sparse-over-peers.md. Cost: a share to each other, per epoch.
#pragma once

#include "stages/server_context.hpp"
#include "stages/sparse_replica.hpp"

#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace stages {

class ShareExchange {
 public:
    using Trained = protocol::Trained;

    /// All are in slot order; every one of `shares` is in `group`. Without shares the proposal is
    /// what is shared already.
    struct List {
        swarm::Epoch epoch;
        std::vector<Trained> shares;
        std::vector<SlotId> group;
        std::vector<SlotId> observers;
    };

    /// Its replica is there before start().
    explicit ShareExchange(ServerContext& context) : context_(context) {}

    void start(List list, node::Turn turn);
    /// A recall: whatever is under way is dropped. The own share stays, for the next epoch.
    void abort();
    /// The exchange is decided.
    void new_step();

    void on(PeerId from, const protocol::Part& part, node::Payload share, node::Turn turn);
    /// The peer's links are back: repeats our share, which may have been lost.
    void resend(PeerId peer, node::Turn turn);

    void wake(node::Turn turn);

    [[nodiscard]] TimePoint next_deadline() const { return stuck_at_; }

    [[nodiscard]] bool is_active() const { return active_; }

    /// What this epoch makes of the shared weights; null while a share is missing.
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
    [[nodiscard]] std::optional<std::size_t> index_of(SlotId slot) const;
    /// Of this peer's slot, if it is one of those that the list names.
    [[nodiscard]] std::optional<std::size_t> index_of(PeerId peer) const;
    [[nodiscard]] bool has_size(const node::Payload& share) const;

    /// False in a continuation of an epoch that was aborted or replaced meanwhile.
    [[nodiscard]] bool is_current(std::uint64_t generation) const {
        return generation_ == generation;
    }

    ServerContext& context_;
    std::uint64_t generation_ = 0;  // of start() and abort(), for continuations
    bool active_ = false;
    List list_;
    std::optional<std::size_t> own_;                    // of list_.shares
    std::vector<std::optional<node::Payload>> shares_;  // of list_.shares
    SparseReplica::Weights proposal_;
    std::map<PeerId, Early> early_;
    TimePoint stuck_at_ = swarm::kNever;
};

}  // namespace stages
