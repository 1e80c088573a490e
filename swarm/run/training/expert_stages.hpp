// Experts of one layer at several stages: with run.expert_stages = G each layer of a mixture is cut
// into G stages. The first part has attention, norms, router and the first experts, the others have
// experts alone. For each token 2 C + E values cross from one part to the next, and their gradients
// back: the row behind attention with what the parts so far have added, the row that experts read,
// and the share of each expert (training/mixture.hpp), 0 where the token does not meet it.
// Invariant: a row has its experts added in the order of their numbers, wherever they are, so a
// layer in parts gives the bits of a layer in one piece, as long as no codec loses any.
// A part is a stage like any other: the ledger, the sums, kills and newcomers know nothing of it.
// Threading: pure. Source: expert parallelism (GShard, arXiv 2006.16668). Deviation: a token visits
// the holders of experts one after the other and not all at once (stages/README.md says why).
#pragma once

#include "swarm/run/partition.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace swarm::run {

/// Experts [first, end) of a layer.
struct ExpertRange {
    std::uint32_t first = 0;
    std::uint32_t end = 0;

    friend bool operator==(const ExpertRange&, const ExpertRange&) = default;
};

/// The part of a layer that the stage has; where run.expert_stages is 1, all of it.
LayerPart part_of(const RunConfig& config, StageIndex stage);

/// The experts of the part: about equally many in each.
ExpertRange experts_of(const ModelConfig& model, LayerPart part);

/// Whether a tensor of a layer lies in the part of it.
bool is_in_part(const ModelConfig& model, LayerPart part, std::string_view tensor);

/// Codecs scale groups of 64 values together, and no group should have values of two kinds: so each
/// of the three is filled up with zeros to a multiple of 64.
std::uint32_t filled_up(std::uint32_t values);

/// Values per token that cross from one part of a layer to the next.
std::uint32_t width_within_layer(const ModelConfig& model);

/// The part's share of the work of its layer: experts by what the router sends them in the mean.
double work_share(const RunConfig& config, const StageLayout& stage);

/// The key at fault and the end of a sentence about it.
std::optional<std::pair<std::string, std::string>> expert_stages_fault(const RunConfig& config);

}  // namespace swarm::run
