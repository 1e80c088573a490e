// `swarm stack targets`: moves states of a member to where the next member predicts better.
#include "stacking/composition/alignment/moved_states.hpp"
#include "stacking/composition/text_reader.hpp"
#include "stacking/llama/llama_sessions.hpp"
#include "swarm/base/rng.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/answer/open_model.hpp"
#include "swarm/cli/answer/text_sources.hpp"
#include "swarm/cli/compute/compute_factory.hpp"
#include "swarm/cli/stack/alignment/align.hpp"
#include "swarm/cli/stack/alignment/state_folder.hpp"
#include "swarm/cli/stack/member_part.hpp"
#include "swarm/cli/terminal/console.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/cli/terminal/printable.hpp"
#include "swarm/cli/terminal/usage.hpp"

#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>
#include <utility>

namespace swarm::cli {
namespace {

namespace fs = std::filesystem;
using stacking::TokenId;
using stacking::composition::draw_token;
using stacking::composition::ModelReader;
using stacking::composition::MovedStates;
using stacking::composition::MoveSettings;
using stacking::composition::StateKind;
using stacking::composition::StateManifest;
using stacking::composition::StateShard;
using stacking::composition::TextReader;
using stacking::llama::LlamaSessions;
using stacking::models::ModelSource;

Error unlike_states(const std::string& model, const std::string& states, const std::string& what) {
    return {
        ErrorCode::Mismatch,
        Reaction::Reject,
        model + " cannot read the states in " + states + ": " + what};
}

/// Refuses a model that is no next member: of another width, or with other tokens.
Result<> check_next_member(
    const StackTargetsOptions& options, const OpenModel& model, const StateManifest& states
) {
    const run::ModelConfig& shape = model.source.architecture().model;
    if (shape.width != states.width || shape.vocabulary != states.vocabulary) {
        return unlike_states(
            options.model,
            options.states,
            "they have " + std::to_string(states.width) + " values per token and " +
                std::to_string(states.vocabulary) + " tokens, the model " +
                std::to_string(shape.width) + " and " + std::to_string(shape.vocabulary)
        );
    }
    SWARM_TRY(const auto tokenizer, open_tokenizer(model));
    SWARM_TRY(const EncodedText encoded, encode_text(tokenizer, states.sample));
    if (encoded.tokens != states.sample_tokens) {
        return unlike_states(options.model, options.states, "its tokenizer makes other tokens");
    }
    return {};
}

Result<std::unique_ptr<TextReader>> labelling_reader(const ModelSource& model) {
    const auto layout = split(model.architecture(), 1).front();
    SWARM_TRY(
        auto weights,
        stacking::llama::load_stage(model, layout, stacking::llama::WeightChoice::as_is())
    );
    ModelReader::Stages stages;
    stages.push_back(std::make_unique<LlamaSessions>(
        std::move(weights),
        LlamaSessions::Options{.kv_budget_bytes = std::numeric_limits<std::size_t>::max()}
    ));
    SWARM_TRY(auto reader, ModelReader::make(std::move(stages)));
    return std::unique_ptr<TextReader>(std::move(reader));
}

/// Makes the targets of one folder of states.
class TargetMaker {
 public:
    TargetMaker(
        const StackTargetsOptions& options, MemberPart part, std::unique_ptr<TextReader> reader
    )
        : options_(options), part_(std::move(part)), reader_(std::move(reader)) {}

    /// Sums over batches.
    struct Sums {
        double before = 0;
        double after = 0;
        std::uint64_t batches = 0;
    };

    /// Moves the rows of the shard. `drawn`: by drawn labels, else by the text's own tokens.
    Result<Sums> move(StateShard& shard, std::uint32_t batch, std::uint64_t number, bool drawn) {
        Sums sums;
        std::vector<float> rows;
        for (std::uint32_t first = 0; first < shard.sequences(); first += batch) {
            const StateShard part = stacking::composition::sequences_of(shard, first, batch);
            std::vector<TokenId> labels = part.tokens;
            if (drawn) {
                SWARM_TRY(labels, drawn_labels(part, number * shard.sequences() + first));
            }
            SWARM_TRY(
                const MovedStates moved,
                move_states(
                    *part_.compute,
                    part_.parameters(),
                    part,
                    labels,
                    MoveSettings{options_.step, options_.rounds}
                )
            );
            rows.insert(rows.end(), moved.rows.begin(), moved.rows.end());
            sums.before += moved.before;
            sums.after += moved.after;
            ++sums.batches;
        }
        shard.rows = std::move(rows);
        return sums;
    }

 private:
    /// The next tokens as the member itself would draw them. `stream`: for the random numbers.
    Result<std::vector<TokenId>> drawn_labels(const StateShard& part, std::uint64_t stream) {
        std::vector<TokenId> labels = part.tokens;
        const std::size_t row = std::size_t{part.context} + 1;
        const std::size_t vocabulary = reader_->vocabulary();
        Rng rng(options_.seed, stream);
        for (std::size_t begin = 0; begin < labels.size(); begin += row) {
            SWARM_TRY(reader_->begin(part.context));
            const auto read = std::span(part.tokens).subspan(begin, part.context);
            SWARM_TRY(const auto logits, reader_->read(read, TextReader::Wanted::AfterEach));
            for (std::size_t t = 0; t < part.context; ++t) {
                const auto scores = std::span(logits).subspan(t * vocabulary, vocabulary);
                labels[begin + t + 1] = draw_token(scores, rng.unit());
            }
        }
        return labels;
    }

    StackTargetsOptions options_;
    MemberPart part_;
    std::unique_ptr<TextReader> reader_;
};

/// Says how much of the answer targets by the text's own tokens would hold, about one shard.
Result<> tell_leak(TargetMaker& maker, const StateShard& shard, std::uint32_t batch) {
    StateShard by_text = shard;
    StateShard by_draw = shard;
    SWARM_TRY(const auto text, maker.move(by_text, batch, 0, false));
    SWARM_TRY(const auto drawn, maker.move(by_draw, batch, 0, true));
    const auto count = static_cast<double>(text.batches);
    std::printf(
        "leak: targets by the text's tokens lower its loss by %.4f nats per token, by drawn ones "
        "by %.4f; the difference is the answer\n",
        (text.before - text.after) / count,
        (drawn.before - drawn.after) / count
    );
    std::fflush(stdout);
    return {};
}

std::string target_settings(const StackTargetsOptions& options, const OpenModel& model) {
    return "targets by " + model.path.string() + " for " + options.states + " labels " +
           options.labels + " step " + std::to_string(options.step) + " rounds " +
           std::to_string(options.rounds) + " seed " + std::to_string(options.seed) + "\n";
}

/// Makes all targets that are not there yet. Prints the losses.
Result<> make_targets(
    TargetMaker& maker,
    const StackTargetsOptions& options,
    const StateManifest& manifest,
    Console& console
) {
    const fs::path folder = options.folder;
    TargetMaker::Sums all;
    for (std::uint32_t number = 0; number < manifest.shards; ++number) {
        SWARM_TRY(StateShard shard, read_shard(options.states, number));
        if (shard.width != manifest.width || shard.context != manifest.context ||
            shard.sequences() % manifest.batch != 0) {
            return unlike_states(options.model, options.states, "a shard has another shape");
        }
        if (number == 0) {
            SWARM_TRY(tell_leak(maker, shard, manifest.batch));
        }
        SWARM_TRY(const bool is_there, has_shard(folder, number, shard));
        if (!is_there) {
            SWARM_TRY(
                const auto sums,
                maker.move(shard, manifest.batch, number, options.labels == "drawn")
            );
            SWARM_TRY(write_shard(folder, number, shard));
            all.before += sums.before;
            all.after += sums.after;
            all.batches += sums.batches;
        }
        if (console.is_terminal()) {
            console.status(
                std::to_string(number + 1) + " of " + std::to_string(manifest.shards) + " shards"
            );
        }
    }
    console.settle();
    if (all.batches > 0) {
        const auto count = static_cast<double>(all.batches);
        std::printf(
            "%s: nats per token %.4f by the states, %.4f by the targets\n",
            printable(options.folder).c_str(),
            all.before / count,
            all.after / count
        );
    }
    return {};
}

Result<> write_targets_folder(const StackTargetsOptions& options, Console& console) {
    SWARM_TRY(StateManifest manifest, read_state_manifest(options.states, StateKind::States));
    SWARM_TRY(const OpenModel model, open_model(options.model));
    SWARM_TRY(check_next_member(options, model, manifest));
    SWARM_TRY(
        const run::RunConfig config,
        member_run(options.model, model.source.architecture(), {manifest.context, manifest.batch})
    );
    if (config.model.context != manifest.context) {
        return unlike_states(
            options.model,
            options.states,
            "they are about " + std::to_string(manifest.context) + " tokens, it reads " +
                std::to_string(config.model.context)
        );
    }
    const auto make_compute = make_compute_factory("cpu", threads_to_train(options.threads));
    SWARM_TRY(
        MemberPart part, load_part(model.source, config, MemberEnds::UpperLayers, make_compute)
    );
    SWARM_TRY(auto reader, labelling_reader(model.source));
    SWARM_TRY(begin_states(options.folder, target_settings(options, model)));
    TargetMaker maker(options, std::move(part), std::move(reader));
    SWARM_TRY(make_targets(maker, options, manifest, console));
    manifest.kind = StateKind::Targets;
    return write_state_manifest(options.folder, manifest);
}

}  // namespace

int write_targets(const StackTargetsOptions& options) {
    Console console;
    const Result<> done = write_targets_folder(options, console);
    return done ? kDone : end_with(console, done.error());
}

}  // namespace swarm::cli
