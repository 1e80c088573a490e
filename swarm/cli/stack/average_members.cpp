#include "swarm/cli/stack/average_members.hpp"

#include "stacking/models/averages/model_difference.hpp"
#include "swarm/base/check.hpp"
#include "swarm/base/durable_folder.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/answer/model_folder.hpp"
#include "swarm/cli/answer/open_model.hpp"
#include "swarm/cli/terminal/printable.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

namespace swarm::cli {
namespace {

using stacking::models::ModelSource;
using stacking::tokenizers::ModelTokenizer;

constexpr const char* kAnotherFolder = "choose another folder";

Error unlike(const std::string& first, const std::string& second, const std::string& what) {
    return {
        ErrorCode::Mismatch,
        Reaction::Reject,
        first + " and " + second + " differ in " + what +
            "; such models have one architecture and one tokenizer"};
}

/// An error that does not name the member yet.
Error named(const std::string& name, const Error& error) {
    const bool names = error.detail.find(name) != std::string::npos;
    return {error.code, error.reaction, names ? error.detail : name + ": " + error.detail};
}

std::string tokens_in_words(const ModelTokenizer& first, const ModelTokenizer& second) {
    if ((first.bpe() == nullptr) != (second.bpe() == nullptr)) {
        const char* const kinds =
            first.bpe() == nullptr ? "SentencePiece and BPE" : "BPE and SentencePiece";
        return std::string("their tokenizers: ") + kinds;
    }
    if (first.size() != second.size()) {
        return "their tokenizers: " + std::to_string(first.size()) + " and " +
               std::to_string(second.size()) + " tokens";
    }
    return "the tokens of their tokenizers";
}

}  // namespace

std::uint32_t AverageMembers::context() const {
    std::uint32_t least = models.front()->architecture().model.context;
    for (const auto& model : models) {
        least = std::min(least, model->architecture().model.context);
    }
    return least;
}

Result<ModelSource> AverageMembers::average(
    std::span<const std::size_t> chosen, std::span<const double> weights
) const {
    SWARM_ASSERT(chosen.size() == weights.size());
    std::vector<stacking::models::AveragePart> parts;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
        parts.push_back({models[chosen[i]], weights[i]});
    }
    return average_of(std::move(parts));
}

Result<> AverageMembers::write(
    const ModelSource& model, const std::string& folder, Console& console
) const {
    SWARM_TRY(DurableFolder written, DurableFolder::begin(folder, kAnotherFolder));
    SWARM_TRY(write_model_folder(model, &tokenizer, written.draft(), console));
    SWARM_TRY(written.finish());
    console.settle();
    std::printf("%s\n", printable(folder).c_str());
    return {};
}

Result<AverageMembers> open_members(const std::vector<std::string>& names) {
    std::vector<std::shared_ptr<const ModelSource>> models;
    std::optional<ModelTokenizer> tokenizer;
    for (const std::string& name : names) {
        Result<OpenModel> model = open_model(name);
        if (!model) {
            return named(name, model.error());
        }
        if (!models.empty()) {
            const auto& first = models.front()->architecture();
            if (const auto found = difference_of(first, model->source.architecture())) {
                return unlike(
                    names.front(), name, found->what + ": " + found->first + " and " + found->second
                );
            }
        }
        Result<ModelTokenizer> own = open_tokenizer(*model);
        if (!own) {
            return named(name, own.error());
        }
        if (tokenizer && !own->has_tokens_of(*tokenizer)) {
            return unlike(names.front(), name, tokens_in_words(*tokenizer, *own));
        }
        if (!tokenizer) {
            tokenizer = std::move(*own);
        }
        models.push_back(std::make_shared<const ModelSource>(std::move(model->source)));
    }
    SWARM_ASSERT(tokenizer.has_value());
    return AverageMembers{names, std::move(models), std::move(*tokenizer)};
}

}  // namespace swarm::cli
