// The keys of a run file, once: name, meaning, field and bounds of each. The reader, the writer,
// the checks for unknown keys and for ranges, and the reference (run_reference.hpp) walk this list,
// so none of them can forget a key. A key has the name of its field. Private to swarm/run.
#pragma once

#include "swarm/protocol/limits.hpp"
#include "swarm/run/config.hpp"
#include "swarm/run/run_file/eval_fields.hpp"
#include "swarm/run/run_file/key.hpp"
#include "swarm/run/run_file/model_fields.hpp"
#include "swarm/run/run_file/optimizer_fields.hpp"
#include "swarm/run/run_file/trained_part_fields.hpp"

#include <limits>
#include <optional>
#include <string>

namespace swarm::run {

// TOML's integers are int64; the file must be able to say every seed.
inline constexpr std::uint64_t kSeedMax = std::numeric_limits<std::int64_t>::max();
inline constexpr std::uint64_t kStepsMax = 1'000'000'000;
inline constexpr std::uint32_t kGrowStepsMax = 1'000'000'000;
inline constexpr std::uint32_t kHoldersMax = 64;
// SparseLoCo's own trials end at 500 (methods: H of 15 to 50 is usual).
inline constexpr std::uint32_t kSyncEveryMax = 1000;
// One microbatch travels in one frame: batch x (context + 1) tokens, each factor at its least.
inline constexpr std::uint32_t kBatchMax = protocol::kTokensMax / 2;

template <class Config, class Visitor>
void visit_amounts(Config& config, Visitor& visit) {
    visit(
        {"run", "name", "Name of the run; its files are in runs/NAME."},
        config.name,
        Text{"1 to 64 of a-z A-Z 0-9 - _ . with no dot at the front"}
    );
    visit(
        {"run", "seed", "Seed of the first weights and of the order of the data.", NewValue::Never},
        config.seed,
        Whole{0, kSeedMax}
    );
    visit(
        {"run", "steps", "Steps to train; each step updates the whole model once."},
        config.steps,
        Whole{1, kStepsMax}
    );
    visit(
        {"run",
         "stages",
         "Parts that the model is cut into; at most one per layer.",
         NewValue::Asked},
        config.stages,
        Whole{1, protocol::kStagesMax}
    );
}

template <class Config, class Visitor>
void visit_batch(Config& config, Visitor& visit) {
    visit(
        {"run", "microbatches", "Microbatches per step.", NewValue::Asked},
        config.microbatches,
        Whole{1, protocol::kMicrobatchesMax}
    );
    visit(
        {"run",
         "first_microbatches",
         "Microbatches of the first step, where the number grows up to run.microbatches; 0: each "
         "step has all. Mode sparse takes only 0.",
         NewValue::Asked},
        config.first_microbatches,
        Whole{0, protocol::kMicrobatchesMax}
    );
    visit(
        {"run",
         "grow_steps",
         "Steps in which the number of microbatches grows from run.first_microbatches, on a line.",
         NewValue::Asked},
        config.grow_steps,
        Whole{0, kGrowStepsMax}
    );
    visit(
        {"run",
         "batch",
         "Sequences per microbatch; batch x (model.context + 1) may be at most 8192 tokens.",
         NewValue::Asked},
        config.batch,
        Whole{1, kBatchMax}
    );
    visit(
        {"run",
         "in_flight",
         "Microbatches that are under way at once; 0 stands for twice the peers, at least 2."},
        config.in_flight,
        Whole{0, protocol::kMicrobatchesMax}
    );
    visit(
        {"run",
         "min_peers",
         "The first step waits for this number of peers; 0 stands for one per stage."},
        config.min_peers,
        Whole{0, protocol::kRosterMax}
    );
    visit(
        {"run",
         "min_holders",
         "Peers of each stage that must hold the result of a step before its commit."},
        config.min_holders,
        Whole{1, kHoldersMax}
    );
}

template <class Config, class Visitor>
void visit_checkpoints(Config& config, Visitor& visit) {
    visit(
        {"run",
         "checkpoint_every",
         "Steps between two checkpoints, in mode sparse a multiple of sync_every; with 0 there is "
         "one at the end only."},
        config.checkpoint_every,
        Whole{}
    );
    visit(
        {"run",
         "checkpoint_keep",
         "Newest whole checkpoints that stay on disk when another one is written; 0 keeps all."},
        config.checkpoint_keep,
        Whole{}
    );
    visit(
        {"run",
         "checkpoint_keep_every",
         "Checkpoints of steps that are a multiple of this stay for ever; 0 keeps none for ever."},
        config.checkpoint_keep_every,
        Whole{}
    );
}

template <class Config, class Visitor>
void visit_start(Config& config, Visitor& visit) {
    visit(
        {"run",
         "init",
         "Model whose weights, shape and tokenizer the run begins with, relative to the folder of "
         "the run file: a GGUF file, a Hugging Face folder, a run's folder, or a name that `swarm "
         "model fetch` knows; without one the weights are random.",
         NewValue::Taken},
        config.init,
        Text{"a path, a name, or empty"}
    );
    visit(
        {"run",
         "init_sha256",
         "SHA-256 of these weights as fp32; `swarm train` fills it in.",
         NewValue::Never},
        config.init_sha256,
        Text{"64 hexadecimal digits, or empty"}
    );
}

template <class Config, class Visitor>
void visit_texts(Config& config, Visitor& visit) {
    visit(
        {"run",
         "corpus",
         "File with the text to train on, or a folder of swarm data build, relative to the folder "
         "of the run file; without one it is the demo corpus."},
        config.corpus,
        Text{"a path, or empty"}
    );
    visit(
        {"run",
         "corpus_sha256",
         "SHA-256 of the corpus; `swarm train` fills it in.",
         NewValue::Asked},
        config.corpus_sha256,
        Text{"64 hexadecimal digits, or empty"}
    );
    visit(
        {"run",
         "tokenizer",
         "How text becomes tokens: as bytes; by a tokenizer of SentencePiece (spm) or byte-level "
         "BPE (bpe) with that many tokens, which is trained on the corpus; or by the tokenizer of "
         "run.init, which is taken where nothing is said.",
         NewValue::Never},
        config.tokenizer,
        Text{"\"bytes\", \"model\", \"spm:300\" to \"spm:65536\", or \"bpe:300\" to \"bpe:65536\""}
    );
    visit(
        {"run",
         "tokenizer_sha256",
         "SHA-256 of the tokenizer's file; `swarm train` fills it in.",
         NewValue::Never},
        config.tokenizer_sha256,
        Text{"64 hexadecimal digits, or empty"}
    );
}

template <class Config, class Visitor>
void visit_choices(Config& config, Visitor& visit) {
    visit(
        {"run", "policy", "Rule by which a sender picks the peer that gets a microbatch."},
        config.policy,
        one_of(config.policy)
    );
    visit(
        {"run",
         "codec",
         "How tensors between stages are compressed: forward/backward where two codecs are named; "
         "auto measures the lines and chooses.",
         NewValue::Asked},
        config.codec,
        one_of(config.codec)
    );
    visit(
        {"run",
         "mode",
         "How the replicas of a stage stay one model: exact adds up all gradients in each step; "
         "sparse trains each replica alone for sync_every steps and then exchanges a part of the "
         "changes.",
         NewValue::Asked},
        config.mode,
        one_of(config.mode)
    );
    visit(
        {"run",
         "sync_every",
         "Steps between two exchanges of mode sparse; 0 stands for 8, and mode exact takes only "
         "0.",
         NewValue::Asked},
        config.sync_every,
        Whole{0, kSyncEveryMax}
    );
    visit(
        {"run",
         "replicas",
         "Replicas of each stage that `swarm train --single` trains in mode sparse, at most one "
         "per microbatch; 0 stands for 2, and mode exact takes only 0."},
        config.replicas,
        Whole{0, kHoldersMax}
    );
    visit(
        {"run",
         "rebalancer",
         "Rule by which peers are moved between stages while the run goes on."},
        config.rebalancer,
        one_of(config.rebalancer)
    );
    visit(
        {"run", "rebalance_every_s", "Seconds from one look of the rebalancer to the next."},
        config.rebalance_every_s,
        Whole{1, 86'400}
    );
}

template <class Config, class Visitor>
void visit_cuts(Config& config, Visitor& visit) {
    visit(
        {"run",
         "layers_per_stage",
         "Layers of each stage; where it is empty, the stages get about equally many parameters.",
         NewValue::Asked},
        config.layers_per_stage,
        WholeList{"one number from 1 up per stage, with the sum model.layers; or empty"}
    );
    visit(
        {"run",
         "expert_stages",
         "Stages of each layer of a mixture, among which its experts are dealt, so that no peer "
         "needs room for a whole layer; run.stages is model.layers times as many. With 1 a layer "
         "lies in one stage.",
         NewValue::Never},
        config.expert_stages,
        Whole{1, protocol::kStagesMax}
    );
    visit(
        {"run",
         "split",
         "Whether the cut of the layers into stages stays, or is made anew when a stage has become "
         "slower than the others."},
        config.split,
        one_of(config.split)
    );
}

/// Calls visit(key, field, bounds) for every field. The bounds of some of a model's fields follow
/// from its kind.
template <class Config, class Visitor>
void visit_fields(Config& config, Visitor& visit) {
    visit_amounts(config, visit);
    visit_batch(config, visit);
    visit_checkpoints(config, visit);
    visit_start(config, visit);
    visit_texts(config, visit);
    visit_choices(config, visit);
    visit_cuts(config, visit);
    visit_shape(config.model, visit);
    visit_bottleneck(config.model, visit);
    visit_mixture(config.model, visit);
    visit_rest_of_model(config.model, visit);
    visit_rope_scaling(config.model, visit);
    visit_text_ends(config.model, visit);
    visit_schedule(config.optimizer, visit);
    visit_adamw(config.optimizer, visit);
    visit_trained_part(config, visit);
    visit_eval(config.eval, visit);
}

/// A value outside its bounds.
struct Fault {
    std::string key;   // "run.stages"
    std::string what;  // "must be 1 to 64"
};

std::optional<Fault> first_fault(const RunConfig& config);

}  // namespace swarm::run
