#include "swarm/run/config.hpp"

#include "swarm/protocol/limits.hpp"
#include "swarm/run/run_file/config_fields.hpp"
#include "swarm/run/training/batch_growth.hpp"
#include "swarm/run/training/boundary_maps.hpp"
#include "swarm/run/training/expert_stages.hpp"
#include "swarm/run/training/held_out.hpp"
#include "swarm/run/training/loop.hpp"
#include "swarm/run/training/mixture.hpp"
#include "swarm/run/training/paths.hpp"
#include "swarm/run/training/tokenizer_names.hpp"
#include "swarm/run/training/trained_part.hpp"
#include "swarm/run/training/weight_decay.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <string_view>
#include <type_traits>
#include <utility>

namespace swarm::run {

namespace {

constexpr std::uint32_t kReplicasDefault = 2;
// 257 tokens are the bytes and the unknown token.
constexpr std::uint32_t kTrainedTokensMin = 300;
constexpr std::uint32_t kTrainedTokensMax = 1U << 16;
constexpr std::string_view kSentencePiecePrefix = "spm:";
constexpr std::string_view kBpePrefix = "bpe:";
constexpr std::size_t kSha256Digits = 64;
constexpr std::size_t kNameMax = 64;

/// Keeps the first fault.
class Checker {
 public:
    void require(bool holds, std::string_view key, const std::string& what) {
        if (!holds && !fault_) {
            fault_ = Fault{std::string(key), what};
        }
    }

    void accept(const std::optional<std::pair<std::string, std::string>>& fault) {
        require(!fault, fault ? fault->first : "", fault ? fault->second : "");
    }

    /// For visit_fields(): each value against the bounds of its key.
    template <class Field, class Bounds>
    void operator()(const Key& key, const Field& field, const Bounds& bounds) {
        if (bounds.admits(field)) {
            return;
        }
        if constexpr (std::is_same_v<Bounds, Whole>) {
            require(
                false, dotted(key), "is " + std::to_string(field) + ", must be " + bounds.cell()
            );
        } else {
            require(false, dotted(key), "must be " + bounds.wanted());
        }
    }

    [[nodiscard]] const std::optional<Fault>& fault() const { return fault_; }

 private:
    std::optional<Fault> fault_;
};

bool is_plain_name(const std::string& name) {
    const auto plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '-' || c == '_' || c == '.';
    };
    return !name.empty() && name.size() <= kNameMax && name.front() != '.' &&
           std::all_of(name.begin(), name.end(), plain);
}

void check_layers_per_stage(const RunConfig& config, Checker& check) {
    const auto& split = config.layers_per_stage;
    if (split.empty()) {
        return;
    }
    check.require(
        split.size() == config.stages,
        "run.layers_per_stage",
        "has " + std::to_string(split.size()) + " entries, must have one per stage (" +
            std::to_string(config.stages) + ")"
    );
    const bool none_empty =
        std::all_of(split.begin(), split.end(), [](std::uint32_t layers) { return layers > 0; });
    check.require(none_empty, "run.layers_per_stage", "must give each stage at least 1 layer");
    const std::uint64_t sum = std::accumulate(split.begin(), split.end(), std::uint64_t{0});
    check.require(
        sum == config.model.layers,
        "run.layers_per_stage",
        "adds up to " + std::to_string(sum) + ", must add up to model.layers (" +
            std::to_string(config.model.layers) + ")"
    );
}

void check_schedule(const RunConfig& config, Checker& check) {
    check.require(
        is_plain_name(config.name),
        "run.name",
        "must be 1 to 64 of a-z A-Z 0-9 - _ . and not begin with a dot: it names files"
    );
    check.require(
        config.expert_stages > 1 || config.stages <= config.model.layers,
        "run.stages",
        "is " + std::to_string(config.stages) + ", must be at most model.layers (" +
            std::to_string(config.model.layers) + "): each stage needs a layer"
    );
}

void check_mode(const RunConfig& config, Checker& check) {
    if (config.mode == SyncMode::Exact) {
        constexpr const char* kLeaveOut = "must be left out where run.mode is exact: ";
        check.require(
            config.sync_every == 0,
            "run.sync_every",
            std::string(kLeaveOut) + "its replicas are equal after every step"
        );
        check.require(
            config.replicas == 0,
            "run.replicas",
            std::string(kLeaveOut) + "it gives the same bits for any number of replicas"
        );
        return;
    }
    check.require(
        replicas_alone(config) <= config.microbatches,
        "run.replicas",
        "is " + std::to_string(replicas_alone(config)) + ", must be at most run.microbatches (" +
            std::to_string(config.microbatches) + "): each replica needs one in every step"
    );
    check.require(
        config.checkpoint_every % steps_between_syncs(config) == 0,
        "run.checkpoint_every",
        "is " + std::to_string(config.checkpoint_every) +
            ", must be a multiple of run.sync_every (" +
            std::to_string(steps_between_syncs(config)) + "): only then there is one state to write"
    );
}

void check_optimizer(const RunConfig& config, Checker& check) {
    const OptimizerConfig& optimizer = config.optimizer;
    check.require(
        optimizer.warmup_tokens == 0 || optimizer.warmup_steps == 0,
        "optimizer.warmup_tokens",
        "is " + std::to_string(optimizer.warmup_tokens) + " and optimizer.warmup_steps is " +
            std::to_string(optimizer.warmup_steps) + ": leave one of them out"
    );
    check.require(
        optimizer.decay_steps == 0 || optimizer.schedule == Schedule::Wsd,
        "optimizer.decay_steps",
        "must be left out where optimizer.schedule is not wsd: the others fall as long as the run"
    );
    const std::optional<std::string> fault = no_decay_fault(config);
    check.require(!fault, "optimizer.no_decay", fault.value_or(""));
}

/// Within their ranges, heads and kv_heads are not 0.
void check_heads(const ModelConfig& model, Checker& check) {
    check.require(
        model.head_width > 0 ||
            (model.width % model.heads == 0 && model.width / model.heads % 2 == 0),
        "model.heads",
        "must divide model.width into heads of even width: rotary positions turn pairs"
    );
    check.require(
        model.head_width % 2 == 0, "model.head_width", "must be even: rotary positions turn pairs"
    );
    check.require(model.heads % model.kv_heads == 0, "model.kv_heads", "must divide model.heads");
    check.require(
        std::uint64_t{model.heads} * model.values_per_head() <= kWidthMax * kHeadsToWidthMax,
        "model.head_width",
        "x model.heads must be at most " + std::to_string(kWidthMax * kHeadsToWidthMax)
    );
}

void check_rotation(const ModelConfig& model, Checker& check) {
    check.require(
        model.rope_original_context == 0 || model.rope_base > 1,
        "model.rope_base",
        "must be above 1 where model.rope_original_context is given"
    );
    check.require(
        model.rope_original_context == 0 || model.rope_low_frequency < model.rope_high_frequency,
        "model.rope_high_frequency",
        "must be above model.rope_low_frequency"
    );
}

void check_tokens(const ModelConfig& model, Checker& check) {
    const auto known = [&](std::uint32_t token) { return token < model.vocabulary; };
    check.require(
        model.max_context == 0 || model.max_context >= model.context,
        "model.max_context",
        "must be at least model.context (" + std::to_string(model.context) + "), or 0"
    );
    check.require(
        model.begin_tokens.size() <= 1 && std::ranges::all_of(model.begin_tokens, known),
        "model.begin_tokens",
        "must be one token below model.vocabulary, or empty"
    );
    check.require(
        model.end_tokens.size() <= kEndTokensMax && std::ranges::all_of(model.end_tokens, known),
        "model.end_tokens",
        "must be at most " + std::to_string(kEndTokensMax) + " tokens below model.vocabulary"
    );
}

void check_repeat(const RunConfig& config, Checker& check) {
    const ModelConfig& model = config.model;
    check.require(
        model.repeat == 1 || model.kind != ModelKind::Oracle,
        "model.repeat",
        "must be 1: a layer of the oracle model computes nothing that could be repeated"
    );
    check.require(
        model.repeat == 1 || (config.init.empty() && config.init_sha256.empty()),
        "model.repeat",
        "must be 1 where run.init is given: that model's layers were not trained to be repeated"
    );
    check.require(
        std::uint64_t{model.layers} * model.repeat <= kComputedLayersMax,
        "model.repeat",
        "x model.layers must be at most " + std::to_string(kComputedLayersMax) +
            ": the run is served as a model of so many layers"
    );
}

void check_model(const RunConfig& config, Checker& check) {
    const ModelConfig& model = config.model;
    check.require(
        std::uint64_t{config.batch} * (std::uint64_t{model.context} + 1) <= protocol::kTokensMax,
        "run.batch",
        "x (model.context + 1) must be at most " + std::to_string(protocol::kTokensMax) +
            " tokens: one microbatch travels in one frame"
    );
    check.require(
        !model.tied_embeddings ||
            (model.kind != ModelKind::Oracle && config.mode == SyncMode::Exact),
        "model.tied_embeddings",
        "must be false for the oracle model and where run.mode is sparse"
    );
    if (model.kind == ModelKind::Oracle) {
        return;
    }
    check.require(
        std::uint64_t{config.batch} * model.context * widest_activation(config) * sizeof(float) <=
            protocol::kTensorBytesMax,
        "model.width",
        "makes activations of more than " + std::to_string(protocol::kTensorBytesMax) +
            " bytes; lower run.batch, model.context or model.width"
    );
    const bool has_more = model.kind == ModelKind::Qwen2 || has_query_key_norms(model.kind);
    const std::size_t layers_max = has_more ? kLayersWithBiasesMax : kLayersMax;
    check.require(
        model.layers <= layers_max,
        "model.layers",
        "must be at most " + std::to_string(layers_max) + ": one stage may hold all their tensors"
    );
    check.require(
        std::uint64_t{model.vocabulary} * model.width <= kEmbeddingMax,
        "model.vocabulary",
        "x model.width must be at most " + std::to_string(kEmbeddingMax)
    );
    check_heads(model, check);
    check_rotation(model, check);
    check_tokens(model, check);
}

bool is_sha256(const std::string& text) {
    return text.size() == kSha256Digits &&
           text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

void check_texts(const RunConfig& config, Checker& check) {
    const std::optional<std::uint32_t> tokens = trained_tokens(config.tokenizer);
    const bool known = tokens ? *tokens >= kTrainedTokensMin && *tokens <= kTrainedTokensMax
                              : config.tokenizer == "bytes" || config.tokenizer == kModelsTokenizer;
    check.require(
        known,
        "run.tokenizer",
        "is \"" + config.tokenizer + "\", must be bytes, model, spm:N or bpe:N with N from " +
            std::to_string(kTrainedTokensMin) + " to " + std::to_string(kTrainedTokensMax)
    );
    check.require(
        config.tokenizer != kModelsTokenizer || !config.init.empty() || !config.init_sha256.empty(),
        "run.tokenizer",
        "is \"model\", which needs a model in run.init"
    );
    check.require(
        config.tokenizer == "bytes" || config.model.kind != ModelKind::Oracle,
        "run.tokenizer",
        "must be bytes: the oracle model reads no text"
    );
    check.require(
        !tokens || config.model.vocabulary == *tokens,
        "model.vocabulary",
        "is " + std::to_string(config.model.vocabulary) + ", must be what run.tokenizer " +
            config.tokenizer + " has; leave it out"
    );
    check.require(
        config.corpus_sha256.empty() || is_sha256(config.corpus_sha256),
        "run.corpus_sha256",
        "must be 64 hexadecimal digits, or empty"
    );
    const std::string& digest = config.tokenizer_sha256;
    check.require(
        digest.empty() || (has_tokenizer_file(config.tokenizer) && is_sha256(digest)),
        "run.tokenizer_sha256",
        "must be 64 hexadecimal digits of a tokenizer spm:N, bpe:N or model, or empty"
    );
    check.require(
        config.init_sha256.empty() || is_sha256(config.init_sha256),
        "run.init_sha256",
        "must be 64 hexadecimal digits, or empty"
    );
    check.require(
        config.init.empty() || config.model.kind != ModelKind::Oracle,
        "run.init",
        "must be empty: the oracle model has no weights of others"
    );
}

}  // namespace

std::optional<Fault> first_fault(const RunConfig& config) {
    Checker check;
    check_texts(config, check);
    visit_fields(config, check);
    if (check.fault()) {
        return check.fault();  // the rules below divide by values within their ranges
    }
    check_repeat(config, check);
    check.accept(mixture_fault(config.model));
    check_model(config, check);
    check_schedule(config, check);
    check.accept(growth_fault(config));
    check_mode(config, check);
    check.accept(expert_stages_fault(config));
    check_layers_per_stage(config, check);
    check.accept(bottleneck_fault(config));
    if (!check.fault()) {  // the parts of a model are those of a sound shape
        check.accept(trained_part_fault(config));
    }
    check.accept(loop_fault(config));
    if (!check.fault()) {  // only a sound shape can be cut into stages
        check.accept(paths_fault(config));
    }
    check_optimizer(config, check);
    const auto eval = held_out_fault(config);
    check.require(!eval, "eval.texts", eval.value_or(""));
    return check.fault();
}

namespace {

std::optional<std::uint32_t> tokens_behind(std::string_view prefix, std::string_view tokenizer) {
    if (!tokenizer.starts_with(prefix)) {
        return std::nullopt;
    }
    tokenizer.remove_prefix(prefix.size());
    std::uint32_t tokens = 0;
    const char* const end = tokenizer.data() + tokenizer.size();
    const auto [rest, error] = std::from_chars(tokenizer.data(), end, tokens);
    // Not "spm:02000": one tokenizer has one name.
    const bool plain = error == std::errc{} && rest == end && !tokenizer.starts_with('0');
    return plain ? std::optional(tokens) : std::nullopt;
}

}  // namespace

std::optional<std::uint32_t> sentencepiece_tokens(std::string_view tokenizer) {
    return tokens_behind(kSentencePiecePrefix, tokenizer);
}

std::optional<std::uint32_t> bpe_tokens(std::string_view tokenizer) {
    return tokens_behind(kBpePrefix, tokenizer);
}

std::optional<std::uint32_t> trained_tokens(std::string_view tokenizer) {
    const auto pieces = sentencepiece_tokens(tokenizer);
    return pieces ? pieces : bpe_tokens(tokenizer);
}

bool has_tokenizer_file(std::string_view tokenizer) {
    return tokenizer == kModelsTokenizer || trained_tokens(tokenizer).has_value();
}

void follow_tokenizer(RunConfig& config) {
    config.model.vocabulary = trained_tokens(config.tokenizer).value_or(config.model.vocabulary);
}

RunConfig for_peers(RunConfig config) {
    const RunConfig standard;
    config.init = standard.init;  // its digest stays: states of another model are not the run's
    config.corpus = standard.corpus;
    config.corpus_sha256 = standard.corpus_sha256;
    config.checkpoint_keep = standard.checkpoint_keep;
    config.checkpoint_keep_every = standard.checkpoint_keep_every;
    config.eval = standard.eval;
    return config;
}

std::uint32_t steps_between_syncs(const RunConfig& config) {
    return config.sync_every == 0 ? kSyncEveryDefault : config.sync_every;
}

std::uint32_t replicas_alone(const RunConfig& config) {
    return config.replicas == 0 ? kReplicasDefault : config.replicas;
}

bool is_sync_step(const RunConfig& config, std::uint64_t step) {
    return (step + 1) % steps_between_syncs(config) == 0 || step + 1 == config.steps;
}

Result<> check_run(const RunConfig& config) {
    if (const auto fault = first_fault(config)) {
        return Error{ErrorCode::Usage, Reaction::Reject, fault->key + " " + fault->what};
    }
    return {};
}

Result<ModelConfig> named_model(std::string_view name) {
    if (name == "demo") {
        return ModelConfig{};
    }
    if (name == "oracle") {
        ModelConfig oracle;
        oracle.kind = ModelKind::Oracle;
        oracle.width = 1;
        oracle.heads = 1;
        oracle.kv_heads = 1;
        oracle.ffn_width = 1;
        oracle.context = 8;
        oracle.vocabulary = protocol::kMicrobatchesMax;  // its tokens are the microbatches' ids
        return oracle;
    }
    return Error{
        ErrorCode::Usage,
        Reaction::Reject,
        "no model is named \"" + std::string(name) + "\"; the names are demo, oracle"};
}

}  // namespace swarm::run
