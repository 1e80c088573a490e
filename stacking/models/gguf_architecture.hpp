// The architecture that the metadata of a GGUF describes, for every family of families/family.hpp.
// Invariant: a key that changes the computation is read or refused by name.
// Deviation: of LongRoPE the factors for short texts are taken, as in hf_rope.hpp.
// Threading: pure functions. Errors: Malformed; Unsupported (another architecture, rope scaling, or
// trait); StorageFailed; Reject. Source: ggml/docs/gguf.md, and llama-arch.cpp of llama.cpp.
#pragma once

#include "stacking/models/architecture.hpp"
#include "stacking/models/gguf_header.hpp"

#include <memory>
#include <span>

namespace stacking::models {

/// Divisors of rotary frequencies that are tensors of the file, and no tensors of ours.
bool is_rope_table(std::string_view tensor);

/// `files`: those of the header, in which the tables of rotary frequencies are. The caller must
/// check() the result.
swarm::Result<Architecture> read_gguf_architecture(
    const GgufHeader& header, std::span<const std::unique_ptr<ByteSource>> files
);

}  // namespace stacking::models
