// The average of several models in which each value counts as much as the member's Fisher
// information about it: sum of F_i v_i / sum of F_i, in float64, rounded once to fp32.
// A tensor's F_i are raised to kFisherFloor of their mean over all members, so a value that no
// gradient reaches is the uniform mean. Where the whole tensor has none, all of it is.
// Invariants: copies of a model with one diagonal average to its bits. No value lies outside those
// of the members. Equal diagonals give the bits of equal weights (model_average.hpp).
// Threading: const and any thread, like the members. Errors: Mismatch (another architecture, a
// tensor without a diagonal), and those of the members while rows are read; Reject.
// Cost: 4 bytes per value and member, which stay in memory.
// Source: Matena and Raffel, "Merging Models with Fisher-Weighted Averaging", NeurIPS 2022, without
// their weights of the members.
#pragma once

#include "stacking/models/model_source.hpp"

#include <memory>
#include <span>
#include <vector>

namespace stacking::models {

/// A member counts for at least so much of the mean information per value of the tensor, rounded
/// down to a power of two, whose multiples are exact. It is too little to change what was measured.
inline constexpr double kFisherFloor = 1e-6;

struct FisherPart {
    std::shared_ptr<const ModelSource> model;
    std::vector<float> diagonal;  // one tensor after the other; finite, at least 0
};

struct FisherAverage {
    ModelSource model;
    std::vector<double> mean_weights;  // share of each member, mean over all values
};

/// `tensors`: those that the diagonals have, in their order. A tied head has none. REQUIRES: 1 to
/// kAveragedMax parts, and diagonals of the tensors' size.
swarm::Result<FisherAverage> fisher_average_of(
    std::vector<FisherPart> parts, std::span<const swarm::run::TensorSpec> tensors
);

}  // namespace stacking::models
