// Which tensors of a model a run trains: all of them, all but those of [train] freeze, or only the
// adapters of [lora]. With exits (exits.hpp) the final norm is frozen, too. A frozen tensor has
// weights and nothing else: no moments, sums or slices.
// An adapter of a matrix W (out, in) is two matrices, W.lora_a (rank, in) and W.lora_b (out, rank):
// the layer computes x W^T + alpha / rank x (x A^T) B^T. B begins as zeros, so the run begins as
// the model. Source: LoRA (arXiv 2106.09685); deviation: A is near-normal with a deviation of 0.02.
// Threading: pure. Errors: a fault, for the checks of a run file.
#pragma once

#include "swarm/run/partition.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace swarm::run {

/// The matrices of a layer that may have adapters.
inline constexpr const char* kAdaptable[] = {
    "attn.wk", "attn.wo", "attn.wq", "attn.wv", "mlp.w1", "mlp.w2", "mlp.w3"};

inline constexpr const char* kAdapterIn = ".lora_a";
inline constexpr const char* kAdapterOut = ".lora_b";

bool is_trained(const RunConfig& config, const TensorSpec& tensor);

/// The stages of mode exact that train something; all stages of mode sparse. Nobody adds gradients
/// in the others, and below the lowest of these nobody computes a backward.
StageMask training_stages(const RunConfig& config, const std::vector<StageLayout>& layouts);

/// Whether the two uses of one matrix get the sum of both gradients.
bool trains_tied_matrix(const RunConfig& config);

/// Adds the adapters of a layer's tensors and puts all in global order.
void add_adapters(const LoraConfig& lora, std::vector<TensorSpec>& layer);

/// alpha / rank. REQUIRES: a rank above 0.
double adapter_scale(const LoraConfig& lora);

/// The key at fault and the end of a sentence about it.
std::optional<std::pair<std::string, std::string>> trained_part_fault(const RunConfig& config);

}  // namespace swarm::run
