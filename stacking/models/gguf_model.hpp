// A Llama-family GGUF file as a ModelSource: architecture and rope base from its metadata, rope row
// order of q and k undone (converters store each head's rows as x0, x32, x1, x33, ...).
// Errors: those of the header; Unsupported: another architecture, scaled rope, experts, or a tensor
// that would be left unused, such as a bias; Malformed: a missing key, a tensor that is missing or
// of another shape; Reject: refuse the file. Cost: reads the header only.
#pragma once

#include "stacking/models/gguf_header.hpp"
#include "stacking/models/model_source.hpp"

#include <memory>

namespace stacking::models {

swarm::Result<ModelSource> open_gguf(std::unique_ptr<ByteSource> file);

/// From a header that read_gguf_header() gave for the same file.
swarm::Result<ModelSource> open_gguf(std::unique_ptr<ByteSource> file, const GgufHeader& header);

}  // namespace stacking::models
