// Codec "none": little-endian fp32 as it is, 4 n bytes. It is the reference of every other codec.
// Errors: the same as Codec's. Cost: one pass to look for NaN and infinity, one copy.
#pragma once

#include "compression/codec.hpp"

namespace compression {

std::unique_ptr<const Codec> make_none(const simd::Kernels& kernels);

}  // namespace compression
