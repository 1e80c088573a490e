// Keeps the drops of the open step: microbatches that some peer could not compute to finite
// numbers, and the peers that were party to each drop. It says which peer the step should try
// without, which peer to fence, and when no peer can compute the step: then all stages skip it.
// Invariants: an attempt counts once. A member that the step can do without neither ends a step nor
// has another member fenced. Threading: single strand.
// Memory: O(microbatches dropped). Bounds: kOfOneMax drops per microbatch, kOfStepMax per step.
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

    /// True when the slot exists and another slot of its stage takes work.
    using CanDoWithout = std::function<bool(SlotId)>;

    /// `attempt` is the current attempt of the microbatch.
    Finding note(
        MicrobatchId id,
        Attempt attempt,
        const std::set<SlotId>& parties,
        const CanDoWithout& can_do_without
    );

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

        void add(const std::set<SlotId>& others);
    };

    std::map<MicrobatchId, Drops> of_one_;
    Drops of_step_;
};

}  // namespace swarm::coordinator
