#include "swarm/cli/stack/served_question.hpp"

#include "stacking/models/model_digest.hpp"
#include "swarm/cli/stack/open_stack.hpp"

#include <algorithm>
#include <utility>

namespace swarm::cli {
namespace {

using stacking::sessions::SessionClient;

Result<SessionClient::Model> client_model(const stacking::models::ModelSource& source) {
    const Result<Digest> digest = stacking::models::identity_of(source);
    if (!digest) {
        return digest.error();
    }
    return SessionClient::Model{*digest, source.architecture().model.vocabulary};
}

Result<ServedQuestion> of_model(const GenerateOptions& options, Console& console) {
    Result<ModelQuestion> asked = read_model_question(options, console);
    if (!asked) {
        return asked.error();
    }
    const Result<SessionClient::Model> model = client_model(asked->model.source);
    if (!model) {
        return model.error();
    }
    return ServedQuestion{
        {*model}, {}, {options.model}, std::move(asked->tokenizer), std::move(asked->question)};
}

Result<ServedQuestion> of_stack(const GenerateOptions& options, Console& console) {
    auto stack = open_to_generate(options, console);
    if (!stack) {
        return stack.error();
    }
    if (stack->file().mode != stacking::stack::StackMode::Ensemble) {
        return Error{
            ErrorCode::Mismatch,
            Reaction::Reject,
            options.stack + " is a " + std::string(to_text(stack->file().mode)) +
                "; peers serve ensembles (leave out --join)"};
    }
    std::vector<SessionClient::Model> models;
    std::vector<node::StackMember> members;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < stack->file().members.size(); ++i) {
        if (stack->file().members[i].layers) {
            return Error{
                ErrorCode::Mismatch,
                Reaction::Reject,
                stack->file().members[i].model + " is a member with some of its layers; peers " +
                    "serve whole ones (leave out --join)"};
        }
        Result<SessionClient::Model> asked = client_model(stack->source(i));
        if (!asked) {
            return asked.error();
        }
        members.push_back({asked->digest, stack->file().members[i].prior});
        names.push_back(stack->file().members[i].model);
        const auto same = [&](const auto& model) { return model.digest == asked->digest; };
        if (std::ranges::none_of(models, same)) {
            models.push_back(*asked);
        }
    }
    Result<Question> question =
        read_question(options, stack->tokenizer(), stack->context(), stack->end_tokens(), console);
    if (!question) {
        return question.error();
    }
    return ServedQuestion{
        std::move(models),
        std::move(members),
        std::move(names),
        stack->take_tokenizer(),
        std::move(*question)};
}

}  // namespace

Result<ServedQuestion> read_served_question(const GenerateOptions& options, Console& console) {
    return options.stack.empty() ? of_model(options, console) : of_stack(options, console);
}

}  // namespace swarm::cli
