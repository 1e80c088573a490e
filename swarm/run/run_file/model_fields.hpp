// The keys of the table [model]: a part of the list in config_fields.hpp. Private to swarm/run.
// Threading: pure.
#pragma once

#include "swarm/protocol/limits.hpp"
#include "swarm/run/run_file/key.hpp"
#include "swarm/run/training/mixture.hpp"

#include <cstddef>
#include <cstdint>

namespace swarm::run {

// One microbatch, a sequence at least, travels in one frame, with one token more than its context.
inline constexpr std::uint32_t kContextMax = protocol::kTokensMax - 1;
// One stage may hold all layers: 9 tensors per layer and 3 more stay below kTensorsMax.
inline constexpr std::uint32_t kLayersMax = 448;
inline constexpr std::uint32_t kLayersWithBiasesMax = 341;  // or norms: 12 tensors per layer
// Rotary positions turn pairs of a head's values.
inline constexpr std::uint32_t kWidthMin = 2;
inline constexpr std::uint64_t kEmbeddingMax = 1ULL << 32;
// Keep every product of dimensions far below 2^64 and tensors of one layer below 2^32 elements.
inline constexpr std::uint32_t kWidthMax = 1U << 15;
// A layer of the oracle: 1 GiB of gradient.
inline constexpr std::uint32_t kOracleWidthMax = 1U << 28;
// The parameters of the largest state that a scenario of the simulator may have, 15 GB, and more.
inline constexpr std::uint64_t kStandsForMax = 1ULL << 32;
// The longest text that stacking/models takes.
inline constexpr std::uint32_t kMaxContextMax = 1U << 24;
inline constexpr std::uint32_t kHeadWidthMax = 1024;
inline constexpr std::uint32_t kFfnWidthMax = 1U << 17;
inline constexpr std::uint32_t kVocabularyMax = 1U << 18;
// Heads of a width of their own may make queries wider than a row.
inline constexpr std::uint64_t kHeadsToWidthMax = 4;
inline constexpr std::size_t kEndTokensMax = 64;
// SWARM (arXiv 2301.11913) computes its shared layers 12 and 16 times.
inline constexpr std::uint32_t kRepeatMax = 64;
// Layers that stacking/models reads: a run is served with each layer as often as it is computed.
inline constexpr std::uint32_t kComputedLayersMax = 1024;
// Each byte needs an id.
inline constexpr std::uint32_t kVocabularyMin = 256;

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
         "repeat",
         "Times in a row that each layer is computed, with one set of weights; only 1 for the "
         "oracle and where run.init is given.",
         NewValue::Never},
        model.repeat,
        Whole{1, kRepeatMax}
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
void visit_bottleneck(Model& model, Visitor& visit) {
    visit(
        {"model",
         "bottleneck",
         "Values per token that cross a boundary between stages, by a trained map below and one "
         "above it; below model.width, or 0, which lets all of them cross. The cut into stages "
         "stays that of the first step.",
         NewValue::Never},
        model.bottleneck,
        Whole{0, kAnyHigh, "model.width - 1"}
    );
}

template <class Model, class Visitor>
void visit_mixture(Model& model, Visitor& visit) {
    visit(
        {"model",
         "experts",
         "Feed-forward parts of each layer of kind mixtral or qwen3_moe, among which a router "
         "chooses "
         "for each token; 0 for the other kinds.",
         NewValue::Never},
        model.experts,
        Whole{0, kExpertsMax}
    );
    visit(
        {"model",
         "experts_per_token",
         "Experts that compute each token; with as many as model.experts, all do.",
         NewValue::Asked},
        model.experts_per_token,
        Whole{1, kExpertsMax}
    );
}

template <class Model, class Visitor>
void visit_rest_of_model(Model& model, Visitor& visit) {
    const bool is_oracle = model.kind == ModelKind::Oracle;
    visit(
        {"model",
         "vocabulary",
         "Tokens that the model knows; with a tokenizer spm:N or bpe:N it is N, also where the "
         "file says nothing.",
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

}  // namespace swarm::run
