// Exits: with train.exits = [e, ...] the head answers behind layer e - 1, too, where a token's path
// may end (swarm generate --exit). The trained loss is
//   loss of the last layer + train.exit_weight x sum over the exits of their losses
// and the loss that a step reports stays that of the last layer.
// Invariant: all exits share the head, head.norm and head.weight, which such a run does not train.
// A stage below the last one keeps a copy of it, "exit.S.norm" and "exit.S.weight", as frozen
// tensors. A copy equals the head, so no checkpoint has it: it is made again for any split.
// An exit behind the last layer of a stage belongs to that stage.
// Threading: pure. Source: early exits of DeepSpeed's and CALM's kind (arXiv 2207.07061), with one
// frozen head in place of heads that are trained.
#pragma once

#include "swarm/run/partition.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace swarm::run {

inline constexpr const char* kHeadNorm = "head.norm";

/// The exits behind layers of the stage, in order, as train.exits names them.
std::vector<std::uint32_t> exits_of(const RunConfig& config, const StageLayout& stage);

/// Prefix of the names of the stage's head, or of its copy: "head." or "exit.2.".
std::string head_prefix(const StageLayout& stage);

/// The stage's copy of the head; empty where it needs none.
std::vector<TensorSpec> exit_head(const RunConfig& config, const StageLayout& stage);

/// Whether the tensor is a part of such a copy.
bool is_exit_head(std::string_view tensor);

/// The name of the tensor of the model whose values this one has: "head.norm" for "exit.2.norm",
/// and its own name for all that is no copy.
std::string original_of(const std::string& tensor);

/// Whether the tensor stays as it is because exits share it.
bool is_held_by_exits(const RunConfig& config, std::string_view tensor);

/// The key at fault and the end of a sentence about it. REQUIRES: values within their ranges.
std::optional<std::pair<std::string, std::string>> exits_fault(const RunConfig& config);

}  // namespace swarm::run
