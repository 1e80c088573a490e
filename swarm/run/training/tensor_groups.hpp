// Names for groups of a model's tensors, by which a run file says what is trained and what decays:
// embed, head, norms, bias, attn, mlp, experts, router, layers.3, layers.0-7.
// A tied matrix is in "embed" at the first stage and in "head" at the last one, so a list that has
// one of them has both.
// Threading: pure. Errors: a sentence, for the checks of a run file.
#pragma once

#include "swarm/run/partition.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace swarm::run {

/// False for a group that does not exist.
bool is_in_group(std::string_view group, const TensorSpec& tensor);

/// Says what is wrong with the list of such groups, as the end of a sentence that begins with its
/// key; nullopt: nothing. Layers of the model are at least 1.
std::optional<std::string> groups_fault(
    std::span<const std::string> groups, const ModelConfig& model
);

}  // namespace swarm::run
