// Measures text of a real model in one process: the rates at which prompts are read and tokens
// made, with each format of weights, and in turns with another program that does the same.
// Threading: one caller. Units: tokens per second of wall time, and of CPU time.
// Errors: NotFound (the model is not there), Malformed (output of the other program).
#pragma once

#include "stacking/llama/llama_sessions.hpp"
#include "swarm/base/result.hpp"

#include <boost/json/array.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace swarm::bench {

inline constexpr std::uint32_t kPromptTokensMax = 8192;
inline constexpr std::uint32_t kTextsMax = 64;

/// The work that is measured, and the other program.
struct DecodeOptions {
    std::filesystem::path model = {};  // empty: the model of the golden files
    std::string weights = {};          // empty: each choice
    std::uint32_t threads = 1;
    std::uint32_t prompt = 128;  // tokens
    std::uint32_t tokens = 32;   // made after the prompt
    std::uint32_t texts = 1;     // made together, a row of each at a time
    // A command whose last line on stdout is a JSON object with the four rates of the same work;
    // empty: none.
    std::string beside = {};
};

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

/// Prints a line for each row, and returns the same for a report.
boost::json::array tell(const std::vector<DecodeRow>& rows);

struct DecodeRun {
    DecodeRates rates;
    std::vector<float> logits;  // those of the last token
};

/// Reads the prompt in new sessions and then makes the tokens; `model` and what follows `tokens`
/// is not looked at.
Result<DecodeRun> decode_once(
    stacking::llama::LlamaSessions& sessions, const DecodeOptions& options
);

Result<std::vector<DecodeRow>> measure_decode(const DecodeOptions& options, std::size_t rounds);

}  // namespace swarm::bench
