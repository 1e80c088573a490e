// Keeps the drops of the open step: microbatches that some peer could not compute to finite
// numbers, with the peer that dropped each one and the peer that had sent it. It says which peer
// the step should try without, which peer to fence, and when no peer can compute the step: then all
// stages skip it.
// Invariants: an attempt counts once. Members that the step can do without end no step while they
// are not more than half of their stage, whatever they say.
// Threading: single strand. Memory: O(microbatches dropped).
// Bounds: kOfOneMax drops per microbatch, kOfStepMax per step.
// Source: step protocol, section 7 (non-finite). A microbatch that disjoint sets of peers drop is
// no peer's fault, nor is one that no other peer is left to try.
#pragma once

#include "swarm/base/ids.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

namespace swarm::coordinator {

/// Skipped steps in a row that end the run, because it has stopped learning.
inline constexpr std::uint32_t kSkipsInARowMax = 3;

/// Why the run ends and what to do about it. `reason` is why the last step was skipped.
std::string skipped_too_often(std::uint64_t last_step, const std::string& reason);

class DroppedWork {
 public:
    enum class Verdict : std::uint8_t { TryAgain, TryWithout, Fence, Skip };

    struct Finding {
        Verdict verdict = Verdict::TryAgain;
        SlotId slot{};  // set with TryWithout and Fence
    };

    struct Drop {
        SlotId by;
        SlotId sent_by;
    };

    struct Stages {
        /// True when the slot exists and another slot of its stage takes work.
        std::function<bool(SlotId)> can_do_without;
        /// True when more than half of the members of some stage are among these slots.
        std::function<bool(const std::set<SlotId>&)> has_most_of_one;
    };

    /// `attempt` is the current attempt of the microbatch.
    Finding note(MicrobatchId id, Attempt attempt, const Drop& drop, const Stages& stages);

    void clear() { *this = {}; }

 private:
    /// A few drops may be chance. A diverged model, a broken peer or a liar drops all microbatches.
    static constexpr std::size_t kOfStepMax = 64;
    /// Routers may choose the same peer several times while all others are busy.
    static constexpr std::size_t kOfOneMax = 8;

    struct Drops {
        Attempt newest{};
        std::size_t count = 0;
        std::set<SlotId> parties;  // peers that were party to every drop

        void add(const Drop& drop);
    };

    /// The verdict where no peer is party to every drop.
    [[nodiscard]] Finding judge_by_many(const Drop& drop, const Stages& stages) const;

    std::map<MicrobatchId, Drops> of_one_;
    Drops of_step_;
    std::map<SlotId, std::size_t> dropped_by_;  // drops of the step
    std::set<SlotId> droppers_;
    std::set<SlotId> senders_;
};

}  // namespace swarm::coordinator
