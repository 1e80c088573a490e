// `swarm stack train`: trains the bridge of a stack and writes it beside the stack's file.
#include "stacking/composition/bridge_training.hpp"
#include "swarm/base/durable_file.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/answer/open_stack.hpp"
#include "swarm/cli/common/files.hpp"
#include "swarm/cli/compute/compute_factory.hpp"
#include "swarm/cli/stack/member_part.hpp"
#include "swarm/cli/stack/stack.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/cli/terminal/printable.hpp"
#include "swarm/cli/terminal/usage.hpp"

#include <cstdio>
#include <filesystem>
#include <span>
#include <utility>

namespace swarm::cli {
namespace {

namespace fs = std::filesystem;
using stacking::composition::Bridge;
using stacking::composition::BridgeTrainer;
using stacking::composition::BridgeTraining;
using stacking::composition::StackFile;
using stacking::composition::StackMode;
using stacking::models::ModelSource;

constexpr std::uint32_t kReportEvery = 10;  // steps

/// The lower member gives up its head, the upper one its embedding.
Result<MemberPart> load_member(
    const ModelSource& source,
    MemberEnds ends,
    const BridgeTraining& training,
    const StackTrainOptions& options
) {
    if (!source.architecture().traits.plain()) {
        return Error{
            ErrorCode::Unsupported,
            Reaction::Reject,
            source.architecture().name + " is a " +
                std::string(source.architecture().traits.family) +
                "; bridges can be trained between plain Llamas only"};
    }
    SWARM_TRY(
        const run::RunConfig config,
        member_run(
            source.architecture().name, source.architecture(), {training.window, training.batch}
        )
    );
    const auto make = make_compute_factory(options.device, threads_to_train(options.threads));
    return load_part(source, config, ends, make);
}

Result<std::vector<BridgeTrainer::Text>> read_texts(
    const StackTrainOptions& options, const OpenStack& stack
) {
    std::vector<BridgeTrainer::Text> texts;
    for (const std::string& name : options.texts) {
        SWARM_TRY(BridgeTrainer::Text text, stack.read_tokens(name));
        texts.push_back(std::move(text));
    }
    return texts;
}

/// Checks that the stack is a bridge, and that its members read the window and share a vocabulary.
Result<> check(const StackTrainOptions& options, const OpenStack& stack) {
    if (stack.file().mode != StackMode::Bridge) {
        return usage(options.file + " is no bridge; make one with `swarm stack new --mode bridge`");
    }
    for (const auto& member : stack.file().members) {
        if (member.layers) {
            return usage("a bridge is trained between whole members, without `layers`");
        }
    }
    if (options.window > stack.context()) {
        return usage(
            "--window is " + std::to_string(options.window) + "; the members read at most " +
            std::to_string(stack.context()) + " tokens"
        );
    }
    const auto vocabulary = [&](std::size_t member) {
        return stack.source(member).architecture().model.vocabulary;
    };
    if (vocabulary(0) != vocabulary(1)) {
        return usage("the members have other numbers of tokens");
    }
    return {};
}

Result<Bridge> train(
    const StackTrainOptions& options,
    const OpenStack& stack,
    std::span<const BridgeTrainer::Text> texts
) {
    const BridgeTraining training{
        options.steps, options.batch, options.window, options.learning_rate, options.seed};
    const auto load = [&](std::size_t member, MemberEnds ends) {
        return load_member(stack.source(member), ends, training, options);
    };
    const auto width = [&](std::size_t member) {
        return stack.source(member).architecture().model.width;
    };
    SWARM_TRY(const MemberPart lower, load(0, MemberEnds::LowerLayers));
    SWARM_TRY(const MemberPart upper, load(1, MemberEnds::UpperLayers));
    SWARM_TRY(const std::vector<float> embedding, stack.source(1).read("embed.weight"));
    const BridgeTrainer::Members members{
        *lower.compute, *upper.compute, upper.parameters(), width(0), width(1), embedding};
    BridgeTrainer trainer(members, training, texts);
    Result<Bridge> bridge = trainer.train([&](const BridgeTrainer::Progress& progress) {
        if (progress.step % kReportEvery == 0 || progress.step == options.steps) {
            std::printf(
                "step %u of %u: loss %.4f, held out %.4f\n",
                progress.step,
                options.steps,
                progress.loss,
                progress.held_out
            );
            std::fflush(stdout);
        }
    });
    if (bridge) {
        std::printf(
            "held out, nats per token: %.4f by %s alone, %.4f over the bridge\n",
            trainer.start_loss(),
            printable(stack.file().members[1].model).c_str(),
            trainer.best_loss()
        );
    }
    return bridge;
}

}  // namespace

int train_stack(const StackTrainOptions& options) {
    Console console;
    Result<StackFile> file = read_stack(options.file);
    if (!file) {
        return end_with(console, file.error());
    }
    const auto stack = OpenStack::open(options.file, *file, stacking::llama::WeightChoice::as_is());
    if (!stack) {
        return end_with(console, stack.error());
    }
    if (const Result<> fits = check(options, *stack); !fits) {
        return end_with(console, fits.error());
    }
    const auto texts = read_texts(options, *stack);
    if (!texts) {
        return end_with(console, texts.error());
    }
    const Result<Bridge> bridge = train(options, *stack, *texts);
    if (!bridge) {
        return end_with(console, bridge.error());
    }
    const fs::path stack_path(options.file);
    const std::string name = stack_path.stem().string() + ".bridge.safetensors";
    const std::vector<std::byte> bytes = bridge->to_file();
    if (const Result<> written = write_durably(stack_path.parent_path() / name, bytes); !written) {
        return end_with(console, written.error());
    }
    file->bridge = name;
    file->seams.clear();  // they were measured with another bridge
    if (const Result<> written = write_stack(options.file, *file); !written) {
        return end_with(console, written.error());
    }
    std::printf("%s: measure it now: swarm stack measure\n", options.file.c_str());
    return kDone;
}

}  // namespace swarm::cli
