// The rate that the pipeline would have with the same peers if each were in the best stage:
// throughput_of_optimal is a share of this rate.
// Invariant: exact when all peers are equal (then it is the rate of floor(peers / stages)); else
// the result of the longest-first rule, which is at least 3/4 of the true optimum (Csirik,
// Kellerer, Woeginger 1992), and close to it with many peers per stage.
// Units: microbatches per second. Threading: none.
// Cost: narrowest() O(kinds of peers x stages log stages), or O(peers log stages) at worst.
#pragma once

#include "sim/fluid/peer_flow.hpp"

#include <compare>
#include <cstdint>
#include <map>
#include <optional>

namespace sim {

/// A peer's rates: in a stage between two others, and in the first or the last stage.
struct PeerKind {
    double middle_per_s = 0;
    double edge_per_s = 0;

    friend auto operator<=>(const PeerKind&, const PeerKind&) = default;
};

PeerKind kind_of(const FleetPeer& peer, double speed, const Pipeline& pipeline);

class BestPlacement {
 public:
    explicit BestPlacement(std::uint32_t stages) : stages_(stages) {}

    void add(const PeerKind& kind);
    void remove(const PeerKind& kind);
    /// The capacity of the narrowest stage. Computed once per change.
    [[nodiscard]] double narrowest();

 private:
    [[nodiscard]] double place_all() const;

    std::uint32_t stages_;
    std::map<PeerKind, std::uint64_t, std::greater<>> peers_;
    std::optional<double> narrowest_;
};

}  // namespace sim
