// A model or the members of a stack that peers serve, and a question to them: the prompt in tokens.
// Only headers and tokenizers are read here; the peers have the weights.
// Threading: one thread. Errors: those of opening models, stack and tokenizer, and of
// read_question(); Mismatch (Reject): a stack that the gate refuses, a bridge that is not trained,
// and a chain or a bridge whose widths do not fit.
#pragma once

#include "stacking/sessions/session_client.hpp"
#include "stacking/tokenizers/model_tokenizer.hpp"
#include "swarm/cli/answer/member_priors.hpp"
#include "swarm/cli/answer/question.hpp"
#include "swarm/cli/terminal/console.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace swarm::cli {

struct ServedModel {
    std::vector<stacking::sessions::SessionClient::Model> models;  // each model once
    std::vector<node::StackMember> members;  // those of an ensemble, else empty
    MemberPriors priors;                     // those of an ensemble's members, by the text
    std::vector<node::ChainMember> chain;    // those of a chain or a bridge, else empty
    std::vector<std::string> names;  // names of the model, the members, or the stack, for people
    stacking::tokenizers::ModelTokenizer tokenizer;
    std::uint32_t context = 0;              // positions that all members can read
    std::vector<std::uint32_t> end_tokens;  // a text ends at any of them
};

struct ChosenMembers {
    std::vector<node::StackMember> members{};  // with what each counts
    std::vector<std::uint32_t> places{};       // theirs among all members
};

/// Returns those members of an ensemble that a text needs which begins so; none of one model.
/// REQUIRES: the priors are those of `members`.
ChosenMembers choose_members(
    const std::vector<node::StackMember>& members,
    const MemberPriors& priors,
    std::span<const stacking::TokenId> beginning,
    const stacking::tokenizers::ModelTokenizer& tokenizer
);

struct ServedQuestion {
    ServedModel served;
    Question question;
};

/// Opens `options.model` or `options.stack`.
Result<ServedModel> open_served_model(const GenerateOptions& options, Console& console);

Result<ServedQuestion> read_served_question(const GenerateOptions& options, Console& console);

}  // namespace swarm::cli
