// Which hash each peer said of its stage's state at the current version, and what follows: the hash
// that counts, and the electors that contradict it. Who is an elector is the coordinator's
// decision, because a claim counts by the standing of its author.
// Invariants: only electors count, each once; a hash that is fixed is never voted away. Without a
// majority the most frequent hash counts once all electors have spoken; between equals it is that
// of the elector who comes first, which is the oldest member. So a tie never ends a run.
// Threading: single strand. Memory: a hash for each peer that spoke. Cost: O(n log n) in electors.
// Source: step protocol, section 4 (APPLIED).
#pragma once

#include "swarm/base/digest.hpp"
#include "swarm/base/ids.hpp"

#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace swarm::coordinator {

/// Whether electors that have not spoken are waited for.
enum class Silent : std::uint8_t { Wait, Ignore };

class StateVotes {
 public:
    struct Verdict {
        std::optional<Digest> hash;  // none: more electors must speak
        std::vector<PeerId> wrong;   // electors that said another hash
    };

    /// Forgets everything, because another version is current.
    void clear() { *this = {}; }

    /// A later word of the same peer replaces its earlier one.
    void say(StageIndex stage, PeerId peer, const Digest& hash);
    void forget(PeerId peer);

    [[nodiscard]] bool has_spoken(StageIndex stage, PeerId peer) const;

    /// Stages of which somebody has said a hash.
    [[nodiscard]] std::vector<StageIndex> stages() const;

    /// True once after a word came or was forgotten.
    [[nodiscard]] bool take_changed() { return std::exchange(changed_, false); }

    /// `electors` begins with the oldest. `fixed` is the hash that counts already.
    [[nodiscard]] Verdict judge(
        StageIndex stage,
        std::span<const PeerId> electors,
        const std::optional<Digest>& fixed,
        Silent silent
    ) const;

 private:
    std::map<StageIndex, std::map<PeerId, Digest>> said_;
    bool changed_ = false;
};

}  // namespace swarm::coordinator
