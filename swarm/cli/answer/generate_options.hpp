// A question to a model, a stack, or the peers of a run, and how it is to be answered: the options
// of `swarm generate`, which `swarm local` fills in, too.
#pragma once

#include "stacking/tokenizers/chat_template.hpp"
#include "swarm/base/units.hpp"
#include "swarm/cli/common/join_address.hpp"
#include "swarm/cli/compute/threads.hpp"
#include "swarm/protocol/session_messages.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace swarm::cli {

/// `join` alone: the peers of a run answer. `model` or `stack` alone: this process answers. `join`
/// with either: the peers that serve it answer.
struct GenerateOptions {
    std::string join;
    ExpectedOwner owner{};  // that must answer there
    std::string model;      // a path or a name
    std::string adapter;    // a folder of peft for `model`, in this process alone; empty: none
    std::string stack;      // STACK.toml: several models as one
    std::string prompt;
    std::uint32_t tokens = 200;  // at most
    double temperature = 0;
    double top_p = 0;         // bounds of the draw (stacking/sampler.hpp); 0 sets none
    std::uint32_t top_k = 0;  // same
    std::uint64_t seed = 1;
    std::vector<std::string> stops;  // the text ends before any of them
    Duration wait = std::chrono::seconds(60);
    std::string swarm_key_file;
    std::string tokenizer_file;  // that of the run at `join`; empty: the coordinator gives it
    // For a model or a stack:
    std::optional<std::string> system;  // system message; nullopt: that of the chat template
    /// A conversation that ends with a question; not empty: it stands for `prompt` and `system`.
    std::vector<stacking::tokenizers::ChatMessage> messages{};
    bool raw = false;
    bool ignore_eos = false;
    std::string weights = "as-is";  // in this process alone
    ThreadsFlag threads;            // in this process alone; none: auto
    std::string json_file;
    std::uint32_t stages = 1;               // in this process alone
    std::vector<std::uint32_t> exits_at{};  // numbers of layers behind which a stage ends instead
    std::vector<std::uint32_t> path;        // stages in their order; empty: each once
    double exit_threshold = 2;              // probability of a token; above 1: no early exit
    std::vector<protocol::RowCodec>
        codecs;  // codecs of the rows between stages, by link; empty: none
    // For the peers of a model or a stack:
    double min_p = 0;  // these as in protocol::Sampling; 0 sets none
    double repetition_penalty = 0;
    double presence_penalty = 0;
    double frequency_penalty = 0;
    std::vector<protocol::TokenBias> biases;
    std::string replay = "exact";  // or fast
    std::uint32_t guesses_max = protocol::kGuessesMax;
    std::vector<std::string> digests;                // first digits of the weights that are meant
    Duration late_after = std::chrono::seconds(10);  // until a member of a stack is left out
};

}  // namespace swarm::cli
