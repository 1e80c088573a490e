// One epoch's butterfly over a stage's replicas: each slice of the sums (slices.hpp) goes to its
// owner, who adds them up and sends the values to all; what is tied to another stage waits for its
// sums first (tied_sums.hpp). Starts only when the ids held are exactly those of the REDUCE list
// (R1); a part counts only for the epoch it names, the result sits in a buffer of its own (R2).
// Observers get the values and contribute nothing.
// Invariant: what complete() names holds every microbatch's gradient exactly once.
// Threading: single strand; sums are made on the device. Bounds: kUnderWayMax parts on the way to
// each member, kEarlyPartsMax kept that came before the list was complete. Errors: a part of the
// wrong size is dropped; one that does not unpack counts as not there, so the coordinator hears
// whom we wait for.
// Source: step protocol, sections 2 and 5. Cost: 8 bytes per element up, or about 4 as byte planes
// where the member's last slice came back slowly; 4 down, per member.
#pragma once

#include "stages/server_context.hpp"
#include "stages/tied_sums.hpp"

#include <boost/container/flat_map.hpp>

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace stages {

class Reduction {
 public:
    explicit Reduction(ServerContext& context) : context_(context), tied_(context) {}

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
    /// A member's part of a piece says that it has the values of the piece so many before it: that
    /// is how many are under way to each, and 64 MiB keep any line busy.
    static constexpr std::uint32_t kUnderWayMax = 8;

    /// What passed between us and a member in this epoch.
    struct Exchanged {
        TimePoint since;
        std::uint64_t bytes = 0;      // both ways; 0: nothing yet
        std::uint32_t sent = 0;       // of its slices: our parts, in order
        std::uint32_t came_back = 0;  // of its slices: the values
    };

    /// Whose part of an own slice does not unpack.
    struct RefusedPart {
        std::uint32_t slice = 0;
        std::uint32_t member = 0;
        std::optional<TiedSums::Cut> tied;  // a member of the other stage, then
    };

    using RefusedParts = std::vector<RefusedPart>;

    struct EarlyPart {
        PeerId from;
        protocol::Part part;
        node::Payload values;
    };

    /// Some of the members, or of the slices, by their number.
    class Some {
     public:
        void reset(std::size_t of) {
            has_.assign(of, false);
            count_ = 0;
        }

        [[nodiscard]] bool has(std::uint32_t number) const { return has_[number]; }

        [[nodiscard]] std::size_t count() const { return count_; }

        void add(std::uint32_t number) {
            count_ += has_[number] ? 0 : 1;
            has_[number] = true;
        }

        void remove(std::uint32_t number) {
            count_ -= has_[number] ? 1 : 0;
            has_[number] = false;
        }

     private:
        std::vector<bool> has_;
        std::size_t count_ = 0;
    };

    [[nodiscard]] bool matches(const MicrobatchIds& held) const;
    void seal(node::Turn turn);
    /// Our parts to this member go as byte planes.
    [[nodiscard]] bool packs_for(std::uint32_t member) const;
    void judge_line(std::uint32_t member, TimePoint now);
    [[nodiscard]] bool may_send_next(std::uint32_t member) const;
    /// Packs and sends our part of these slices.
    void send_scatter(std::vector<std::uint32_t> slices, node::Turn turn);
    /// Of the next slice of each member.
    void send_next_scatters(node::Turn turn);
    void keep_early(PeerId from, const protocol::Part& part, node::Payload values);
    void take_scatter(
        std::uint32_t member, std::uint32_t slice, node::Payload values, node::Turn turn
    );
    void take_gathered(
        std::uint32_t member, std::uint32_t slice, node::Payload values, node::Turn turn
    );
    /// An own slice has all parts of the group.
    void slice_summed(std::uint32_t slice, node::Turn turn);
    void make_tied_parts(std::uint32_t slice, node::Turn turn);
    void take_tied(PeerId from, const protocol::Part& part, node::Payload values, node::Turn turn);
    void add_tied(std::uint32_t piece, node::Turn turn);
    void finish_slice(std::uint32_t slice, node::Turn turn);
    void send_values(std::uint32_t slice, node::Turn turn);
    /// Parts of an own slice came, but do not unpack.
    void parts_refused(std::span<const RefusedPart> parts, node::Turn turn);
    /// Those of the slice, which are then forgotten.
    static RefusedParts take_refused(RefusedParts& all, std::uint32_t slice);
    void send_gathered(std::uint32_t slice, PeerId to, node::Turn turn);
    void resend_values(PeerId peer, std::optional<std::uint32_t> member, node::Turn turn);
    /// They came, but are no numbers to go on with.
    void slices_refused(std::span<const std::uint32_t> slices, node::Turn turn);
    void slice_arrived(std::uint32_t slice, node::Turn turn);
    void summarise(node::Turn turn);
    /// A part of an own slice, or the values of one of its own.
    [[nodiscard]] bool owes(std::uint32_t member) const;
    [[nodiscard]] std::optional<std::uint32_t> member_index(PeerId peer) const;
    [[nodiscard]] static bool has_size(
        const node::Payload& values, std::uint64_t wanted, protocol::Dtype dtype
    );

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
    Slices slices_{0, 1};
    std::vector<Some> added_;           // by own piece: the members whose part is in
    Some taken_;                        // slices that were handed to the device
    Some arrived_;                      // slices that are in the result
    std::vector<Exchanged> exchanged_;  // by member
    std::set<PeerId> fast_;             // of peers_: the last slices came back fast
    /// The device's, until a job hands it over.
    std::shared_ptr<RefusedParts> refused_;
    std::vector<std::optional<node::Payload>> own_values_;  // by own piece
    TiedSums tied_;
    std::vector<EarlyPart> early_;
    TimePoint stuck_at_ = swarm::kNever;
};

}  // namespace stages
