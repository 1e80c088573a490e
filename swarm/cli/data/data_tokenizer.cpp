#include "swarm/cli/data/data_tokenizer.hpp"

#include "stacking/tokenizers/merges/bpe_trainer.hpp"
#include "stacking/tokenizers/model_tokenizer.hpp"
#include "stacking/tokenizers/tokenizer_file.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/answer/open_model.hpp"
#include "swarm/cli/common/files.hpp"
#include "swarm/cli/setup/document_end.hpp"
#include "swarm/cli/setup/trained_tokenizer.hpp"
#include "swarm/cli/terminal/usage.hpp"
#include "swarm/data/build.hpp"
#include "swarm/run/training/tokenizer_names.hpp"

#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace swarm::cli {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<std::uint32_t>;
using stacking::tokenizers::ModelTokenizer;
using stacking::tokenizers::SentencePiece;
using stacking::tokenizers::SpecialTokens;

constexpr std::string_view kPieces = "spm:";
constexpr std::uint32_t kByteTokens = 256;

DataTokenizer byte_tokenizer() {
    DataTokenizer made;
    constexpr std::string_view kName = "bytes";
    made.encoder = {std::string(kName), sha256(std::as_bytes(std::span(kName))), kByteTokens};
    made.encoder.encode = [](std::string_view text, data::TextPlace) {
        Ids ids(text.size());
        for (std::size_t i = 0; i < text.size(); ++i) {
            ids[i] = static_cast<unsigned char>(text[i]);
        }
        return Result<Ids>(std::move(ids));
    };
    made.decode = [](std::span<const std::uint32_t> ids) {
        std::string text;
        for (const std::uint32_t id : ids) {
            text.push_back(static_cast<char>(id));
        }
        return Result<std::string>(std::move(text));
    };
    return made;
}

/// A document is a text of others: names of special tokens in it are text.
DataTokenizer model_tokenizer(
    const std::string& name, const std::shared_ptr<const ModelTokenizer>& own
) {
    DataTokenizer made;
    made.encoder = {name, stacking::tokenizers::vocabulary_digest(*own), own->size()};
    made.encoder.file = stacking::tokenizers::make_tokenizer_file(*own);
    const auto words = std::make_shared<stacking::tokenizers::WordCache>();
    made.encoder.encode = [own, words](std::string_view text, data::TextPlace place) {
        return place == data::TextPlace::Begin
                   ? own->encode_beginning(text, SpecialTokens::AsText, words.get())
                   : own->encode(text, SpecialTokens::AsText, words.get());
    };
    made.decode = [own](std::span<const std::uint32_t> ids) { return own->decode(ids); };
    made.own = own;
    return made;
}

/// A path that exists below the folder, or as it is.
std::string found_below(const std::string& path, const fs::path& folder) {
    std::error_code ignored;
    return fs::exists(folder / path, ignored) ? (folder / path).string() : path;
}

Result<std::uint32_t> token_of(
    const std::string& text, const DataTokenizer& tokenizer, const ModelTokenizer* own
) {
    if (own != nullptr) {
        for (const auto& special : own->special_tokens()) {
            if (special.name == text) {
                return special.id;
            }
        }
    }
    SWARM_TRY(const Ids ids, tokenizer.encoder.encode(text, data::TextPlace::Within));
    if (ids.size() != 1) {
        return usage(
            "end_token: \"" + text + "\" is no token of " + tokenizer.encoder.name +
            "; name one of its tokens, or an id"
        );
    }
    return ids.front();
}

using Model = std::shared_ptr<const ModelTokenizer>;

Result<Model> read_pieces(const std::string& path) {
    SWARM_TRY(auto file, read_file(path, SentencePiece::kFileBytesMax));
    auto pieces = SentencePiece::parse(std::move(file));
    if (!pieces) {
        const Error& error = pieces.error();
        return Error{error.code, error.reaction, path + ": " + error.detail};
    }
    return std::make_shared<const ModelTokenizer>(*std::move(pieces));
}

Result<Model> train_model(const std::string& name, const TakeSample& sample) {
    SWARM_TRY(const std::string text, sample(stacking::tokenizers::kTrainingTextBytesMax));
    auto trained = train_tokenizer(text, name);
    if (!trained) {
        const Error& error = trained.error();
        return Error{error.code, error.reaction, "the tokenizer " + name + ": " + error.detail};
    }
    return std::make_shared<const ModelTokenizer>(*std::move(trained));
}

}  // namespace

Result<DataTokenizer> open_data_tokenizer(
    const std::string& name,
    const data::EndToken& end_token,
    const fs::path& folder,
    const TakeSample& sample
) {
    DataTokenizer made;
    Model own;
    std::optional<std::uint32_t> usual_end;
    if (name == "bytes") {
        made = byte_tokenizer();
        usual_end = 0;
    } else if (run::trained_tokens(name)) {
        SWARM_TRY(own, train_model(name, sample));
        made = model_tokenizer(name, own);
        SWARM_TRY(usual_end, trained_document_end(*own));
    } else if (name.starts_with(kPieces)) {
        SWARM_TRY(own, read_pieces(found_below(name.substr(kPieces.size()), folder)));
        made = model_tokenizer(name, own);
        SWARM_TRY(usual_end, trained_document_end(*own));
    } else {
        SWARM_TRY(const OpenModel model, open_model(found_below(name, folder)));
        SWARM_TRY(auto tokenizer, open_tokenizer(model));
        own = std::make_shared<const ModelTokenizer>(std::move(tokenizer));
        made = model_tokenizer(name, own);
        const auto& ends = model.source.architecture().end_tokens;
        made.ends = ends;
        SWARM_TRY(usual_end, trained_document_end(*own));
        usual_end = ends.empty() ? usual_end : std::optional(ends.front());
    }
    if (const auto* const text = std::get_if<std::string>(&end_token)) {
        SWARM_TRY(made.encoder.end_token, token_of(*text, made, own.get()));
    } else if (const auto* const id = std::get_if<std::uint32_t>(&end_token)) {
        made.encoder.end_token = *id;  // the build compares it with the vocabulary
    } else if (usual_end) {
        made.encoder.end_token = *usual_end;
    } else {
        return usage("end_token: the model " + name + " names none; name one in the data file");
    }
    return made;
}

Result<DataTokenizer> open_kept_tokenizer(
    const fs::path& folder, const std::string& name, std::uint32_t end_token
) {
    DataTokenizer made = byte_tokenizer();
    if (name != made.encoder.name) {
        const fs::path path = folder / data::kTokenizerName;
        SWARM_TRY(auto file, read_file(path, SentencePiece::kFileBytesMax));
        auto parsed = stacking::tokenizers::parse_tokenizer_file(std::move(file));
        if (!parsed) {
            const Error& error = parsed.error();
            return Error{error.code, error.reaction, path.string() + ": " + error.detail};
        }
        made = model_tokenizer(name, std::make_shared<const ModelTokenizer>(*std::move(parsed)));
    }
    made.encoder.end_token = end_token;
    return made;
}

}  // namespace swarm::cli
