// Opens a Llama-family GGUF file as a ModelSource. The metadata gives architecture and rope base.
// The rope row order of q and k is undone (converters store each head's rows as x0, x32, x1, x33,
// ...).
// Threading: one thread. Errors: those of the header; Unsupported: another architecture, scaled
// rope, experts, or a tensor that would stay unused, such as a bias; Malformed: a missing key, or a
// tensor that is missing or has another shape; Reject: refuse the file. Cost: reads the header
// only.
#pragma once

#include "stacking/models/gguf_header.hpp"
#include "stacking/models/model_source.hpp"

#include <memory>

namespace stacking::models {

swarm::Result<ModelSource> open_gguf(std::unique_ptr<ByteSource> file);

/// REQUIRES: read_gguf_header() gave `header` for the same file.
swarm::Result<ModelSource> open_gguf(std::unique_ptr<ByteSource> file, const GgufHeader& header);

/// REQUIRES: read_gguf_parts() gave both.
swarm::Result<ModelSource> open_gguf(ModelSource::Files files, const GgufHeader& header);

}  // namespace stacking::models
