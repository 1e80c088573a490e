// What peers are asked: of which model, or which members of a stack, and the prompt in its tokens.
// Only headers and tokenizers are read here; the weights are the peers'.
// Threading: one thread. Errors: those of opening models, stack and tokenizer, and of
// read_question(); Mismatch (Reject): a stack that the gate refuses, a bridge that is not trained,
// and a chain or a bridge whose widths do not fit.
#pragma once

#include "stacking/sessions/session_client.hpp"
#include "stacking/tokenizers/model_tokenizer.hpp"
#include "swarm/cli/console.hpp"
#include "swarm/cli/model/question.hpp"
#include "swarm/cli/options.hpp"

#include <string>
#include <vector>

namespace swarm::cli {

struct ServedQuestion {
    std::vector<stacking::sessions::SessionClient::Model> models;  // each once
    std::vector<node::StackMember> members;                        // of an ensemble, else empty
    std::vector<node::ChainMember> chain;  // of a chain or a bridge, else empty
    std::vector<std::string> names;        // of the model, the members, or the stack, for people
    stacking::tokenizers::ModelTokenizer tokenizer;
    Question question;
};

Result<ServedQuestion> read_served_question(const GenerateOptions& options, Console& console);

}  // namespace swarm::cli
