#include "swarm/cli/stack/held_out.hpp"

#include "stacking/llama/llama_sessions.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/answer/text_sources.hpp"
#include "swarm/cli/terminal/usage.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

namespace swarm::cli {
namespace {

using stacking::composition::ModelReader;
using stacking::composition::TextReader;
using stacking::llama::LlamaSessions;
using stacking::models::ModelSource;
using stacking::tokenizers::ModelTokenizer;

}  // namespace

Result<HeldOutTexts> read_held_out(
    const HeldOutOptions& options, const ModelTokenizer& tokenizer, Console& console
) {
    HeldOutTexts read;
    const auto before = tokens_before(tokenizer);
    read.before.assign(before.begin(), before.end());
    SWARM_TRY(const auto sources, find_sources(options.texts));
    for (const auto& file : sources) {
        SWARM_TRY(TextSource source, read_source(file, tokenizer));
        if (source.encoded.lost > 0) {
            console.warn(
                source.name + ": " + std::to_string(source.encoded.lost) +
                " characters or bytes have no token in these models and are left out"
            );
        }
        auto& tokens = source.encoded.tokens;
        tokens.resize(std::min<std::size_t>(tokens.size(), options.tokens));
        if (tokens.size() == 1 && before.empty()) {
            return usage(
                source.name +
                ": the text is too short; it has 1 token, and the first one is read "
                "without a prediction"
            );
        }
        read.texts.push_back(std::move(tokens));
    }
    return read;
}

Result<HeldOut> HeldOut::read(
    const HeldOutOptions& options,
    const ModelTokenizer& tokenizer,
    std::uint32_t context,
    Console& console
) {
    HeldOut held_out;
    held_out.sizes_.context = std::min(kUsualContext, context);
    const std::uint32_t stride_most =
        stacking::composition::stride_max(held_out.sizes_.context, tokens_before(tokenizer).size());
    if (stride_most == 0) {
        return usage("a context of " + std::to_string(context) + " tokens has no room for a text");
    }
    held_out.sizes_.stride = std::clamp(held_out.sizes_.context / 2, 1U, stride_most);
    SWARM_TRY(held_out.read_, read_held_out(options, tokenizer, console));
    held_out.workers_ = make_workers(threads_to_answer(options.threads));
    return held_out;
}

std::uint64_t HeldOut::tokens() const {
    std::uint64_t count = 0;
    for (const auto& text : read_.texts) {
        count += text.size() - (read_.before.empty() ? 1 : 0);
    }
    return count;
}

Result<std::unique_ptr<TextReader>> HeldOut::open(const ModelSource& model) const {
    const auto layout = split(model.architecture(), 1).front();
    SWARM_TRY(
        auto weights,
        stacking::llama::load_stage(
            model,
            layout,
            stacking::llama::WeightChoice::as_is(),
            stacking::llama::Exits::None,
            {},
            workers_.get()
        )
    );
    // There is one session, which reserves the pages that it needs and no more.
    const LlamaSessions::Options means{
        .kv_budget_bytes = std::numeric_limits<std::size_t>::max(), .workers = workers_};
    ModelReader::Stages stages;
    stages.push_back(std::make_unique<LlamaSessions>(std::move(weights), means));
    SWARM_TRY(auto reader, ModelReader::make(std::move(stages)));
    return std::unique_ptr<TextReader>(std::move(reader));
}

Result<double> HeldOut::loss_of(const ModelSource& model, const std::string& name, Console& console)
    const {
    SWARM_TRY(const std::unique_ptr<TextReader> reader, open(model));
    const std::size_t rows = stacking::composition::rows_at_once(reader->vocabulary());
    double nats = 0;
    std::uint64_t scored = 0;
    const auto take = [&](std::span<const double> log_probabilities) {
        for (const double each : log_probabilities) {
            nats -= each;
        }
        scored += log_probabilities.size();
        if (console.is_terminal()) {
            console.status(
                name + ": " + std::to_string(scored) + " of " + std::to_string(tokens()) + " tokens"
            );
        }
        return true;
    };
    for (const auto& text : read_.texts) {
        SWARM_TRY(score_text(*reader, {read_.before, text, sizes_, rows}, take));
    }
    console.settle();
    return nats / static_cast<double>(scored);
}

}  // namespace swarm::cli
