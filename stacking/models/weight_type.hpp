// The formats of stored weights, under the names that readers of models use; stacking/blocks has
// them. Threading: pure functions. Errors: none.
#pragma once

#include "stacking/blocks/weight_type.hpp"

namespace stacking::models {

using blocks::block_size;
using blocks::BlockSize;
using blocks::decode_weights;
using blocks::name_of;
using blocks::WeightType;

}  // namespace stacking::models
