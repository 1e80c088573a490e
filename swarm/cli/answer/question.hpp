// A question to a model or a stack: the prompt in tokens, and the tokens at which the answer ends.
// Threading: one thread. Errors: those of opening the model and of encoding; Mismatch and TooLarge
// (Reject) as in answer.hpp.
#pragma once

#include "swarm/cli/answer/answer.hpp"
#include "swarm/cli/answer/generate_options.hpp"
#include "swarm/cli/answer/open_model.hpp"
#include "swarm/cli/terminal/console.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace swarm::cli {

struct Question {
    std::vector<stacking::TokenId> prompt;
    std::uint32_t tokens_max = 0;           // bound that the options set, within the context
    std::vector<std::uint32_t> end_tokens;  // the answer ends at any of them
    std::string before;  // the text that is continued; empty: the text is an answer
};

/// Says so when an answer of `answered` tokens has ended because the model's context is full.
void tell_full_context(
    const Question& question, std::size_t answered, std::uint32_t wanted, Console& console
);

/// Warns when bytes of the prompt have no token.
Result<Question> read_question(
    const GenerateOptions& options,
    const stacking::tokenizers::ModelTokenizer& tokenizer,
    std::uint32_t context,
    const std::vector<std::uint32_t>& end_tokens,
    Console& console
);

/// The open files of a model, and the question to it.
struct ModelQuestion {
    OpenModel model;
    stacking::tokenizers::ModelTokenizer tokenizer;
    Question question;
};

/// Reads the question to `options.model`.
Result<ModelQuestion> read_model_question(const GenerateOptions& options, Console& console);

}  // namespace swarm::cli
