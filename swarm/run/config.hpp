// A run as its owner describes it: the TOML file of `swarm train`, checked, with defaults filled
// in. The same text travels to every peer in ASSIGN, so all of them read the same run.
// Errors: Usage (Reject), one line that names the key, what is wrong and what is allowed.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/base/units.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace swarm::run {

enum class ModelKind : std::uint8_t { Llama, Oracle };

/// How the replicas of a stage become one again. Exact: each step, by the sums of all gradients.
/// Sparse: each trains alone for some steps, then they exchange a part of what they have changed.
enum class SyncMode : std::uint8_t { Exact, Sparse };

/// (B, T, C) = (batch, context, width). An oracle has layers, context, and a width of its layers.
struct ModelConfig {
    ModelKind kind = ModelKind::Llama;
    std::uint32_t layers = 6;
    std::uint32_t width = 128;
    std::uint32_t heads = 4;
    std::uint32_t kv_heads = 4;
    std::uint32_t ffn_width = 344;
    std::uint32_t vocabulary = 256;
    std::uint32_t context = 128;
    double rope_base = 10000;
    double norm_epsilon = 1e-5;
    bool tied_embeddings = false;  // the head is the embedding matrix
};

struct OptimizerConfig {
    double learning_rate = 3e-3;
    std::uint32_t warmup_steps = 10;
    double final_learning_rate = 3e-4;  // at the last step, on a cosine
    double beta1 = 0.9;
    double beta2 = 0.95;
    double epsilon = 1e-8;
    double weight_decay = 0.1;  // matrices only
    double clip_norm = 1.0;
};

inline constexpr const char* kFixedSplit = "fixed";
inline constexpr const char* kMeasuredSplit = "measured";

struct RunConfig {
    std::string name = "run";
    std::uint64_t seed = 1;
    std::uint64_t steps = 60;
    std::uint32_t stages = 3;
    std::uint32_t microbatches = 8;      // per step
    std::uint32_t batch = 4;             // sequences per microbatch (B)
    std::uint32_t in_flight = 0;         // 0: twice the peers, at least 2
    std::uint32_t min_peers = 0;         // wait for so many before the first step; 0: one per stage
    std::uint32_t min_holders = 1;       // peers of a stage that must hold a step before its commit
    std::uint32_t checkpoint_every = 0;  // steps; 0: at the end only
    std::string corpus;                  // path of the text; empty: the demo corpus
    std::string tokenizer = "bytes";     // or spm:N, SentencePiece with N tokens
    std::string tokenizer_sha256;        // of its file, once it is trained; of bytes none
    std::string policy = "expected_finish";
    std::string codec = "none";
    SyncMode mode = SyncMode::Exact;
    std::uint32_t sync_every = 0;     // steps between two exchanges of Sparse; 0: 8
    std::uint32_t replicas = 0;       // of each stage, for Sparse in one process; 0: 2
    std::string rebalancer = "none";  // moves a peer between stages, once per period
    std::uint32_t rebalance_every_s = 300;
    std::vector<std::uint32_t> layers_per_stage;  // empty: equal parameters
    std::string split = kFixedSplit;  // or measured: cut anew when a stage has become slower
    ModelConfig model;
    OptimizerConfig optimizer;
};

/// Bounds: stages <= layers, microbatches <= kMicrobatchesMax, unknown keys refused.
Result<RunConfig> parse_run(std::string_view toml, std::string_view name);
Result<> check_run(const RunConfig& config);
/// N of "spm:N"; nullopt when tokens are bytes, or when it is neither.
std::optional<std::uint32_t> sentencepiece_tokens(std::string_view tokenizer);
/// Gives the model as many tokens as a SentencePiece tokenizer has.
void follow_tokenizer(RunConfig& config);
/// The whole configuration as TOML; parse_run() of it gives an equal configuration.
std::string to_toml(const RunConfig& config);

/// With their defaults filled in; for Sparse.
std::uint32_t steps_between_syncs(const RunConfig& config);
std::uint32_t replicas_alone(const RunConfig& config);
/// Whether the replicas exchange what they have after `step`, which counts from 0.
bool is_sync_step(const RunConfig& config, std::uint64_t step);

/// `--model demo|oracle`.
Result<ModelConfig> named_model(std::string_view name);

}  // namespace swarm::run
