#include "swarm/cli/setup/document_end.hpp"

#include "stacking/tokenizers/merges/bpe_trainer.hpp"
#include "stacking/tokenizers/model_tokenizer.hpp"
#include "stacking/tokenizers/tokenizer_file.hpp"
#include "swarm/base/try.hpp"

#include <string>
#include <vector>

namespace swarm::cli {
namespace {

constexpr const char* kAdvice =
    "; name it as train.document_end, or leave train.separate_documents out";

/// A chat whose turns end like a document would be cut at each of them.
Result<std::optional<std::uint32_t>> end_of_data(const data::Manifest& manifest) {
    for (const data::ManifestSource& source : manifest.sources) {
        if (source.has_inner_ends) {
            return Error{
                ErrorCode::Mismatch,
                Reaction::Reject,
                "source " + source.name + " has token " + std::to_string(manifest.end_token) +
                    ", which ends its documents, within chats, too; build the data with another "
                    "end_token, or leave train.separate_documents out"};
        }
    }
    return std::optional(manifest.end_token);
}

/// The end that the text itself says.
Result<std::optional<std::uint32_t>> end_of_text(
    const TrainingText& text, const run::RunConfig& config
) {
    if (text.rows) {
        return end_of_data(text.rows->data().manifest());
    }
    if (!config.model.end_tokens.empty()) {
        return std::optional(config.model.end_tokens.front());
    }
    if (text.tokenizer.empty()) {
        return std::optional<std::uint32_t>();
    }
    SWARM_TRY(const auto tokenizer, stacking::tokenizers::parse_tokenizer_file(text.tokenizer));
    return trained_document_end(tokenizer);
}

}  // namespace

Result<std::optional<std::uint32_t>> trained_document_end(
    const stacking::tokenizers::ModelTokenizer& tokenizer
) {
    using stacking::tokenizers::SpecialTokens;
    if (tokenizer.pieces() != nullptr) {
        SWARM_TRY(
            const std::vector<std::uint32_t> ids,
            tokenizer.encode(std::string_view("\0", 1), SpecialTokens::AsText)
        );
        return ids.size() == 1 ? std::optional(ids.front()) : std::nullopt;
    }
    for (const auto& special : tokenizer.special_tokens()) {
        if (special.name == stacking::tokenizers::kTrainedEndToken) {
            return std::optional(special.id);
        }
    }
    return std::optional<std::uint32_t>();
}

Result<> find_document_end(const TrainingText& text, run::RunConfig& config) {
    std::vector<std::uint32_t>& known = config.train.document_end;
    if (!config.train.separate_documents || (!known.empty() && !text.rows)) {
        return {};
    }
    SWARM_TRY(const auto end, end_of_text(text, config));
    if (!end) {
        return Error{
            ErrorCode::Usage,
            Reaction::Reject,
            std::string("nothing says which token ends a document of this text") + kAdvice};
    }
    if (!known.empty() && known.front() != *end) {
        return Error{
            ErrorCode::Mismatch,
            Reaction::Reject,
            "train.document_end is " + std::to_string(known.front()) +
                ", the documents of the data end with token " + std::to_string(*end) +
                "; leave train.document_end out"};
    }
    known = {*end};
    return {};
}

}  // namespace swarm::cli
