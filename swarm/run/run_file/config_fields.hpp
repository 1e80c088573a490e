// The keys of a run file, once: name, meaning, field and bounds of each. The reader, the writer,
// the checks for unknown keys and for ranges, and the reference (run_reference.hpp) walk this list,
// so none of them can forget a key. A key has the name of its field. Private to swarm/run.
#pragma once

#include "swarm/protocol/limits.hpp"
#include "swarm/run/config.hpp"
#include "swarm/run/run_file/config_changes.hpp"
#include "swarm/run/run_file/key_bounds.hpp"

#include <limits>
#include <optional>
#include <string>

namespace swarm::run {

// TOML's integers are int64; the file must be able to say every seed.
inline constexpr std::uint64_t kSeedMax = std::numeric_limits<std::int64_t>::max();
inline constexpr std::uint64_t kStepsMax = 1'000'000'000;
// More than any model was trained on, and far below 2^63.
inline constexpr std::uint64_t kWarmupTokensMax = 1'000'000'000'000'000;
inline constexpr std::uint32_t kHoldersMax = 64;
// SparseLoCo's own trials end at 500 (methods: H of 15 to 50 is usual).
inline constexpr std::uint32_t kSyncEveryMax = 1000;
// One microbatch travels in one frame: batch x (context + 1) tokens, each factor at its least.
inline constexpr std::uint32_t kBatchMax = protocol::kTokensMax / 2;
inline constexpr std::uint32_t kContextMax = protocol::kTokensMax - 1;
// One stage may hold all layers: 9 tensors per layer and 3 more stay below kTensorsMax.
inline constexpr std::uint32_t kLayersMax = 448;
inline constexpr std::uint32_t kLayersWithBiasesMax = 341;  // 12 tensors per layer
// Rotary positions turn pairs of a head's values.
inline constexpr std::uint32_t kWidthMin = 2;
inline constexpr std::uint64_t kEmbeddingMax = 1ULL << 32;
// Keep every product of dimensions far below 2^64 and tensors of one layer below 2^32 elements.
inline constexpr std::uint32_t kWidthMax = 1U << 15;
// A layer of the oracle: 1 GiB of gradient.
inline constexpr std::uint32_t kOracleWidthMax = 1U << 28;
// The parameters of the largest state that a scenario of the simulator may have, 15 GB, and more.
inline constexpr std::uint64_t kStandsForMax = 1ULL << 32;
inline constexpr std::uint32_t kMaxContextMax = 1U << 24;  // what stacking/models takes
inline constexpr std::uint32_t kHeadWidthMax = 1024;
inline constexpr std::uint32_t kFfnWidthMax = 1U << 17;
inline constexpr std::uint32_t kVocabularyMax = 1U << 18;
// Heads of a width of their own may make queries wider than a row.
inline constexpr std::uint64_t kHeadsToWidthMax = 4;
inline constexpr std::size_t kEndTokensMax = 64;
// Each byte needs an id.
inline constexpr std::uint32_t kVocabularyMin = 256;

/// Facts that the list holds about a key beside its field and its bounds.
struct Key {
    const char* table;
    const char* name;
    const char* meaning;                   // one sentence
    NewValue new_value = NewValue::Taken;  // for a run that goes on with another value
};

/// "run.stages".
inline std::string dotted(const Key& key) {
    return std::string(key.table) + "." + key.name;
}

template <Choice Type>
Names one_of(const Type& /*field*/) {
    return {&choice_names<Type>};
}

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
    visit(
        {"run", "microbatches", "Microbatches per step.", NewValue::Asked},
        config.microbatches,
        Whole{1, protocol::kMicrobatchesMax}
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
         NewValue::Never},
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
         "File with the text to train on, relative to the folder of the run file; without one "
         "it is the demo corpus."},
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
         "How text becomes tokens: as bytes; by a SentencePiece tokenizer of that many tokens, "
         "which is trained on the corpus; or by the tokenizer of run.init, which is taken where "
         "nothing is said.",
         NewValue::Never},
        config.tokenizer,
        Text{"\"bytes\", \"model\", or \"spm:300\" to \"spm:65536\""}
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
         "split",
         "Whether the cut of the layers into stages stays, or is made anew when a stage has become "
         "slower than the others."},
        config.split,
        one_of(config.split)
    );
}

template <class Model, class Visitor>
void visit_shape(Model& model, Visitor& visit) {
    visit(
        {"model",
         "kind",
         "Family of the model, or the oracle: a model for tests, whose gradients count "
         "microbatches.",
         NewValue::Never},
        model.kind,
        one_of(model.kind)
    );
    const bool is_oracle = model.kind == ModelKind::Oracle;  // a reader has just read it
    visit(
        {"model", "layers", "Layers of the model.", NewValue::Never},
        model.layers,
        Whole{1, kLayersMax}
    );
    visit(
        {"model",
         "width",
         "Values per token between layers; an oracle takes 1 to 268435456 and has 1 where the file "
         "says nothing.",
         NewValue::Never},
        model.width,
        is_oracle ? Whole{1, kOracleWidthMax} : Whole{kWidthMin, kWidthMax}
    );
    visit(
        {"model",
         "heads",
         "Attention heads; they divide model.width into heads of even width.",
         NewValue::Never},
        model.heads,
        Whole{1, kAnyHigh, "model.width / 2", is_oracle}
    );
    visit(
        {"model",
         "kv_heads",
         "Heads that keep keys and values; they divide model.heads.",
         NewValue::Never},
        model.kv_heads,
        Whole{1, kAnyHigh, "model.heads", is_oracle}
    );
    visit(
        {"model",
         "head_width",
         "Values of a head, an even number; 0 stands for model.width / model.heads.",
         NewValue::Never},
        model.head_width,
        Whole{0, kHeadWidthMax, nullptr, is_oracle}
    );
    visit(
        {"model", "ffn_width", "Width of the feed-forward part of a layer.", NewValue::Never},
        model.ffn_width,
        Whole{1, kFfnWidthMax, nullptr, is_oracle}
    );
}

/// Rotary positions for texts longer than those of the first training.
template <class Model, class Visitor>
void visit_rope_scaling(Model& model, Visitor& visit) {
    const bool is_oracle = model.kind == ModelKind::Oracle;
    visit(
        {"model",
         "rope_factor",
         "Number by which the frequencies of rotary positions are divided.",
         NewValue::Asked},
        model.rope_factor,
        Real{1e-6, 1e6, is_oracle}
    );
    visit(
        {"model",
         "rope_original_context",
         "Context of the first training: as in Llama 3, only frequencies with fewer waves in it "
         "than the next keys say are divided; 0 divides all.",
         NewValue::Asked},
        model.rope_original_context,
        Whole{0, kAnyHigh, nullptr, is_oracle}
    );
    visit(
        {"model",
         "rope_low_frequency",
         "Waves in that context up to which a frequency is divided by the whole factor.",
         NewValue::Asked},
        model.rope_low_frequency,
        Real{1e-6, 1e6, is_oracle}
    );
    visit(
        {"model",
         "rope_high_frequency",
         "Waves in that context from which a frequency stays as it is.",
         NewValue::Asked},
        model.rope_high_frequency,
        Real{1e-6, 1e6, is_oracle}
    );
}

template <class Model, class Visitor>
void visit_text_ends(Model& model, Visitor& visit) {
    visit(
        {"model",
         "max_context",
         "Longest text that the trained model answers, which a base model may know to be longer "
         "than what it is trained on here; at least model.context, or 0, which stands for it.",
         NewValue::Taken},
        model.max_context,
        Whole{0, kMaxContextMax}
    );
    visit(
        {"model",
         "begin_tokens",
         "Token that stands before each text; training does not add it.",
         NewValue::Taken},
        model.begin_tokens,
        WholeList{"one token, or empty"}
    );
    visit(
        {"model", "end_tokens", "Tokens at which an answer of the model ends.", NewValue::Taken},
        model.end_tokens,
        WholeList{"at most 64 tokens"}
    );
}

template <class Model, class Visitor>
void visit_rest_of_model(Model& model, Visitor& visit) {
    const bool is_oracle = model.kind == ModelKind::Oracle;
    visit(
        {"model",
         "vocabulary",
         "Tokens that the model knows; with a tokenizer spm:N it is N, also where the file says "
         "nothing.",
         NewValue::Never},
        model.vocabulary,
        Whole{kVocabularyMin, kVocabularyMax}
    );
    visit(
        {"model", "context", "Tokens per sequence.", NewValue::Asked},
        model.context,
        Whole{1, kContextMax}
    );
    visit(
        {"model", "rope_base", "Base of the rotary positions.", NewValue::Asked},
        model.rope_base,
        Real{1, 1e12, is_oracle}
    );
    visit(
        {"model",
         "norm_epsilon",
         "Number that RMSNorm adds to the mean of squares.",
         NewValue::Asked},
        model.norm_epsilon,
        Real{1e-12, 1, is_oracle}
    );
    visit(
        {"model",
         "tied_embeddings",
         "Whether the head is the embedding matrix; false for the oracle and in mode sparse.",
         NewValue::Never},
        model.tied_embeddings,
        YesOrNo{}
    );
    visit(
        {"model",
         "stands_for",
         "Parameters that a layer of the oracle stands for in a simulation: its sums and its state "
         "travel in as many pieces as theirs would; 0 stands for its own.",
         NewValue::Never},
        model.stands_for,
        Whole{0, kStandsForMax}
    );
}

template <class Optimizer, class Visitor>
void visit_optimizer(Optimizer& optimizer, Visitor& visit) {
    visit(
        {"optimizer", "learning_rate", "Learning rate of AdamW after the warm-up."},
        optimizer.learning_rate,
        Real{0, 100}
    );
    visit(
        {"optimizer", "warmup_steps", "Steps in which the learning rate rises from 0 in a line."},
        optimizer.warmup_steps,
        Whole{}
    );
    visit(
        {"optimizer",
         "warmup_tokens",
         "Tokens in which the learning rate rises from 0 in a line; where they are given, "
         "warmup_steps is 0."},
        optimizer.warmup_tokens,
        Whole{0, kWarmupTokensMax}
    );
    visit(
        {"optimizer",
         "schedule",
         "Way of the learning rate after the warm-up: on a cosine or in a line to "
         "final_learning_rate, at rest until a last fall in a line (wsd), or always at rest."},
        optimizer.schedule,
        one_of(optimizer.schedule)
    );
    visit(
        {"optimizer",
         "decay_steps",
         "Steps of the last fall of schedule wsd; 0 stands for a tenth of the run, and other "
         "schedules take only 0."},
        optimizer.decay_steps,
        Whole{0, kStepsMax}
    );
    visit(
        {"optimizer",
         "final_learning_rate",
         "Learning rate of the last step, to which the schedule falls; constant does not read "
         "it."},
        optimizer.final_learning_rate,
        Real{0, 100}
    );
    visit(
        {"optimizer",
         "beta1",
         "Share of AdamW's mean of gradients that a step keeps.",
         NewValue::Asked},
        optimizer.beta1,
        Fraction{}
    );
    visit(
        {"optimizer",
         "beta2",
         "Share of AdamW's mean of squared gradients that a step keeps.",
         NewValue::Asked},
        optimizer.beta2,
        Fraction{}
    );
    visit(
        {"optimizer",
         "epsilon",
         "Number that AdamW adds to the divisor of an update.",
         NewValue::Asked},
        optimizer.epsilon,
        Real{1e-30, 1}
    );
    visit(
        {"optimizer",
         "weight_decay",
         "Weight decay of matrices; vectors have none.",
         NewValue::Asked},
        optimizer.weight_decay,
        Fraction{}
    );
    visit(
        {"optimizer",
         "no_decay",
         "Groups of tensors without weight decay: vectors (norms, bias) never have any.",
         NewValue::Asked},
        optimizer.no_decay,
        TextList{"embed, head, norms, bias, attn, mlp and layers.N, in quotes; or empty"}
    );
    visit(
        {"optimizer",
         "clip_norm",
         "Norm above which the gradient of the whole model is scaled down."},
        optimizer.clip_norm,
        Real{1e-12, 1e12}
    );
}

/// Calls visit(key, field, bounds) for every field. The bounds of some of a model's fields follow
/// from its kind.
template <class Config, class Visitor>
void visit_fields(Config& config, Visitor& visit) {
    visit_amounts(config, visit);
    visit_checkpoints(config, visit);
    visit_start(config, visit);
    visit_texts(config, visit);
    visit_choices(config, visit);
    visit_cuts(config, visit);
    visit_shape(config.model, visit);
    visit_rest_of_model(config.model, visit);
    visit_rope_scaling(config.model, visit);
    visit_text_ends(config.model, visit);
    visit_optimizer(config.optimizer, visit);
}

/// A value outside its bounds.
struct Fault {
    std::string key;   // "run.stages"
    std::string what;  // "must be 1 to 64"
};

std::optional<Fault> first_fault(const RunConfig& config);

}  // namespace swarm::run
