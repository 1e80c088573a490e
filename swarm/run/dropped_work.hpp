// Drops of the open step: microbatches that somebody could not compute to finite numbers, and who
// was party to each drop. Says whom to try without, whom to fence, and when the step cannot be
// computed at all: then it is skipped, at every stage or at none.
// Invariants: an attempt counts once; one member that the step can do without neither ends a step
// nor has another one fenced. Threading: single strand.
// Memory: O(microbatches dropped). Bounds: kOfOneMax drops of a microbatch, kOfStepMax of a step.
// Source: step protocol, section 7 (non-finite); what is dropped on disjoint sets of peers is
// nobody's fault, and so is what nobody else is left to try.
#pragma once

#include "swarm/base/ids.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

namespace swarm::run {

/// So many steps skipped one after the other end the run: it does not learn any more.
inline constexpr std::uint32_t kSkipsInARowMax = 3;

/// Why it ends, and what to do. `reason`: of the last one.
std::string skipped_too_often(std::uint64_t last_step, const std::string& reason);

class DroppedWork {
 public:
    enum class Verdict : std::uint8_t { TryAgain, TryWithout, Fence, Skip };

    struct Finding {
        Verdict verdict = Verdict::TryAgain;
        SlotId slot{};  // of TryWithout and Fence
    };

    /// `can_do_without`: the slot is there, and so is another one of its stage that takes work.
    using CanDoWithout = std::function<bool(SlotId)>;

    /// `attempt` is the current one of the microbatch.
    Finding note(
        MicrobatchId id,
        Attempt attempt,
        const std::set<SlotId>& parties,
        const CanDoWithout& can_do_without
    );

    void clear() { *this = {}; }

 private:
    /// A few may be chance; a diverged model, a broken peer or a liar drops all of them.
    static constexpr std::size_t kOfStepMax = 64;
    /// Routers may choose the same peer again and again where all others are busy.
    static constexpr std::size_t kOfOneMax = 8;

    struct Drops {
        Attempt newest{};
        std::size_t count = 0;
        std::set<SlotId> parties;  // to every one of them

        void add(const std::set<SlotId>& others);
    };

    std::map<MicrobatchId, Drops> of_one_;
    Drops of_step_;
};

}  // namespace swarm::run
