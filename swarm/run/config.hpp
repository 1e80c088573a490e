// A run as its owner describes it: the TOML file of `swarm train`, checked, with defaults filled
// in. The same text travels to every peer in ASSIGN, so all of them read the same run. README.md
// has a table of all keys.
// Threading: values and pure functions.
// Errors: Usage (Reject), one line with the key, the fault and the allowed values.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/base/units.hpp"
#include "swarm/run/choices.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace swarm::run {

/// (B, T, C) = (batch, context, width). The oracle uses layers, context and width, which is the
/// number of elements of a layer, and stands_for.
struct ModelConfig {
    ModelKind kind = ModelKind::Llama;
    std::uint32_t layers = 6;
    std::uint32_t width = 128;
    std::uint32_t heads = 4;
    std::uint32_t kv_heads = 4;
    std::uint32_t head_width = 0;  // values of a head; 0: width / heads
    std::uint32_t ffn_width = 344;
    std::uint32_t vocabulary = 256;
    std::uint32_t context = 128;
    double rope_base = 10000;
    double rope_factor = 1;  // frequencies are divided by it; the three keys below limit which
    double rope_low_frequency = 1;
    double rope_high_frequency = 4;
    std::uint32_t rope_original_context = 0;  // 0: all frequencies are divided
    double norm_epsilon = 1e-5;
    bool tied_embeddings = false;  // the head is the embedding matrix
    /// Parameters that a layer of the oracle stands for: its sums and its state travel in as many
    /// pieces as theirs would. 0: its own.
    std::uint64_t stands_for = 0;
    std::uint32_t max_context = 0;              // longest text that the model answers; 0: context
    std::vector<std::uint32_t> begin_tokens{};  // token before each text; empty: none
    std::vector<std::uint32_t> end_tokens{};    // tokens that end an answer
    std::uint32_t repeat = 1;  // times in a row that each layer is computed, with one weight set
    std::uint32_t bottleneck = 0;  // values per token that cross a stage boundary; 0: width
    std::uint32_t experts = 0;     // feed-forward parts of a layer that has_experts(); 0: no router
    std::uint32_t experts_per_token = 2;

    /// Values of one head. REQUIRES: heads > 0.
    [[nodiscard]] std::uint32_t values_per_head() const {
        return head_width > 0 ? head_width : width / heads;
    }
};

/// Steps between two exchanges of mode sparse where a run says nothing.
inline constexpr std::uint32_t kSyncEveryDefault = 8;

struct OptimizerConfig {
    double learning_rate = 3e-3;
    std::uint32_t warmup_steps = 10;
    std::uint64_t warmup_tokens = 0;  // instead of warmup_steps, which is 0 then
    Schedule schedule = Schedule::Cosine;
    std::uint64_t decay_steps = 0;      // last fall of wsd; 0: a tenth of the run
    double final_learning_rate = 3e-4;  // at the last step, unless the schedule is constant
    double beta1 = 0.9;
    double beta2 = 0.95;
    double epsilon = 1e-8;
    double weight_decay = 0.1;          // matrices only
    std::vector<std::string> no_decay;  // groups without it: training/weight_decay.hpp
    double clip_norm = 1.0;
};

struct TrainConfig {
    std::vector<std::string> freeze;            // groups of tensors: training/tensor_groups.hpp
    bool separate_documents = false;            // attention stops at the ends of documents
    std::vector<std::uint32_t> document_end{};  // token that ends a document; empty: not known yet
    double balance = 0.01;  // factor of the balance loss of a mixture: training/mixture.hpp
    std::vector<std::uint32_t> exits{};  // layers behind which the head answers, too
    double exit_weight = 0.3;            // factor of the loss of each exit
};

/// The second pass of some steps, which reads what the first one has written.
struct LoopConfig {
    std::uint32_t every = 0;  // steps from one looped step to the next; 0: none is
    double part = 0.25;       // share of the positions, those of which the first pass knew least
};

/// Paths of some microbatches that leave layers out or take them twice: training/paths.hpp.
struct PathsConfig {
    std::vector<std::uint32_t> layers;  // consecutive numbers, from 0
    std::uint32_t skip_every = 0;       // microbatches from one that leaves them out to the next
    std::uint32_t twice_every = 0;      // the same for taking them twice; 0: none does
};

/// The evaluation of held-out texts that the peers make between two steps.
struct EvalConfig {
    std::vector<std::string> texts;  // paths of the held-out texts; empty: no evaluation
    std::uint32_t every_steps = 50;
    std::uint32_t batches = 8;   // microbatches of each text
    std::uint32_t patience = 0;  // evaluations without a better one that end the run; 0: none do
};

/// Adapters, which are trained in place of the model: training/trained_part.hpp.
struct LoraConfig {
    std::uint32_t rank = 0;  // 0: no adapters
    double alpha = 0;        // 0: twice the rank
    std::vector<std::string> on = {"attn.wq", "attn.wv"};
};

struct RunConfig {
    std::string name = "run";
    std::uint64_t seed = 1;
    std::uint64_t steps = 60;
    std::uint32_t stages = 3;
    std::uint32_t microbatches = 8;        // per step
    std::uint32_t first_microbatches = 0;  // in step 1, where they grow; 0: all
    std::uint32_t grow_steps = 0;          // steps until the number is `microbatches`
    std::uint32_t batch = 4;               // sequences per microbatch (B)
    std::uint32_t in_flight = 0;           // 0: twice the peers, at least 2
    std::uint32_t min_peers = 0;           // the first step waits for them; 0: one per stage
    std::uint32_t min_holders = 1;       // peers of a stage that must hold a step before its commit
    std::uint32_t checkpoint_every = 0;  // steps; 0: at the end only
    std::uint32_t checkpoint_keep = 3;   // newest checkpoints on disk; 0: all
    std::uint32_t checkpoint_keep_every = 0;  // multiples of so many steps stay for ever; 0: none
    std::string init;                 // model whose weights the run begins with; empty: random ones
    std::string init_sha256;          // digest of these weights; empty: not read yet
    std::string corpus;               // path of the text; empty: the demo corpus
    std::string corpus_sha256;        // digest of the text; empty: not read yet
    std::string tokenizer = "bytes";  // or spm:N, SentencePiece with N tokens; or model: init's own
    std::string tokenizer_sha256;     // digest of the tokenizer's file; empty before training
    router::PolicyName policy;
    CodecSetting codec;
    SyncMode mode = SyncMode::Exact;
    std::uint32_t sync_every = 0;       // steps between two exchanges of Sparse; 0: 8
    std::uint32_t replicas = 0;         // replicas per stage, for Sparse in one process; 0: 2
    router::RebalancerName rebalancer;  // moves a peer between stages, once per period
    std::uint32_t rebalance_every_s = 300;
    std::vector<std::uint32_t> layers_per_stage;  // empty: equal parameters
    std::uint32_t expert_stages = 1;  // stages of each layer, among which its experts are dealt
    SplitMode split = SplitMode::Fixed;
    ModelConfig model;
    OptimizerConfig optimizer;
    TrainConfig train;
    LoraConfig lora;
    LoopConfig loop;
    PathsConfig paths;
    EvalConfig eval;
};

/// `name` names the text in errors. Refuses unknown keys and every value that check_run() refuses.
Result<RunConfig> parse_run(std::string_view toml, std::string_view name);
Result<> check_run(const RunConfig& config);
/// The N of "spm:N"; nullopt for "bytes" and for any other text.
std::optional<std::uint32_t> sentencepiece_tokens(std::string_view tokenizer);
/// The name of the tokenizer that a run takes from the model that it begins with.
inline constexpr std::string_view kModelsTokenizer = "model";
/// Whether tokens come from a file, which lies in the run's folder and in each checkpoint.
bool has_tokenizer_file(std::string_view tokenizer);
/// Gives the model as many tokens as a SentencePiece tokenizer has.
void follow_tokenizer(RunConfig& config);
/// The configuration without what only the owner's machine reads: the corpus and what stays on its
/// disk. It is what peers get, so that a path there or another machine's text tells them nothing.
RunConfig for_peers(RunConfig config);
/// The whole configuration as TOML; parse_run() of it gives an equal configuration.
std::string to_toml(const RunConfig& config);

// These are for mode sparse; 0 in the configuration is replaced by the default.
std::uint32_t steps_between_syncs(const RunConfig& config);
std::uint32_t replicas_alone(const RunConfig& config);
/// Whether the replicas exchange their changes after `step`, which counts from 0.
bool is_sync_step(const RunConfig& config, std::uint64_t step);

/// The model that `--model demo` or `--model oracle` names.
Result<ModelConfig> named_model(std::string_view name);

}  // namespace swarm::run
