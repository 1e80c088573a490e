// The rotary positions of a config.json: base, scaling and rotated dimensions, as versions 4 and 5
// of transformers write them.
//   version 5: "rope_parameters": {"rope_type": "llama3", "rope_theta": 500000.0, ...}, or one such
//              object for each kind of layer: {"full_attention": {..}, "sliding_attention": {..}}
//   version 4: "rope_theta": 500000.0, "rope_scaling": {"rope_type": "llama3", ...} or null
// Where a file has both, they must agree. A kind of rotation that transformers would not compute
// for the family is refused.
// Deviation: of LongRoPE the factors for short texts are taken, and the context becomes that of the
// first training, because transformers changes the factors of a whole text when it grows longer.
// Threading: pure functions. Errors: ConfigMembers::fault(). Source: modeling_rope_utils.py.
#pragma once

#include "stacking/models/architecture.hpp"
#include "stacking/models/families/config_members.hpp"
#include "stacking/models/families/family.hpp"

namespace stacking::models {

/// Sets rope_base, rope, rotary_width and local_rope_base, and for LongRoPE the context.
/// REQUIRES: context and head width are there.
void read_hf_rope(ConfigMembers& members, const Family& family, Architecture& found);

/// The value of "rope_parameters". What has no name there is written as a longrope.
boost::json::object make_hf_rope(const Architecture& architecture);

}  // namespace stacking::models
