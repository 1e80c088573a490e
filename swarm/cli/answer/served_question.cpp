#include "swarm/cli/answer/served_question.hpp"

#include "stacking/composition/bridged_input.hpp"
#include "stacking/models/model_digest.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/answer/open_stack.hpp"

#include <algorithm>
#include <utility>

namespace swarm::cli {
namespace {

using stacking::sessions::SessionClient;

Result<SessionClient::Model> client_model(const stacking::models::ModelSource& source) {
    SessionClient::Model model;
    SWARM_TRY(model.digest, stacking::models::identity_of(source));
    const auto& architecture = source.architecture();
    model.vocabulary = architecture.model.vocabulary;
    model.tied = architecture.tied_embeddings;
    model.layers = architecture.model.layers;
    return model;
}

Result<ServedModel> of_model(const GenerateOptions& options) {
    SWARM_TRY(const OpenModel opened, open_model(options.model));
    SWARM_TRY(auto tokenizer, open_tokenizer(opened));
    SWARM_TRY(SessionClient::Model model, client_model(opened.source));
    model.digests = options.digests;
    const auto& architecture = opened.source.architecture();
    return ServedModel{
        {model},
        {},
        {},
        {},
        {options.model},
        std::move(tokenizer),
        architecture.model.context,
        architecture.end_tokens};
}

Error mismatch(std::string what) {
    return {ErrorCode::Mismatch, Reaction::Reject, std::move(what)};
}

/// Peers that serve layers have the embedding only with the first one of a model, or, where it is
/// tied, with the last one.
Result<> check_beginning(const OpenStack& stack) {
    const auto& first = stack.file().members.front();
    const auto& architecture = stack.source(0).architecture();
    const bool in_chain = stack.file().mode == stacking::composition::StackMode::Chain;
    if (!in_chain || !first.layers || first.layers->first == 0) {
        return {};
    }
    if (architecture.tied_embeddings && first.layers->last + 1 == architecture.model.layers) {
        return {};
    }
    return mismatch(
        member_text(first) +
        " begins the chain without the layer 0, whose peers have the embedding (leave out --join)"
    );
}

/// Checks that peers can be asked for these members.
Result<> check_members(const OpenStack& stack, const std::string& name) {
    using stacking::composition::StackMode;
    const auto& file = stack.file();
    if (file.mode == StackMode::Bridge && file.bridge.empty()) {
        return mismatch(
            name + " has no trained bridge that peers could serve; see `swarm stack train`"
        );
    }
    SWARM_TRY(check_beginning(stack));
    for (std::size_t i = 0; i < file.members.size(); ++i) {
        if (file.mode != StackMode::Chain && file.members[i].layers) {
            return mismatch(
                file.members[i].model + " is a member with some of its layers; but in a chain " +
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

/// Gives the second member of a bridge the name under which its peers serve it.
Result<> put_behind_bridge(const OpenStack& stack, SessionClient::Model& model) {
    SWARM_TRY(const auto bridge, stack.bridge());
    const auto width = [&](std::size_t i) { return stack.source(i).architecture().model.width; };
    if (bridge.inputs() != width(0) || bridge.outputs() != width(1)) {
        return mismatch(
            "the bridge leads from width " + std::to_string(bridge.inputs()) + " to " +
            std::to_string(bridge.outputs()) + "; the members have widths " +
            std::to_string(width(0)) + " and " + std::to_string(width(1))
        );
    }
    model.digest = stacking::composition::identity_over(model.digest, bridge);
    model.name += " over " + stack.file().bridge;
    return {};
}

Result<ServedModel> of_stack(const GenerateOptions& options, Console& console) {
    SWARM_TRY(OpenStack stack, open_to_generate(options, console));
    SWARM_TRY(check_members(stack, options.stack));
    const auto mode = stack.file().mode;
    const std::size_t last = stack.file().members.size() - 1;
    if (mode == stacking::composition::StackMode::Chain &&
        ends_before_head(stack.file().members[last], stack.source(last).architecture())) {
        console.warn(
            member_text(stack.file().members[last]) +
            " ends before its model's head: its peers need `swarm serve --exits`"
        );
    }
    const bool ensemble = mode == stacking::composition::StackMode::Ensemble;
    std::vector<SessionClient::Model> models;
    std::vector<node::StackMember> members;
    std::vector<node::ChainMember> links;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < stack.file().members.size(); ++i) {
        const stacking::composition::StackMember& member = stack.file().members[i];
        SWARM_TRY(SessionClient::Model asked, client_model(stack.source(i)));
        asked.name = member.model;
        const bool bridged = mode == stacking::composition::StackMode::Bridge && i > 0;
        if (bridged) {
            SWARM_TRY(put_behind_bridge(stack, asked));
        }
        if (!ensemble) {
            auto& link = links.emplace_back();
            link.bridged = bridged;
            link.model = asked.digest;
            if (member.layers) {
                link.layers = {member.layers->first, member.layers->last + 1};
            }
        } else {
            members.push_back({asked.digest, member.prior});
            names.push_back(member.model);
        }
        const auto same = [&](const auto& model) { return model.digest == asked.digest; };
        if (std::ranges::none_of(models, same)) {
            models.push_back(asked);
        }
    }
    if (!ensemble) {
        names = {options.stack};
    }
    const std::uint32_t context = stack.context();
    const std::vector<std::uint32_t> end_tokens = stack.end_tokens();
    return ServedModel{
        std::move(models),
        std::move(members),
        stack.priors(),
        std::move(links),
        std::move(names),
        stack.take_tokenizer(),
        context,
        end_tokens};
}

}  // namespace

Result<ServedModel> open_served_model(const GenerateOptions& options, Console& console) {
    return options.stack.empty() ? of_model(options) : of_stack(options, console);
}

ChosenMembers choose_members(
    const std::vector<node::StackMember>& members,
    const MemberPriors& priors,
    std::span<const stacking::TokenId> beginning,
    const stacking::tokenizers::ModelTokenizer& tokenizer
) {
    ChosenMembers chosen;
    if (members.empty()) {
        return chosen;
    }
    const auto counts = priors.of_text(beginning, tokenizer);
    for (std::uint32_t member = 0; member < members.size(); ++member) {
        if (counts[member] > 0) {
            chosen.members.push_back({members[member].model, counts[member]});
            chosen.places.push_back(member);
        }
    }
    return chosen;
}

Result<ServedQuestion> read_served_question(const GenerateOptions& options, Console& console) {
    SWARM_TRY(ServedModel served, open_served_model(options, console));
    SWARM_TRY(
        Question question,
        read_question(options, served.tokenizer, served.context, served.end_tokens, console)
    );
    return ServedQuestion{std::move(served), std::move(question)};
}

}  // namespace swarm::cli
