// The keys of a run file, once: the reader, the writer and the check for unknown keys walk this
// list, so none of them can forget one. Key = name of the field. Private to swarm/run.
#pragma once

#include "swarm/run/config.hpp"

#include <optional>
#include <string>

namespace swarm::run {

/// Calls visit(table, key, field) for every field, in the order of the structs.
template <class Config, class Visitor>
void visit_fields(Config& config, Visitor& visit) {
    visit("run", "name", config.name);
    visit("run", "seed", config.seed);
    visit("run", "steps", config.steps);
    visit("run", "stages", config.stages);
    visit("run", "microbatches", config.microbatches);
    visit("run", "batch", config.batch);
    visit("run", "in_flight", config.in_flight);
    visit("run", "min_peers", config.min_peers);
    visit("run", "min_holders", config.min_holders);
    visit("run", "checkpoint_every", config.checkpoint_every);
    visit("run", "corpus", config.corpus);
    visit("run", "tokenizer", config.tokenizer);
    visit("run", "tokenizer_sha256", config.tokenizer_sha256);
    visit("run", "policy", config.policy);
    visit("run", "codec", config.codec);
    visit("run", "mode", config.mode);
    visit("run", "sync_every", config.sync_every);
    visit("run", "replicas", config.replicas);
    visit("run", "rebalancer", config.rebalancer);
    visit("run", "rebalance_every_s", config.rebalance_every_s);
    visit("run", "layers_per_stage", config.layers_per_stage);
    visit("run", "split", config.split);
    auto& model = config.model;
    visit("model", "kind", model.kind);
    visit("model", "layers", model.layers);
    visit("model", "width", model.width);
    visit("model", "heads", model.heads);
    visit("model", "kv_heads", model.kv_heads);
    visit("model", "ffn_width", model.ffn_width);
    visit("model", "vocabulary", model.vocabulary);
    visit("model", "context", model.context);
    visit("model", "rope_base", model.rope_base);
    visit("model", "norm_epsilon", model.norm_epsilon);
    visit("model", "tied_embeddings", model.tied_embeddings);
    auto& optimizer = config.optimizer;
    visit("optimizer", "learning_rate", optimizer.learning_rate);
    visit("optimizer", "warmup_steps", optimizer.warmup_steps);
    visit("optimizer", "final_learning_rate", optimizer.final_learning_rate);
    visit("optimizer", "beta1", optimizer.beta1);
    visit("optimizer", "beta2", optimizer.beta2);
    visit("optimizer", "epsilon", optimizer.epsilon);
    visit("optimizer", "weight_decay", optimizer.weight_decay);
    visit("optimizer", "clip_norm", optimizer.clip_norm);
}

/// A value outside its bounds.
struct Fault {
    std::string key;   // "run.stages"
    std::string what;  // "must be 1 to 64"
};

std::optional<Fault> first_fault(const RunConfig& config);

}  // namespace swarm::run
