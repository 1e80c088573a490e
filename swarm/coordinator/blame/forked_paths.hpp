// Attempts of one epoch that came to the loss on two paths. Honest members make no fork: whoever
// sent the work at the fork gave it to two replicas, or one of the two passed on what it said it
// had refused, or a tail reported a path that was none. All members above the fork computed what
// they were sent, so they lose no slot; their sums hold the microbatch twice, and half of them
// begin anew. The liar is party to each of its forks, and the other parties change.
// Threading: single strand. Bound: one fork per microbatch, one count per peer that has a link.
// Cost: O(log n) per call, for n peers or microbatches.
#pragma once

#include "swarm/base/ids.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace swarm::coordinator {

class ForkedPaths {
 public:
    using Path = std::vector<SlotId>;

    /// Forks to which a peer may be party before one of its parties is blamed: a single one may
    /// have been made by any of them.
    static constexpr std::uint32_t kForksMax = 2;

    struct Fork {
        Path first;
        Path second;

        /// The first stage in which the paths differ.
        [[nodiscard]] std::size_t stage() const {
            const auto [one, other] = std::ranges::mismatch(first, second);
            return static_cast<std::size_t>(one - first.begin());
        }
    };

    /// Two paths of equal length that differ were reported for the same attempt.
    void note(MicrobatchId id, Fork fork) { open_.try_emplace(id, std::move(fork)); }

    /// The forks that were noted since the last call.
    [[nodiscard]] std::map<MicrobatchId, Fork> take() { return std::exchange(open_, {}); }

    /// Counts a fork of these peers, the most suspect ones first. Returns the one that was party to
    /// most forks, when they are kForksMax or more.
    [[nodiscard]] std::optional<PeerId> blame(const std::vector<PeerId>& parties) {
        std::optional<PeerId> most;
        for (const PeerId peer : parties) {
            const std::uint32_t count = ++counts_[peer];
            most = !most || count > counts_.at(*most) ? peer : *most;
        }
        if (!most || counts_.at(*most) < kForksMax) {
            return std::nullopt;
        }
        counts_.erase(*most);
        return most;
    }

    /// Forgets the counts of the peers for which `is_gone` is true.
    template <class IsGone>
    void forget(const IsGone& is_gone) {
        std::erase_if(counts_, [&](const auto& each) { return is_gone(each.first); });
    }

 private:
    std::map<MicrobatchId, Fork> open_;
    std::map<PeerId, std::uint32_t> counts_;
};

}  // namespace swarm::coordinator
