// `swarm stack train`: trains the bridge of a stack and writes it beside the stack's file.
#include "stacking/stack/bridge_training.hpp"
#include "swarm/cli/compute_factory.hpp"
#include "swarm/cli/exit_code.hpp"
#include "swarm/cli/stack/open_stack.hpp"
#include "swarm/cli/train.hpp"
#include "swarm/cli/verbs.hpp"

#include <cstdio>
#include <filesystem>
#include <span>
#include <utility>

namespace swarm::cli {
namespace {

namespace fs = std::filesystem;
using stacking::models::ModelSource;
using stacking::stack::Bridge;
using stacking::stack::BridgeTrainer;
using stacking::stack::BridgeTraining;
using stacking::stack::StackFile;
using stacking::stack::StackMode;

constexpr std::uint32_t kReportEvery = 10;  // steps

Error usage(std::string what) {
    return {ErrorCode::Usage, Reaction::Reject, std::move(what)};
}

/// One member's layers on LibTorch, without its head or without its embedding.
struct TrainingMember {
    run::RunConfig config;
    run::StageLayout layout;
    std::vector<float> weights;
    std::unique_ptr<stages::StageCompute> compute;
};

Result<TrainingMember> load_member(
    const ModelSource& source,
    bool is_upper,
    const BridgeTraining& training,
    const std::string& device
) {
    TrainingMember member;
    member.config = bridge_run(source.architecture().model, training);
    member.layout = split(source.architecture(), 1).front();
    member.layout.has_embedding = !is_upper;
    member.layout.has_head = is_upper;
    std::erase_if(member.layout.tensors, [&](const run::TensorSpec& tensor) {
        return tensor.name.starts_with(is_upper ? "embed." : "head.");
    });
    Result<std::vector<float>> weights = source.read_stage(member.layout);
    if (!weights) {
        return weights.error();
    }
    member.weights = std::move(*weights);
    auto compute = make_compute_factory(device)(member.config, member.layout);
    if (!compute) {
        return compute.error();
    }
    member.compute = std::move(*compute);
    member.compute->use_weights(member.weights);
    return member;
}

Result<std::vector<BridgeTrainer::Text>> read_texts(
    const StackTrainOptions& options, const OpenStack& stack
) {
    std::vector<BridgeTrainer::Text> texts;
    for (const std::string& name : options.texts) {
        Result<BridgeTrainer::Text> text = stack.read_tokens(name);
        if (!text) {
            return text.error();
        }
        texts.push_back(std::move(*text));
    }
    return texts;
}

/// A stack whose members have the window's context, and one vocabulary.
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
    Result<TrainingMember> lower = load_member(stack.source(0), false, training, options.device);
    if (!lower) {
        return lower.error();
    }
    Result<TrainingMember> upper = load_member(stack.source(1), true, training, options.device);
    if (!upper) {
        return upper.error();
    }
    const Result<std::vector<float>> embedding = stack.source(1).read("embed.weight");
    if (!embedding) {
        return embedding.error();
    }
    const BridgeTrainer::Members members{
        *lower->compute,
        *upper->compute,
        upper->weights.size(),
        lower->config.model.width,
        upper->config.model.width,
        *embedding};
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
            stack.file().members[1].model.c_str(),
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
    const auto stack = OpenStack::open(options.file, *file, stacking::kernels::WeightFormat::Fp32);
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
    if (const Result<> written = write_whole(stack_path.parent_path() / name, bytes); !written) {
        return end_with(console, written.error());
    }
    file->bridge = name;
    file->seams.clear();  // of another bridge
    if (const Result<> written = write_stack(options.file, *file); !written) {
        return end_with(console, written.error());
    }
    std::printf("%s: measure it now: swarm stack measure\n", options.file.c_str());
    return kDone;
}

}  // namespace swarm::cli
