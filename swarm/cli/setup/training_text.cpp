#include "swarm/cli/setup/training_text.hpp"

#include "stacking/tokenizers/model_tokenizer.hpp"
#include "stacking/tokenizers/tokenizer_file.hpp"
#include "stages/files/checkpoint.hpp"
#include "swarm/base/digest.hpp"
#include "swarm/base/token_flags.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/common/files.hpp"
#include "swarm/cli/setup/document_end.hpp"
#include "swarm/cli/setup/trained_tokenizer.hpp"
#include "swarm/data/build.hpp"
#include "swarm/data/utf8.hpp"
#include "swarm/run/training/tokenizer_names.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace swarm::cli {
namespace {

namespace fs = std::filesystem;
using stacking::tokenizers::ModelTokenizer;
using stacking::tokenizers::SpecialTokens;

constexpr std::uint64_t kCorpusBytesMax = 16ULL << 30;
constexpr std::string_view kTokenPerByte = "bytes";
constexpr const char* kDemoCorpus = "austen.txt";
constexpr std::size_t kEncodedAtOnce = 1U << 20;
constexpr std::size_t kHashedAtOnce = 1U << 20;

Error rejected(ErrorCode code, std::string detail) {
    return {code, Reaction::Reject, std::move(detail)};
}

/// Writes the digest of the corpus to the configuration, or compares it with the one that is there.
Result<> pin_corpus(const std::string& digest, run::RunConfig& config, const fs::path& path) {
    const std::string wanted = std::exchange(config.corpus_sha256, digest);
    if (wanted.empty() || wanted == digest) {
        return {};
    }
    config.corpus_sha256 = wanted;
    return rejected(
        ErrorCode::Mismatch,
        "the corpus " + path.string() + " is not the text of run.corpus_sha256: its SHA-256 is " +
            digest + ", not " + wanted +
            "; name the right one with --corpus FILE, or leave run.corpus_sha256 out"
    );
}

Result<std::string> read_corpus(run::RunConfig& config, const fs::path& path) {
    Result<std::string> text = read_file(path, kCorpusBytesMax);
    if (text) {
        SWARM_TRY(pin_corpus(to_hex(sha256(std::as_bytes(std::span(*text)))), config, path));
        return text;
    }
    const bool own = !config.corpus.empty();
    return rejected(
        text.error().code,
        "no text to train on: " + text.error().detail +
            (own ? "; name another one with --corpus FILE"
                 : "; `./swarm.sh build` puts it there, or name one with --corpus FILE")
    );
}

/// Takes at most kEncodedAtOnce bytes from the front: whole lines, or else whole characters.
std::string_view take_piece(std::string_view& rest) {
    const std::size_t end =
        rest.size() > kEncodedAtOnce ? data::piece_end(rest, kEncodedAtOnce) : rest.size();
    const std::string_view piece = rest.substr(0, end);
    rest.remove_prefix(end);
    return piece;
}

Result<run::Corpus> tokens_of(std::string_view text, const ModelTokenizer& tokenizer) {
    run::Corpus corpus;
    while (!text.empty()) {
        SWARM_TRY(const auto ids, tokenizer.encode(take_piece(text), SpecialTokens::AsText));
        corpus.insert(corpus.end(), ids.begin(), ids.end());
    }
    return corpus;
}

run::Corpus bytes_of(std::string_view text) {
    run::Corpus corpus;
    corpus.reserve(text.size());
    for (const char letter : text) {
        corpus.push_back(static_cast<unsigned char>(letter));
    }
    return corpus;
}

/// A tokenizer and the bytes of its file.
struct UsedTokenizer {
    ModelTokenizer tokenizer;
    std::string file;
};

Result<UsedTokenizer> use_new_tokenizer(const std::string& text, const std::string& name) {
    SWARM_TRY(ModelTokenizer made, cli::train_tokenizer(text, name));
    std::string file = stacking::tokenizers::make_tokenizer_file(made);
    return UsedTokenizer{std::move(made), std::move(file)};
}

Result<UsedTokenizer> read_tokenizer(std::string file) {
    SWARM_TRY(ModelTokenizer made, stacking::tokenizers::parse_tokenizer_file(file));
    return UsedTokenizer{std::move(made), std::move(file)};
}

/// Writes the digest of the tokenizer's file to the configuration, or compares it with the one that
/// is there; `otherwise` says that they differ.
Result<> pin_tokenizer(
    const UsedTokenizer& used, run::RunConfig& config, const std::string& otherwise
) {
    const std::string digest = to_hex(sha256(std::as_bytes(std::span(used.file))));
    const std::optional<std::uint32_t> tokens = run::trained_tokens(config.tokenizer);
    const std::string& wanted = config.tokenizer_sha256;
    const bool fits = tokens ? used.tokenizer.size() == *tokens
                             : used.tokenizer.size() <= config.model.vocabulary;
    if (!fits || (!wanted.empty() && digest != wanted)) {
        return rejected(ErrorCode::Mismatch, otherwise);
    }
    config.tokenizer_sha256 = digest;
    return {};
}

/// Reads the tokenizer from the bytes of its file, or trains a new one when they are empty. Writes
/// the digest of the file to `config`, or compares it.
Result<UsedTokenizer> make_tokenizer(
    const std::string& text, std::string file, run::RunConfig& config
) {
    const bool trained = file.empty();
    if (trained && !run::trained_tokens(config.tokenizer)) {
        return rejected(ErrorCode::NotFound, "the run has no tokenizer; run.init is not read yet");
    }
    auto made =
        trained ? use_new_tokenizer(text, config.tokenizer) : read_tokenizer(std::move(file));
    if (!made) {
        return rejected(made.error().code, config.tokenizer + ": " + made.error().detail);
    }
    SWARM_TRY(pin_tokenizer(
        *made,
        config,
        trained ? "the corpus gives another tokenizer than run.tokenizer_sha256; it is another "
                  "text, or another version of its library"
                : "the file of the tokenizer is not the run's; each of its checkpoints has a copy"
    ));
    return made;
}

/// Tells which tokenizer the run needs; one of spm:FILE is that of a run with spm:N.
std::string tokenizer_advice(const data::Manifest& manifest) {
    const std::string& name = manifest.tokenizer;
    if (name == kTokenPerByte || run::trained_tokens(name)) {
        return "; add --tokenizer " + name;
    }
    return name.starts_with("spm:") ? "; add --tokenizer spm:" + std::to_string(manifest.vocabulary)
                                    : "; begin with that model: --init " + name;
}

/// Returns the file of the tokenizer with which a folder was built; empty: a token is a byte.
/// `given`: that of the run, where it has one.
Result<std::string> tokenizer_of(
    const DataRows& rows, const fs::path& folder, std::string given, run::RunConfig& config
) {
    const data::Manifest& manifest = rows.data().manifest();
    const std::string built =
        folder.string() + " was built with the tokenizer " + manifest.tokenizer;
    const bool by_file = run::has_tokenizer_file(config.tokenizer);
    if (!by_file || manifest.tokenizer == kTokenPerByte) {
        if (by_file || manifest.tokenizer != kTokenPerByte) {
            return rejected(
                ErrorCode::Mismatch,
                built + "; run.tokenizer is " + config.tokenizer + tokenizer_advice(manifest)
            );
        }
        return std::string();
    }
    if (given.empty()) {
        SWARM_TRY(given, read_file(folder / data::kTokenizerName, stages::kTokenizerBytesMax));
    }
    SWARM_TRY(const UsedTokenizer used, read_tokenizer(std::move(given)));
    if (stacking::tokenizers::vocabulary_digest(used.tokenizer) != manifest.tokenizer_digest) {
        return rejected(
            ErrorCode::Mismatch, built + ", which is not that of the run; build it with that one"
        );
    }
    SWARM_TRY(pin_tokenizer(used, config, built + ", which is not " + config.tokenizer));
    return used.file;
}

Result<TrainingText> load_folder(
    run::RunConfig& config, const fs::path& folder, std::string tokenizer
) {
    TrainingText made;
    SWARM_TRY(made.rows, DataRows::open(folder, config));
    SWARM_TRY(pin_corpus(to_hex(made.rows->data().digest()), config, folder));
    SWARM_TRY(made.tokenizer, tokenizer_of(*made.rows, folder, std::move(tokenizer), config));
    SWARM_TRY(made.rows->data().check_fits(config.model.vocabulary));
    made.tokens = made.rows->tokens();
    made.bytes = made.rows->text_bytes();
    SWARM_TRY(find_document_end(made, config));
    return made;
}

Error bad_held_out(ErrorCode code, const fs::path& path, const std::string& what) {
    return rejected(code, "the held-out text " + path.string() + " " + what);
}

Result<> check_held_out(
    const run::RunConfig& config, const fs::path& path, std::span<const std::uint32_t> tokens
) {
    if (tokens.size() <= config.model.context) {
        return bad_held_out(
            ErrorCode::Malformed,
            path,
            "has " + std::to_string(tokens.size()) + " tokens; one window has " +
                std::to_string(config.model.context + 1)
        );
    }
    const std::uint32_t largest = token_id(*std::ranges::max_element(tokens, {}, token_id));
    if (largest >= config.model.vocabulary) {
        return bad_held_out(
            ErrorCode::Mismatch,
            path,
            "has the token " + std::to_string(largest) + ", and model.vocabulary is " +
                std::to_string(config.model.vocabulary)
        );
    }
    return {};
}

/// Returns the size of the text behind the counted targets of all rows; `tokenizer`: null: a token
/// is a byte.
Result<std::uint64_t> target_bytes(
    const run::RunConfig& config,
    std::span<const std::uint32_t> tokens,
    const ModelTokenizer* tokenizer
) {
    const std::size_t row = std::size_t{config.model.context} + 1;
    std::uint64_t bytes = 0;
    for (; !tokens.empty(); tokens = tokens.subspan(row)) {
        std::vector<std::uint32_t> targets;  // those that count for the loss
        std::ranges::copy_if(
            tokens.first(row).subspan(1), std::back_inserter(targets), counts_for_loss
        );
        if (tokenizer == nullptr) {
            bytes += targets.size();
            continue;
        }
        SWARM_TRY(const std::string text, tokenizer->decode(targets));
        bytes += text.size();
    }
    return bytes;
}

Result<std::vector<std::uint32_t>> read_held_out_folder(
    run::RunConfig config, const fs::path& folder, const std::string& tokenizer
) {
    config.seed = 0;  // the rows of an evaluation are the same in all runs
    SWARM_TRY(const auto rows, DataRows::open(folder, config));
    SWARM_TRY(tokenizer_of(*rows, folder, tokenizer, config));
    const std::size_t row = std::size_t{config.model.context} + 1;
    std::vector<std::uint32_t> tokens;
    for (const std::uint64_t number : run::held_out_windows(config, rows->samples().per_epoch())) {
        tokens.resize(tokens.size() + row);
        rows->read(number, std::span(tokens).last(row));
    }
    if (rows->failure()) {
        return *rows->failure();
    }
    return tokens;
}

Result<std::vector<std::uint32_t>> read_held_out_text(
    const run::RunConfig& config, const fs::path& path, const ModelTokenizer* tokenizer
) {
    Result<std::string> text = read_file(path, kCorpusBytesMax);
    if (!text) {
        return rejected(text.error().code, "no held-out text: " + text.error().detail);
    }
    run::Corpus corpus = bytes_of(*text);
    if (tokenizer != nullptr) {
        SWARM_TRY(corpus, tokens_of(*text, *tokenizer));
    }
    SWARM_TRY(check_held_out(config, path, corpus));
    return run::held_out_tokens(config, corpus);
}

std::string last_name(const fs::path& path) {
    const fs::path plain = path.lexically_normal();
    return (plain.has_filename() ? plain : plain.parent_path()).filename().string();
}

/// The name of the file or folder, or the whole path where two have the same name.
std::string held_out_name(const std::vector<fs::path>& paths, std::size_t number) {
    const std::string name = last_name(paths[number]);
    const auto same = std::ranges::count_if(paths, [&](const fs::path& other) {
        return last_name(other) == name;
    });
    return same == 1 ? name : paths[number].string();
}

}  // namespace

Result<std::vector<run::HeldOutText>> load_held_out(
    const run::RunConfig& config, const std::vector<fs::path>& paths, const std::string& tokenizer
) {
    std::optional<UsedTokenizer> used;
    if (!tokenizer.empty() && !paths.empty()) {
        SWARM_TRY(used, read_tokenizer(tokenizer));
    }
    const ModelTokenizer* const by_file = used ? &used->tokenizer : nullptr;
    std::vector<run::HeldOutText> texts;
    for (std::size_t i = 0; i < paths.size(); ++i) {
        run::HeldOutText text{held_out_name(paths, i), {}, 0};
        if (is_data_folder(paths[i])) {
            SWARM_TRY(text.tokens, read_held_out_folder(config, paths[i], tokenizer));
        } else {
            SWARM_TRY(text.tokens, read_held_out_text(config, paths[i], by_file));
        }
        SWARM_TRY(check_held_out(config, paths[i], text.tokens));
        SWARM_TRY(text.bytes, target_bytes(config, text.tokens, by_file));
        texts.push_back(std::move(text));
    }
    return texts;
}

CorpusFile find_corpus(const std::string& corpus, const fs::path& folder) {
    if (corpus.empty()) {
        const fs::path fetched = cache_folder() / "corpus" / kDemoCorpus;
        const fs::path installed = program_folder() / kDemoCorpus;
        std::error_code ignored;
        return {fs::exists(installed, ignored) ? installed : fetched, {}};
    }
    const fs::path beside = folder / corpus;  // an absolute path stays as it is
    std::error_code ignored;
    if (beside == corpus || fs::exists(beside, ignored) || !fs::exists(corpus, ignored)) {
        return {beside, {}};
    }
    return {
        corpus,
        "the corpus " + corpus + " is not in " + folder.string() +
            ", the folder of the run file; taking " + fs::absolute(corpus).string() +
            " from the current folder"};
}

Result<std::string> digest_of_file(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    std::vector<char> piece(kHashedAtOnce);
    Sha256 hash;
    while (in.read(piece.data(), static_cast<std::streamsize>(piece.size())) || in.gcount() > 0) {
        hash.add(std::as_bytes(std::span(piece)).first(static_cast<std::size_t>(in.gcount())));
    }
    if (!in.eof()) {
        return rejected(ErrorCode::NotFound, "cannot read " + path.string());
    }
    return to_hex(hash.finish());
}

Result<TrainingText> load_text(run::RunConfig& config, std::string tokenizer) {
    if (config.model.kind == run::ModelKind::Oracle) {
        return TrainingText{};
    }
    const fs::path path = find_corpus(config.corpus, {}).path;
    if (is_data_folder(path)) {
        return load_folder(config, path, std::move(tokenizer));
    }
    SWARM_TRY(const std::string text, read_corpus(config, path));
    TrainingText made;
    const bool by_file = run::has_tokenizer_file(config.tokenizer);
    if (by_file) {
        SWARM_TRY(UsedTokenizer used, make_tokenizer(text, std::move(tokenizer), config));
        SWARM_TRY(made.corpus, tokens_of(text, used.tokenizer));
        made.tokenizer = std::move(used.file);
    } else {
        made.corpus = bytes_of(text);
    }
    made.tokens = made.corpus.size();
    made.bytes = text.size();
    const std::uint64_t needed = std::uint64_t{config.model.context} + 2;
    if (made.corpus.size() < needed) {
        return rejected(
            ErrorCode::Malformed,
            "the corpus " + path.string() + " has " + std::to_string(made.corpus.size()) +
                (by_file ? " tokens" : " bytes") + "; a context of " +
                std::to_string(config.model.context) + " needs " + std::to_string(needed)
        );
    }
    SWARM_TRY(find_document_end(made, config));
    return made;
}

}  // namespace swarm::cli
