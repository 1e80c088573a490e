// Mixtures of experts: in a layer of kind mixtral or qwen3_moe a router (E, C) sends each token to
// model.experts_per_token of E feed-forward parts, its experts. Their tensors are called
// "layers.N.moe.router" and "layers.N.moe.E.w1", "w2" and "w3", as in stacking/models.
//   p = softmax(router x); the largest k of p, divided by their sum, are the shares of the outputs
// The run's loss has a term more, so that the router does not send all tokens to one expert:
//   train.balance x the mean over the layers of  E x sum over experts e of  f_e x mean of p_e
// where f_e is the number of choices of e divided by that of tokens, and both means are those of a
// microbatch. That is load_balancing_loss_func() of transformers, called for each layer on its own,
// because no stage knows the choices of another one.
// Threading: pure.
// Source: Mixtral (arXiv 2401.04088), Switch Transformer (arXiv 2101.03961) section 2.2.
#pragma once

#include "swarm/run/partition.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace swarm::run {

/// The experts of a layer that stacking/models reads.
inline constexpr std::uint32_t kExpertsMax = 1024;

/// The router's matrix and those of all experts, in global order. `layer` is "layers.N.".
std::vector<TensorSpec> mixture_tensors(const ModelConfig& model, const std::string& layer);

/// The global order within a layer: by name, and experts after all else by number. So it is the
/// same where stages share the experts of a layer (training/expert_stages.hpp).
std::pair<std::uint32_t, std::string_view> place_in_layer(std::string_view tensor);

bool is_router(std::string_view tensor);
/// Whether the tensor is a matrix of an expert, or belongs to its adapter.
bool is_expert(std::string_view tensor);
/// The number of that expert; nullopt: the tensor belongs to none.
std::optional<std::uint32_t> expert_of(std::string_view tensor);

/// The share of tokens that meet the tensor: that of an expert's choices where the router is
/// balanced, otherwise 1.
double used_share(const ModelConfig& model, std::string_view tensor);

/// The key at fault and the end of a sentence about it.
std::optional<std::pair<std::string, std::string>> mixture_fault(const ModelConfig& model);

}  // namespace swarm::run
