#include "swarm/cli/model/model.hpp"

#include "stacking/models/copies/shared_model.hpp"
#include "stacking/models/model_digest.hpp"
#include "stacking/models/training/peft_folder.hpp"
#include "stacking/models/training/shared_layers.hpp"
#include "stacking/tokenizers/chat_template.hpp"
#include "stacking/tokenizers/model_tokenizer.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/answer/model_folder.hpp"
#include "swarm/cli/answer/open_model.hpp"
#include "swarm/cli/common/command.hpp"
#include "swarm/cli/common/files.hpp"
#include "swarm/cli/common/model_store.hpp"
#include "swarm/cli/model/model_summary.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/cli/terminal/printable.hpp"

#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <utility>

namespace swarm::cli {
namespace {

namespace fs = std::filesystem;
using stacking::models::ModelSource;
using stacking::tokenizers::ChatTemplate;
using stacking::tokenizers::ModelTokenizer;

std::string chat_in_words(const ModelTokenizer& tokenizer) {
    if (tokenizer.chat_template().empty()) {
        return "none";
    }
    const auto chat = ChatTemplate::compile(tokenizer);
    return chat ? "the model's own, " + std::to_string(tokenizer.chat_template().size()) + " bytes"
                : chat.error().detail;
}

/// Describes the tokenizer; a model whose tokenizer cannot be read is shown, too.
void describe_tokenizer(const Result<ModelTokenizer>& tokenizer, ModelSummary& summary) {
    if (!tokenizer) {
        summary.tokenizer = "none (" + tokenizer.error().detail + ")";
        summary.chat = "none";
        return;
    }
    summary.chat = chat_in_words(*tokenizer);
    if (tokenizer->bpe() == nullptr) {
        summary.tokenizer = "SentencePiece, " + std::to_string(tokenizer->size()) + " tokens";
        return;
    }
    const auto& vocabulary = tokenizer->bpe()->vocabulary();
    const bool bytes = tokenizer->bpe()->alphabet() == stacking::tokenizers::Alphabet::Bytes;
    summary.tokenizer = std::string(bytes ? "byte-level BPE, " : "BPE of characters, ") +
                        std::to_string(vocabulary.tokens.size()) + " tokens, " +
                        std::to_string(vocabulary.special_tokens.size()) + " of them special";
}

/// Prints the digests on two lines of their own.
Result<> print_digests(const OpenModel& opened) {
    using stacking::models::SharedModel;
    SWARM_TRY(const Digest model, stacking::models::identity_of(opened.source));
    SWARM_TRY(SharedModel shared, SharedModel::open(opened.path, opened.source));
    bool whole = false;
    while (!whole) {
        SWARM_TRY(whole, shared.hash_some());
    }
    std::cout << "  digest " << to_hex(model) << "\n  files  " << to_hex(shared.digest()) << '\n';
    return {};
}

}  // namespace

int fetch_model(const ModelFetchOptions& options) {
    Console console;
    const CaughtSignals signals;
    const Result<fs::path> file = fetch_named_model(options.name, console);
    if (const std::optional<int> number = CaughtSignals::number()) {
        return after_signal(*number);
    }
    if (!file) {
        return end_with(console, file.error());
    }
    std::cout << file->string() << '\n';
    return kDone;
}

int show_model(const ModelShowOptions& options) {
    Console console;
    const Result<OpenModel> opened = open_model(options.model);
    if (!opened) {
        return end_with(console, opened.error());
    }
    const ModelSource& model = opened->source;
    const std::uint32_t layers = model.architecture().model.layers;
    if (options.stages > layers) {
        console.error(
            "--stages is " + std::to_string(options.stages) + "; the model has " +
            std::to_string(layers) + " layers, and each stage needs one"
        );
        return kUsage;
    }
    ModelSummary summary = summarise(model, options.stages);
    describe_tokenizer(open_tokenizer(*opened), summary);
    std::cout << printable(to_text(summary)) << std::flush;
    if (options.digests) {
        if (const Result<> printed = print_digests(*opened); !printed) {
            return end_with(console, printed.error());
        }
    }
    if (!options.json_file.empty() && !write_text(console, options.json_file, to_json(summary))) {
        return kRunFailed;
    }
    return kDone;
}

int export_model(const ModelExportOptions& options) {
    Console console;
    const Result<OpenModel> opened = open_model(options.model);
    if (!opened) {
        return end_with(console, opened.error());
    }
    const ModelSource& model = opened->source;
    if (options.adapter) {
        const Result<> written = stacking::models::write_peft_folder(model, options.folder);
        if (!written) {
            return end_with(console, written.error());
        }
        std::cout << options.folder << '\n';
        return kDone;
    }
    const std::uint32_t layers = model.architecture().model.layers;
    const std::uint32_t own_layers = stacking::models::layers_of_their_own(model);
    if (own_layers < layers) {
        console.info(
            "the run computes each of its " + std::to_string(own_layers) +
            " layers several times; the folder has " + std::to_string(layers) +
            " layers, each with a copy of its weights"
        );
    }
    const Result<ModelTokenizer> tokenizer = open_tokenizer(*opened);
    const ModelTokenizer* const own = tokenizer ? &*tokenizer : nullptr;
    const Result<> written = write_model_folder(model, own, options.folder, console);
    if (!written) {
        return end_with(console, written.error());
    }
    if (!tokenizer) {
        console.warn("the folder has no tokenizer: " + tokenizer.error().detail);
    }
    std::cout << options.folder << '\n';
    return kDone;
}

}  // namespace swarm::cli
