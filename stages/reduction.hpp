// One epoch's butterfly over a stage's replicas: slice i of the sums goes to member i, who adds
// them up and sends the values to all. Starts only when the ids held are exactly those of the
// REDUCE list (R1); a part counts only for the epoch it names, the result sits in a buffer of its
// own (R2). Observers get the values and contribute nothing.
// Invariant: what complete() names holds every microbatch's gradient exactly once.
// Threading: single strand; sums are made on the device. Bounds: kEarlyPartsMax parts kept that
// came before the list was complete. Errors: a part of the wrong size is dropped; one that does
// not unpack counts as not there, so the coordinator hears whom we wait for.
// Source: step protocol, sections 2 and 5. Cost: 8 bytes per element up, or about 4 as byte planes
// where the member's last slice came back slowly; 4 down, per member.
#pragma once

#include "stages/server_context.hpp"

#include <boost/container/flat_map.hpp>

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace stages {

class Reduction {
 public:
    explicit Reduction(ServerContext& context) : context_(context) {}

    /// A new epoch's list. `held`: the ids in the accumulator now. Returns true when the own sums
    /// are sealed by this call.
    bool start(const protocol::Reduce& reduce, const MicrobatchIds& held, node::Turn turn);
    /// An id was added. Returns true when the own sums are sealed by this call.
    bool ids_changed(const MicrobatchIds& held, node::Turn turn);
    /// A recall: whatever is under way is dropped.
    void abort();
    /// The step is over.
    void new_step();

    void on(PeerId from, const protocol::Part& part, node::Payload values, node::Turn turn);
    /// The peer's links are back: repeats our parts, which may have been lost.
    void resend(PeerId peer, node::Turn turn);

    void wake(node::Turn turn);

    [[nodiscard]] TimePoint next_deadline() const { return stuck_at_; }

    /// True when this peer holds the complete result of that epoch.
    [[nodiscard]] bool has_result(swarm::Epoch epoch) const { return complete_ && epoch_ == epoch; }

    /// True while a list is under way (its parts are wanted).
    [[nodiscard]] bool is_active() const { return active_; }

 private:
    static constexpr swarm::Duration kStuckAfter = std::chrono::seconds(3);
    /// Parts smaller than this are packed together: a job for each costs more than the packing.
    static constexpr std::uint64_t kScatterJobBytes = 1 << 20;
    /// Packing and unpacking cost 12 ns per element and save 4 of its 8 bytes, which is even at 350
    /// MB/s of the line. What we see of a line, from the sending of our part to the arrival of the
    /// values, holds the owner's work too, so less means more; where it holds the wait for others,
    /// packing costs nobody anything. Never seen: packed, as the slow line loses more by an error.
    static constexpr double kRawAboveBytesPerSecond = 250e6;
    /// Smaller parts take a packet or few either way.
    static constexpr std::uint64_t kPackedBytesMin = 64U << 10;

    /// Our part of a slice, sent in this epoch.
    struct Sent {
        TimePoint at;
        std::uint64_t bytes = 0;  // 0: not yet
    };

    struct EarlyPart {
        PeerId from;
        protocol::Part part;
        node::Payload values;
    };

    /// Some of the members, by their place in the group.
    class Members {
     public:
        void reset(std::size_t members) {
            has_.assign(members, false);
            count_ = 0;
        }

        [[nodiscard]] bool has(std::uint32_t member) const { return has_[member]; }

        [[nodiscard]] std::size_t count() const { return count_; }

        void add(std::uint32_t member) {
            count_ += has_[member] ? 0 : 1;
            has_[member] = true;
        }

        void remove(std::uint32_t member) {
            count_ -= has_[member] ? 1 : 0;
            has_[member] = false;
        }

     private:
        std::vector<bool> has_;
        std::size_t count_ = 0;
    };

    [[nodiscard]] bool matches(const MicrobatchIds& held) const;
    void seal(node::Turn turn);
    /// Our parts to this member go as byte planes.
    [[nodiscard]] bool packs_for(std::uint32_t member) const;
    void judge_line(std::uint32_t member, std::uint64_t bytes, TimePoint now);
    /// Packs and sends our part of these members' slices.
    void send_scatter(std::vector<std::uint32_t> slices, node::Turn turn);
    void send_all_scatters(node::Turn turn);
    void keep_early(PeerId from, const protocol::Part& part, node::Payload values);
    void take_scatter(std::uint32_t member, node::Payload values, node::Turn turn);
    void take_gathered(std::uint32_t member, node::Payload values, node::Turn turn);
    void finish_own_slice(node::Turn turn);
    /// Parts of the own slice came, but do not unpack.
    void parts_refused(std::span<const std::uint32_t> members, node::Turn turn);
    void send_gathered(PeerId to, node::Turn turn);
    [[nodiscard]] std::uint64_t elements() const;
    /// They came, but are no numbers to go on with.
    void slices_refused(std::span<const std::uint32_t> slices, node::Turn turn);
    void slice_arrived(std::uint32_t slice, node::Turn turn);
    void summarise(node::Turn turn);
    [[nodiscard]] std::optional<std::uint32_t> member_index(PeerId peer) const;
    [[nodiscard]] bool has_size(
        const node::Payload& values, std::uint32_t slice, protocol::Dtype dtype
    ) const;

    /// False in a continuation of an epoch that was aborted or replaced meanwhile.
    [[nodiscard]] bool is_current(std::uint64_t turn_of) const { return generation_ == turn_of; }

    ServerContext& context_;
    std::uint64_t generation_ = 0;  // of start() and abort(), for continuations
    bool active_ = false;
    bool sealed_ = false;
    bool complete_ = false;
    swarm::Epoch epoch_;
    MicrobatchIds ids_;
    std::vector<SlotId> group_;
    std::vector<SlotId> observers_;
    std::vector<PeerId> peers_;  // of group_, in order
    std::uint32_t own_ = 0;
    boost::container::flat_map<PeerId, std::uint32_t> member_indices_;  // of peers_
    Members added_;           // whose part of the own slice is in
    Members taken_;           // whose slice was handed to the device
    Members arrived_;         // whose slice is in the result
    std::vector<Sent> sent_;  // by member
    std::set<PeerId> fast_;   // of peers_: the last slice came back fast
    /// Whose part of the own slice does not unpack. The device's, until a job hands it over.
    std::shared_ptr<std::vector<std::uint32_t>> refused_;
    std::optional<node::Payload> own_values_;
    std::vector<EarlyPart> early_;
    TimePoint stuck_at_ = swarm::kNever;
};

}  // namespace stages
