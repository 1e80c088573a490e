// Measures text of a real model in one process with one thread: the rates at which prompts are read
// and tokens made, with each format of weights, and in turns with another program that does the
// same.
// Threading: one thread. Units: tokens per second of wall time, and of CPU time.
// Errors: NotFound (the model is not in the cache), Malformed (output of the other program).
#pragma once

#include "stacking/llama/llama_sessions.hpp"
#include "swarm/base/result.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace swarm::bench {

inline constexpr std::size_t kDecodePrompt = 128;  // tokens
inline constexpr std::size_t kDecodeTokens = 32;

struct DecodeRates {
    double decode_tokens_per_s = 0;
    double prefill_tokens_per_s = 0;
    double decode_tokens_per_cpu_s = 0;
    double prefill_tokens_per_cpu_s = 0;
};

struct DecodeRow {
    std::string name;  // "fp32", "bf16", "int8", "as-is", "beside"
    DecodeRates median;
    DecodeRates ratio;  // median of the rounds' ratios to the other program; 0 without one
};

struct DecodeRun {
    DecodeRates rates;
    std::vector<float> logits;  // those of the last token
};

/// Reads kDecodePrompt tokens in a new session and then makes kDecodeTokens.
Result<DecodeRun> decode_once(stacking::llama::LlamaSessions& sessions);

/// `beside`: a command whose last line on stdout is a JSON object with the four rates of the same
/// work; empty: none.
Result<std::vector<DecodeRow>> measure_decode(
    const std::filesystem::path& model, const std::string& beside, std::size_t rounds
);

}  // namespace swarm::bench
