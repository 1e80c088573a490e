// Codec "none": little-endian fp32 as it is, 4 n bytes. The reference of every other codec.
// Errors: Malformed (wrong size), NotFinite. Cost: one pass to look for NaN and infinity, one copy.
#pragma once

#include "compression/codec.hpp"

namespace compression {

const Codec& none_codec();

}  // namespace compression
