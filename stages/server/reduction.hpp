// One epoch's butterfly over a stage's replicas. Each slice of the sums (slices.hpp) goes to its
// owner, who adds them up and sends the values to all. A slice of a tied matrix waits for the other
// stage's sums first (tied_sums.hpp). It starts only when the ids held are exactly those of the
// REDUCE list (R1). A part counts only for the epoch that it names, and the result has a buffer of
// its own (R2). Observers get the values and contribute nothing.
// Invariant: a result for which has_result() is true holds every microbatch's gradient exactly
// once.
// Threading: single strand; sums are made on the device. Bounds: kUnderWayMax parts on the way to
// each member, and as many early parts as keep_early() allows. Errors: a part of the wrong size is
// dropped; one that does not unpack counts as missing, and STUCK then names its member.
// Cost per member: 8 bytes per element up, or about 4 as byte planes where the member's last slice
// came back slowly; 4 bytes down. Source: step protocol, sections 2 and 5.
#pragma once

#include "stages/server/server_context.hpp"
#include "stages/server/tied_sums.hpp"
#include "swarm/run/step_time.hpp"

#include <boost/container/flat_map.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace stages {

class Reduction {
 public:
    /// Returns the slots that owe gradients, also those which this member has to pass down.
    using WhoOwesGradients = std::function<std::vector<SlotId>()>;

    explicit Reduction(ServerContext& context, WhoOwesGradients who_owes_gradients = {})
        : context_(context),
          who_owes_gradients_(std::move(who_owes_gradients)),
          tied_(context) {}

    /// Begins an epoch with its list, unless it is under way. `held` are the ids in the
    /// accumulator.
    /// Returns true when this call seals the own sums.
    bool start(const protocol::Reduce& reduce, const MicrobatchIds& held, node::Turn turn);
    /// Is called when an id was added. Returns true when this call seals the own sums.
    bool ids_changed(const MicrobatchIds& held, node::Turn turn);
    /// Drops the epoch under way; is called at a recall.
    void abort();
    /// Drops everything; is called when the step is over.
    void new_step();

    /// Takes a part of sums or of values.
    void on(PeerId from, const protocol::Part& part, node::Payload values, node::Turn turn);
    /// Repeats the own parts to a peer whose links are back, because they may have been lost.
    void resend(PeerId peer, node::Turn turn);

    /// Tells the coordinator by STUCK whom the reduction waits for.
    void wake(node::Turn turn);

    [[nodiscard]] TimePoint next_deadline() const { return stuck_at_; }

    /// True when this peer holds the complete result of that epoch.
    [[nodiscard]] bool has_result(swarm::Epoch epoch) const { return complete_ && epoch_ == epoch; }

    /// True while an epoch is under way, whose parts are wanted.
    [[nodiscard]] bool is_active() const { return active_; }

 private:
    static constexpr swarm::Duration kStuckAfter = std::chrono::seconds(3);
    /// Parts are put into one job up to this size, because a job costs more than packing a small
    /// part.
    static constexpr std::uint64_t kScatterJobBytes = 1 << 20;
    /// Parts travel raw on lines that are measured to be faster than this. Packing and unpacking
    /// cost 12 ns per element and save 4 of its 8 bytes, so they break even on a line of 350 MB/s.
    /// The measured time, from sending the own part to the arrival of the values, includes the
    /// owner's work, so the line itself is faster than measured. Where the time includes a wait for
    /// other members, packing costs nobody anything. On a line never measured parts are packed,
    /// because a wrong guess costs more on a slow line.
    static constexpr double kRawAboveBytesPerSecond = swarm::run::kRawSumsAboveBytesPerS;
    /// Parts smaller than this travel raw: they take few packets either way.
    static constexpr std::uint64_t kPackedBytesMin = 64U << 10;
    /// Parts under way to each member; 64 MiB keep any line busy. A member sends its part of a
    /// piece
    /// only when it has the values of the piece this many before it.
    static constexpr std::uint32_t kUnderWayMax = 8;

    /// The parts that passed between this peer and a member in this epoch.
    struct Exchanged {
        TimePoint since;              // when the first own part was sent
        std::uint64_t bytes = 0;      // bytes both ways; 0: none so far
        std::uint32_t sent = 0;       // pieces of the member's portion whose own part was sent
        std::uint32_t came_back = 0;  // pieces of the member's portion whose values came
    };

    /// A part of an own slice that does not unpack.
    struct RefusedPart {
        std::uint32_t slice = 0;
        std::uint32_t member = 0;           // its sender, where the sender is in this stage
        std::optional<TiedSums::Cut> tied;  // its cut, where the sender is in the tied stage
    };

    using RefusedParts = std::vector<RefusedPart>;

    struct EarlyPart {
        PeerId from;
        protocol::Part part;
        node::Payload values;
    };

    /// A set of members, or of slices, by their number.
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
    /// Freezes the own sums, sends the first parts and takes the early ones.
    void seal(node::Turn turn);
    /// True when the own parts to this member travel as byte planes.
    [[nodiscard]] bool packs_for(std::uint32_t member) const;
    /// Judges whether the member's line is fast, once all of its slices are here.
    void judge_line(std::uint32_t member, TimePoint now);
    /// True when the next part may be sent to this member.
    [[nodiscard]] bool may_send_next(std::uint32_t member) const;
    /// Packs and sends the own parts of these slices.
    void send_scatter(std::vector<std::uint32_t> slices, node::Turn turn);
    /// Sends the own part of the next slice of each member.
    void send_next_scatters(node::Turn turn);
    void keep_early(PeerId from, const protocol::Part& part, node::Payload values);
    void take_scatter(
        std::uint32_t member, std::uint32_t slice, node::Payload values, node::Turn turn
    );
    void take_gathered(
        std::uint32_t member, std::uint32_t slice, node::Payload values, node::Turn turn
    );
    /// Goes on with an own slice that has all parts of the group.
    void slice_summed(std::uint32_t slice, node::Turn turn);
    void make_tied_parts(std::uint32_t slice, node::Turn turn);
    void take_tied(PeerId from, const protocol::Part& part, node::Payload values, node::Turn turn);
    void add_tied(std::uint32_t piece, node::Turn turn);
    /// Turns the sums of an own slice into values.
    void finish_slice(std::uint32_t slice, node::Turn turn);
    /// Sends the values of an own slice to members and observers.
    void send_values(std::uint32_t slice, node::Turn turn);
    /// Waits again for parts of own slices, because those that came do not unpack.
    void parts_refused(std::span<const RefusedPart> parts, node::Turn turn);
    /// Takes the refused parts of a slice out of `all`.
    static RefusedParts take_refused(RefusedParts& all, std::uint32_t slice);
    void send_gathered(std::uint32_t slice, PeerId to, node::Turn turn);
    void resend_values(PeerId peer, std::optional<std::uint32_t> member, node::Turn turn);
    /// Waits again for the values of slices, because those that came are not finite.
    void slices_refused(std::span<const std::uint32_t> slices, node::Turn turn);
    void slice_arrived(std::uint32_t slice, node::Turn turn);
    void summarise(node::Turn turn);
    /// Members that owe a part of the first own piece that is not whole. They have been sent the
    /// values that they may wait for. Empty: every own piece is whole.
    [[nodiscard]] std::vector<SlotId> who_owe_sums() const;
    /// Members that owe values of a slice that they own. They may themselves wait for sums.
    [[nodiscard]] std::vector<SlotId> who_owe_values() const;
    [[nodiscard]] std::optional<std::uint32_t> member_index(PeerId peer) const;
    [[nodiscard]] static bool has_size(
        const node::Payload& values, std::uint64_t wanted, protocol::Dtype dtype
    );

    /// False in a continuation whose epoch was aborted or replaced meanwhile.
    [[nodiscard]] bool is_current(std::uint64_t generation) const {
        return generation_ == generation;
    }

    ServerContext& context_;
    WhoOwesGradients who_owes_gradients_;
    std::uint64_t generation_ = 0;  // calls of start() and abort(), which void continuations
    bool active_ = false;
    bool sealed_ = false;
    bool complete_ = false;
    swarm::Epoch epoch_;
    MicrobatchIds ids_;
    std::vector<SlotId> group_;
    std::vector<SlotId> observers_;
    std::vector<PeerId> peers_;  // peers of group_, in its order
    std::uint32_t own_ = 0;      // index of this peer in group_
    boost::container::flat_map<PeerId, std::uint32_t> member_indices_;  // indices into peers_
    Slices slices_{0, 1};
    std::vector<Some> added_;           // members whose part was added, by own piece
    Some taken_;                        // slices whose values were handed to the device
    Some arrived_;                      // slices that are in the result
    std::vector<Exchanged> exchanged_;  // one per member
    std::set<PeerId> fast_;             // peers whose last slices came back fast
    /// Parts that did not unpack. Only device jobs touch it; a job hands over what it takes out.
    std::shared_ptr<RefusedParts> refused_;
    std::vector<std::optional<node::Payload>> own_values_;  // values by own piece
    TiedSums tied_;
    std::vector<EarlyPart> early_;  // parts that came before their list was complete
    TimePoint stuck_at_ = swarm::kNever;
    bool said_stuck_ = false;  // the last STUCK of this epoch names somebody
};

}  // namespace stages
