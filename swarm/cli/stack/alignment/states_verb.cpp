// `swarm stack states`: the rows behind the last layer of a model, about texts.
#include "stacking/composition/alignment/moved_states.hpp"
#include "stacking/tokenizers/utf8.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/answer/open_model.hpp"
#include "swarm/cli/answer/text_sources.hpp"
#include "swarm/cli/compute/compute_factory.hpp"
#include "swarm/cli/stack/alignment/align.hpp"
#include "swarm/cli/stack/alignment/state_folder.hpp"
#include "swarm/cli/stack/average.hpp"
#include "swarm/cli/stack/held_out.hpp"
#include "swarm/cli/stack/member_part.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/cli/terminal/printable.hpp"
#include "swarm/cli/terminal/usage.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <utility>

namespace swarm::cli {
namespace {

namespace fs = std::filesystem;
using stacking::TokenId;
using stacking::composition::kShardSequences;
using stacking::composition::StateManifest;
using stacking::composition::StateShard;

constexpr std::size_t kSampleBytes = 512;
constexpr stages::GraphKey kNoGraph{{0}, {1}};

/// All sequences of the texts: window after window, each with the first token of the next one as
/// its last target. The number is a multiple of the batch.
Result<std::vector<TokenId>> sequences_of_texts(
    const HeldOutTexts& held_out, std::uint32_t window, std::uint32_t batch
) {
    std::vector<TokenId> tokens;
    const std::size_t row = std::size_t{window} + 1;
    for (const auto& text : held_out.texts) {
        for (std::size_t at = 0; at + row <= text.size(); at += window) {
            const auto begin = text.begin() + static_cast<std::ptrdiff_t>(at);
            tokens.insert(tokens.end(), begin, begin + static_cast<std::ptrdiff_t>(row));
        }
    }
    const std::size_t whole = tokens.size() / (row * batch) * (row * batch);
    // Two shards are the least: one is held out by who trains.
    if (whole / row < std::size_t{2} * batch) {
        return usage(
            "the texts make " + std::to_string(tokens.size() / row) + " sequences of " +
            std::to_string(window) + " tokens; " + std::to_string(2 * batch) + " are the least"
        );
    }
    tokens.resize(whole);
    return tokens;
}

/// Sequences of each shard: as many as fit one, but two shards at least.
std::uint32_t per_shard(std::size_t sequences, std::uint32_t batch) {
    const auto half =
        static_cast<std::uint32_t>(std::min<std::size_t>(sequences / 2, kShardSequences));
    return std::max(batch, half / batch * batch);
}

Result<> add_rows(stages::StageCompute& compute, StateShard& shard, std::uint32_t batch) {
    const std::size_t row = std::size_t{shard.context} + 1;
    for (std::size_t at = 0; at < shard.tokens.size(); at += row * batch) {
        const auto tokens = std::span<const TokenId>(shard.tokens).subspan(at, row * batch);
        SWARM_TRY(
            const auto states, compute.forward(kNoGraph, nullptr, tokens, stages::Graph::Drop)
        );
        shard.rows.insert(shard.rows.end(), states.values.begin(), states.values.end());
    }
    return {};
}

Result<StateManifest> begin_manifest(
    const StackStatesOptions& options,
    const OpenModel& model,
    const stacking::tokenizers::ModelTokenizer& tokenizer
) {
    StateManifest manifest;
    manifest.width = model.source.architecture().model.width;
    manifest.vocabulary = model.source.architecture().model.vocabulary;
    manifest.batch = options.batch;
    SWARM_TRY(const auto sources, find_sources(options.texts));
    SWARM_TRY(const TextSource first, read_source(sources.front(), tokenizer));
    const std::string_view begin = std::string_view(first.text).substr(0, kSampleBytes);
    manifest.sample = begin.substr(0, stacking::tokenizers::utf8_prefix(begin));
    SWARM_TRY(const EncodedText encoded, encode_text(tokenizer, manifest.sample));
    manifest.sample_tokens = encoded.tokens;
    return manifest;
}

Result<> write_states_folder(const StackStatesOptions& options, Console& console) {
    SWARM_TRY(const OpenModel model, open_model(options.model));
    SWARM_TRY(const auto tokenizer, open_tokenizer(model));
    SWARM_TRY(
        const run::RunConfig config,
        member_run(options.model, model.source.architecture(), {options.window, options.batch})
    );
    const std::uint32_t window = config.model.context;
    SWARM_TRY(StateManifest manifest, begin_manifest(options, model, tokenizer));
    manifest.context = window;
    const HeldOutOptions wanted{options.texts, options.tokens, options.threads};
    SWARM_TRY(const HeldOutTexts texts, read_held_out(wanted, tokenizer, console));
    SWARM_TRY(const auto tokens, sequences_of_texts(texts, window, options.batch));
    const auto make_compute = make_compute_factory("cpu", threads_to_train(options.threads));
    SWARM_TRY(
        const MemberPart part,
        load_part(model.source, config, MemberEnds::LowerLayers, make_compute)
    );
    const fs::path folder = options.folder;
    SWARM_TRY(begin_states(
        folder, "states of " + model.path.string() + " window " + std::to_string(window) + "\n"
    ));
    const std::size_t row = std::size_t{window} + 1;
    const std::size_t each = row * per_shard(tokens.size() / row, options.batch);
    std::uint64_t bytes = 0;
    for (std::size_t at = 0; at < tokens.size(); at += each, ++manifest.shards) {
        const auto own = std::span(tokens).subspan(at, std::min(each, tokens.size() - at));
        StateShard shard{window, manifest.width, {own.begin(), own.end()}, {}};
        bytes += own.size() * sizeof(float) * (manifest.width + 1);
        SWARM_TRY(const bool is_there, has_shard(folder, manifest.shards, shard));
        if (!is_there) {
            SWARM_TRY(add_rows(*part.compute, shard, options.batch));
            SWARM_TRY(write_shard(folder, manifest.shards, shard));
        }
        if (console.is_terminal()) {
            console.status(
                std::to_string(at / row) + " of " + std::to_string(tokens.size() / row) +
                " sequences"
            );
        }
    }
    SWARM_TRY(write_state_manifest(folder, manifest));
    console.settle();
    constexpr std::uint64_t kMegabyte = 1'000'000;
    std::printf(
        "%s: %zu sequences of %u tokens, %llu MB\n",
        printable(options.folder).c_str(),
        tokens.size() / row,
        window,
        static_cast<unsigned long long>((bytes + kMegabyte - 1) / kMegabyte)
    );
    return {};
}

}  // namespace

int write_states(const StackStatesOptions& options) {
    Console console;
    const Result<> done = write_states_folder(options, console);
    return done ? kDone : end_with(console, done.error());
}

}  // namespace swarm::cli
