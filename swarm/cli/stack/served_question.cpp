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
    const auto& architecture = source.architecture();
    return SessionClient::Model{
        *digest, architecture.model.vocabulary, architecture.tied_embeddings};
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
        {*model}, {}, {}, {options.model}, std::move(asked->tokenizer), std::move(asked->question)};
}

Error mismatch(std::string what) {
    return {ErrorCode::Mismatch, Reaction::Reject, std::move(what)};
}

/// Whether peers can be asked for these members.
Result<> check_members(const OpenStack& stack, const std::string& name) {
    using stacking::stack::StackMode;
    const auto& file = stack.file();
    if (file.mode == StackMode::Bridge) {
        return mismatch(name + " is a bridge; peers serve ensembles and chains (leave out --join)");
    }
    for (std::size_t i = 0; i < file.members.size(); ++i) {
        if (file.mode == StackMode::Ensemble && file.members[i].layers) {
            return mismatch(
                file.members[i].model + " is a member with some of its layers; of an ensemble " +
                "peers serve whole ones (leave out --join)"
            );
        }
        const std::uint32_t width = stack.source(i).architecture().model.width;
        const std::uint32_t before =
            i == 0 ? width : stack.source(i - 1).architecture().model.width;
        if (file.mode == StackMode::Chain && width != before) {
            return mismatch(
                "width " + std::to_string(before) + " does not go into width " +
                std::to_string(width)
            );
        }
    }
    return {};
}

Result<ServedQuestion> of_stack(const GenerateOptions& options, Console& console) {
    auto stack = open_to_generate(options, console);
    if (!stack) {
        return stack.error();
    }
    if (const Result<> served = check_members(*stack, options.stack); !served) {
        return served.error();
    }
    const bool chain = stack->file().mode == stacking::stack::StackMode::Chain;
    std::vector<SessionClient::Model> models;
    std::vector<node::StackMember> members;
    std::vector<node::ChainMember> links;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < stack->file().members.size(); ++i) {
        const stacking::stack::StackMember& member = stack->file().members[i];
        Result<SessionClient::Model> asked = client_model(stack->source(i));
        if (!asked) {
            return asked.error();
        }
        if (chain) {
            auto& link = links.emplace_back();
            link.model = asked->digest;
            if (member.layers) {
                link.layers = {member.layers->first, member.layers->last + 1};
            }
        } else {
            members.push_back({asked->digest, member.prior});
            names.push_back(member.model);
        }
        const auto same = [&](const auto& model) { return model.digest == asked->digest; };
        if (std::ranges::none_of(models, same)) {
            models.push_back(*asked);
        }
    }
    if (chain) {
        names = {options.stack};
    }
    Result<Question> question =
        read_question(options, stack->tokenizer(), stack->context(), stack->end_tokens(), console);
    if (!question) {
        return question.error();
    }
    return ServedQuestion{
        std::move(models),
        std::move(members),
        std::move(links),
        std::move(names),
        stack->take_tokenizer(),
        std::move(*question)};
}

}  // namespace

Result<ServedQuestion> read_served_question(const GenerateOptions& options, Console& console) {
    return options.stack.empty() ? of_model(options, console) : of_stack(options, console);
}

}  // namespace swarm::cli
