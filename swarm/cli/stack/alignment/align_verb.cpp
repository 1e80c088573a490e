// `swarm stack align`: trains a member towards targets that the next one has made.
#include "stacking/composition/alignment/member_alignment.hpp"
#include "stacking/models/averages/computed_model.hpp"
#include "swarm/base/durable_folder.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/answer/model_folder.hpp"
#include "swarm/cli/answer/open_model.hpp"
#include "swarm/cli/answer/text_sources.hpp"
#include "swarm/cli/compute/compute_factory.hpp"
#include "swarm/cli/stack/alignment/align.hpp"
#include "swarm/cli/stack/alignment/state_folder.hpp"
#include "swarm/cli/stack/member_part.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/cli/terminal/printable.hpp"
#include "swarm/cli/terminal/usage.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

namespace swarm::cli {
namespace {

using stacking::composition::AlignSettings;
using stacking::composition::MemberAlignment;
using stacking::composition::StateKind;
using stacking::composition::StateManifest;
using stacking::models::ModelSource;
using stacking::models::RowRange;
using stages::StageState;

constexpr std::uint32_t kAlignReportEvery = 10;  // steps
constexpr std::uint64_t kWarmupPart = 10;        // one step of so many

Result<> check_targets(
    const StackAlignOptions& options,
    const StateManifest& targets,
    const run::RunConfig& config,
    const stacking::tokenizers::ModelTokenizer& tokenizer
) {
    const auto unlike = [&](const std::string& what) {
        return Error{
            ErrorCode::Mismatch,
            Reaction::Reject,
            "the targets in " + options.targets + " are not for " + options.model + ": " + what};
    };
    if (targets.width != config.model.width || targets.vocabulary != config.model.vocabulary) {
        return unlike("it has another width, or another number of tokens");
    }
    if (targets.context != config.model.context) {
        return unlike("it reads fewer tokens at once");
    }
    SWARM_TRY(const EncodedText encoded, encode_text(tokenizer, targets.sample));
    if (encoded.tokens != targets.sample_tokens) {
        return unlike("its tokenizer makes other tokens");
    }
    if (targets.shards < 2) {
        return unlike("there is one shard, and the last one is held out");
    }
    return {};
}

/// The model with the trained layers in the place of its own.
Result<ModelSource> with_layers(
    std::shared_ptr<const ModelSource> model,
    const run::StageLayout& layout,
    std::span<const float> weights
) {
    using Trained = std::map<std::string, std::vector<float>, std::less<>>;
    auto trained = std::make_shared<Trained>();
    for (const run::TensorSpec& tensor : layout.tensors) {
        const auto own = weights.first(tensor.elements());
        trained->emplace(tensor.name, std::vector<float>(own.begin(), own.end()));
        weights = weights.subspan(own.size());
    }
    stacking::models::Architecture architecture = model->architecture();
    return computed_model(
        std::move(architecture),
        [model = std::move(model), trained = std::move(trained)](
            std::string_view tensor, RowRange rows, std::span<float> values
        ) -> Result<> {
            const auto found = trained->find(tensor);
            if (found == trained->end()) {
                return model->read_rows(tensor, rows, values);
            }
            const std::uint64_t columns = values.size() / rows.count;
            const auto from = static_cast<std::ptrdiff_t>(rows.first * columns);
            std::copy_n(found->second.begin() + from, values.size(), values.begin());
            return {};
        }
    );
}

void tell_held_out(const char* when, const MemberAlignment::Losses& losses) {
    std::printf(
        "held out, %s: %.4f nats per token, distance %.5f\n", when, losses.tokens, losses.distance
    );
    std::fflush(stdout);
}

Result<> train_layers(MemberAlignment& alignment, const StackAlignOptions& options) {
    SWARM_TRY(const auto before, alignment.held_out());
    tell_held_out("before", before);
    SWARM_TRY(alignment.train([&](std::uint32_t step, const MemberAlignment::Losses& losses) {
        if (step % kAlignReportEvery == 0 || step == options.steps) {
            std::printf(
                "step %u of %u: %.4f nats per token, distance %.5f\n",
                step,
                options.steps,
                losses.tokens,
                losses.distance
            );
            std::fflush(stdout);
        }
    }));
    SWARM_TRY(const auto after, alignment.held_out());
    tell_held_out("after", after);
    return {};
}

Result<> write_aligned(const StackAlignOptions& options, Console& console) {
    SWARM_TRY(check_free(options.folder));
    SWARM_TRY(
        const StateManifest targets, read_state_manifest(options.targets, StateKind::Targets)
    );
    SWARM_TRY(OpenModel model, open_model(options.model));
    SWARM_TRY(const auto tokenizer, open_tokenizer(model));
    SWARM_TRY(
        run::RunConfig config,
        member_run(options.model, model.source.architecture(), {targets.context, targets.batch})
    );
    SWARM_TRY(check_targets(options, targets, config, tokenizer));
    config.steps = options.steps;
    config.optimizer.learning_rate = options.learning_rate;
    config.optimizer.final_learning_rate = options.learning_rate / 10;
    config.optimizer.warmup_steps = options.steps / kWarmupPart;
    const auto make_compute = make_compute_factory("cpu", threads_to_train(options.threads));
    SWARM_TRY(
        const MemberPart layers,
        load_part(model.source, config, MemberEnds::LowerLayers, make_compute)
    );
    SWARM_TRY(
        const MemberPart head, load_part(model.source, config, MemberEnds::Head, make_compute)
    );
    const std::vector<float> zeros(layers.parameters());
    MemberAlignment alignment(
        {*layers.compute,
         *head.compute,
         StageState::from_tensors(layers.layout, {}, layers.weights, zeros, zeros, layers.frozen)},
        config,
        targets,
        [&](std::uint32_t number) { return read_shard(options.targets, number); },
        AlignSettings{options.steps, options.learning_rate, options.weight, options.seed}
    );
    SWARM_TRY(train_layers(alignment, options));
    const auto source = std::make_shared<const ModelSource>(std::move(model.source));
    SWARM_TRY(const ModelSource aligned, with_layers(source, layers.layout, alignment.weights()));
    SWARM_TRY(DurableFolder written, DurableFolder::begin(options.folder, "name another folder"));
    SWARM_TRY(write_model_folder(aligned, &tokenizer, written.draft(), console));
    SWARM_TRY(written.finish());
    console.settle();
    std::printf("%s\n", printable(options.folder).c_str());
    return {};
}

}  // namespace

int align_member(const StackAlignOptions& options) {
    Console console;
    const Result<> done = write_aligned(options, console);
    return done ? kDone : end_with(console, done.error());
}

}  // namespace swarm::cli
