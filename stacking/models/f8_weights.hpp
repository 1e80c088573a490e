// Weights of a Hugging Face folder that are stored as F8_E4M3, and their scales.
//   value = fp32 of the byte x scale, rounded once; scales are F32, F16 or BF16 tensors beside the
//   weight: NAME_scale or NAME_scale_inv (both are factors), of one of these shapes:
//   () or (1)                      one scale for the tensor
//   (rows) or (rows, 1)            one for each row
//   (rows / 128, columns / 128)    one for each 128 x 128 values, broken ones at the ends included
// A model whose config.json has a quantization_config must have a scale for each such weight:
// transformers would leave an absent one as memory happened to be. Without quantization_config the
// bytes are the values, which transformers turns into the model's own type; no scale is 1 then.
// Invariant: another scheme is refused by name, because it would change every value.
// Threading: pure functions. Errors: Unsupported (another shape, type or method), StorageFailed;
// Reject. Cost: reads the scales.
#pragma once

#include "stacking/models/safetensors_files.hpp"

#include <boost/json/value.hpp>

#include <set>
#include <string>

namespace stacking::models {

inline constexpr std::uint32_t kF8BlockSide = 128;

/// Says why weights of this quantization_config cannot be read; empty if they can.
std::string refuse_quantisation(const boost::json::value& config);

/// Whether config.json has a quantization_config.
enum class Quantised { No, Yes };

/// Reads the scales of the tensor `name`, if it has any, and adds their name to `used`. So does
/// the scale of its inputs, which has no effect here: activations are not quantised.
swarm::Result<> add_f8_scales(
    const std::string& name,
    const TensorCatalogue& catalogue,
    const ModelSource::Files& files,
    Quantised quantised,
    StoredTensor& tensor,
    std::set<std::string>& used
);

}  // namespace stacking::models
