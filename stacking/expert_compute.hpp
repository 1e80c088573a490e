// Mixtures of experts whose parts are at several peers. An ExpertTrunk computes everything but the
// experts that it lacks: it stops at each layer whose router chose one of these, and goes on with
// their outputs. An ExpertLender computes rows for single experts and keeps nothing.
// Invariant: a call that stops gives the bits of SessionCompute::run_layers() with all experts: the
// outputs are added in the order of the experts, whoever computed them. An expert that is left out
// changes only the rows that chose it; the shares of their other experts are scaled to the same
// sum, and a row without any other gets nothing from the mixture.
// Threading: one thread at a time; the trunk is the same object as the SessionCompute of its layers
// and has one call at a time. Shapes: R rows of a call, C width.
// Errors: of begin() those of run_layers(); NotFound (Reject): an expert that is not held.
#pragma once

#include "stacking/expert_set.hpp"
#include "stacking/session_compute.hpp"

#include <compare>
#include <optional>
#include <set>

namespace stacking {

/// An expert of one layer of the model.
struct LayerExpert {
    std::uint32_t layer = 0;
    std::uint32_t expert = 0;

    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 misreads the 0 inside a defaulted <=>
    friend auto operator<=>(const LayerExpert&, const LayerExpert&) = default;
};

/// Experts that a session goes without.
using LackingExperts = std::set<LayerExpert>;

/// Rows of a call that chose an expert which the trunk lacks.
struct ExpertVisit {
    std::uint32_t expert = 0;
    std::vector<std::uint32_t> rows{};  // rising indices in the call
    std::vector<float> values{};        // (rows, C), finite: the input of the expert
};

/// A call that waits for the outputs of experts of one layer.
struct ExpertStop {
    std::uint32_t layer = 0;          // its index in the model
    std::vector<ExpertVisit> visits;  // by rising expert, at least one
};

/// Where a call is: it waits, or it has ended with (R, C) rows.
using TrunkStep = std::variant<ExpertStop, std::vector<float>>;

class ExpertTrunk {
 public:
    ExpertTrunk() = default;
    ExpertTrunk(const ExpertTrunk&) = delete;
    ExpertTrunk& operator=(const ExpertTrunk&) = delete;
    virtual ~ExpertTrunk() = default;

    /// Begins a call as run_layers() does. `lacking`: for each row the experts that its session
    /// goes without; they are not visited.
    [[nodiscard]] virtual swarm::Result<TrunkStep> begin(
        std::span<const SessionRow> rows,
        const StageInput& input,
        std::span<const LackingExperts* const> lacking
    ) = 0;

    /// Goes on with the outputs of the visits, in their order, (rows, C) each and before the
    /// shares; an empty one leaves the expert out. Rows whose cache was dropped meanwhile mean
    /// nothing. REQUIRES: the call waits; as many outputs as visits.
    [[nodiscard]] virtual TrunkStep go_on(std::span<const std::vector<float>> outputs) = 0;
};

class ExpertLender {
 public:
    ExpertLender() = default;
    ExpertLender(const ExpertLender&) = delete;
    ExpertLender& operator=(const ExpertLender&) = delete;
    virtual ~ExpertLender() = default;

    [[nodiscard]] virtual std::uint32_t width() const = 0;
    [[nodiscard]] virtual bool holds(const LayerExpert& which) const = 0;

    /// Returns (R, C) outputs of the expert. REQUIRES: whole rows.
    [[nodiscard]] virtual swarm::Result<std::vector<float>> run(
        const LayerExpert& which, std::span<const float> rows
    ) = 0;
};

}  // namespace stacking
