// The token that ends a document, for runs with train.separate_documents.
//   a folder of `swarm data build`   its manifest says it
//   a text                           the model's first end token, or that of a trained tokenizer
// Invariant: the token is a function of run file and text, so a resumed run has the same one.
// Threading: one thread. Errors (Reject): Usage: nothing says the token; Mismatch: the data set
// ends its documents with another one; those of the tokenizer's file.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/cli/setup/training_text.hpp"
#include "swarm/run/config.hpp"

#include <cstdint>
#include <optional>

namespace stacking::tokenizers {
class ModelTokenizer;
}

namespace swarm::cli {

/// Returns the token with which a tokenizer that we have trained ends a document; none: it is
/// another tokenizer.
Result<std::optional<std::uint32_t>> trained_document_end(
    const stacking::tokenizers::ModelTokenizer& tokenizer
);

/// Fills in config.train.document_end, where the run separates documents and it is not known yet.
Result<> find_document_end(const TrainingText& text, run::RunConfig& config);

}  // namespace swarm::cli
