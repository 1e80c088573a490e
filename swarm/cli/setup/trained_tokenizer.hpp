// Tokenizers that are trained on the text of a run or of a data set, by their names in its file.
// Invariant: the same text and name give the same tokenizer.
// Threading: pure function. Errors (Reject): those of SentencePiece::train() and train_bpe(); Usage
// for a name that is neither spm:N nor bpe:N. Cost: seconds for 4 MB.
#pragma once

#include "stacking/tokenizers/model_tokenizer.hpp"
#include "swarm/base/result.hpp"

#include <string>
#include <string_view>

namespace swarm::cli {

Result<stacking::tokenizers::ModelTokenizer> train_tokenizer(
    std::string_view text, const std::string& name
);

}  // namespace swarm::cli
