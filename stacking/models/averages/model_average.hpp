// The weighted average of models of one architecture, as a model: a value is the sum of weight x
// value over the members in their order, computed in float64 and rounded once to fp32.
// Invariants: copies of a model average to its bits, and so does a model beside members of weight
// 0, which are not read. No value lies outside those of the members.
// Threading: const and any thread, like its members. Errors: Usage (weights), Mismatch (another
// architecture), and those of the members while rows are read; Reject. Cost: reading rows reads
// them from each member; about 4 MiB are held while that goes on, or a row.
// Source: Wortsman et al., "Model soups", ICML 2022; Izmailov et al. 2018.
#pragma once

#include "stacking/models/model_source.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace stacking::models {

/// Members of one average, each of which keeps its files open.
inline constexpr std::size_t kAveragedMax = 64;

struct AveragePart {
    std::shared_ptr<const ModelSource> model;
    double weight = 1;
};

/// Returns the architecture of the first member, within the positions that all can read; Mismatch
/// where another one differs. REQUIRES: there is a part.
swarm::Result<Architecture> common_architecture(const std::vector<AveragePart>& parts);

/// Divides the weights by their sum. Returns Usage unless all are finite, none is below 0 and one
/// is above it.
swarm::Result<std::vector<double>> normalised(std::span<const double> weights);

/// Returns an F32 model with the tokens of the first member and the shortest of the contexts.
/// REQUIRES: 1 to kAveragedMax parts.
swarm::Result<ModelSource> average_of(std::vector<AveragePart> parts);

}  // namespace stacking::models
