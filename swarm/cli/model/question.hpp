// What is asked of a model or a stack: the prompt in its tokens, and where the answer ends.
// Threading: one thread. Errors: those of opening the model and of encoding; Mismatch, TooLarge
// (Reject) as answer.hpp.
#pragma once

#include "swarm/cli/console.hpp"
#include "swarm/cli/model/answer.hpp"
#include "swarm/cli/model/open_model.hpp"
#include "swarm/cli/options.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace swarm::cli {

struct Question {
    std::vector<stacking::TokenId> prompt;
    std::uint32_t tokens_max = 0;           // that the context leaves, and the options ask for
    std::vector<std::uint32_t> end_tokens;  // the answer ends at any of them
    std::string before;                     // what the text continues; empty: it is an answer
};

/// Warns when bytes of the prompt have no token.
Result<Question> read_question(
    const GenerateOptions& options,
    const stacking::tokenizers::ModelTokenizer& tokenizer,
    std::uint32_t context,
    const std::vector<std::uint32_t>& end_tokens,
    Console& console
);

/// A model's files, open, and what it is asked.
struct ModelQuestion {
    OpenModel model;
    stacking::tokenizers::ModelTokenizer tokenizer;
    Question question;
};

/// Of `options.model`.
Result<ModelQuestion> read_model_question(const GenerateOptions& options, Console& console);

}  // namespace swarm::cli
