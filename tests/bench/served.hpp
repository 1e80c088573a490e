// Measures a model that peers serve against the same model in one process: the program itself, run
// like a person runs it, in turns: `generate --model` alone, then `local --model` with 1, 2 and 3
// stages of one peer each on loopback. One thread per process.
// Threading: one thread. Units: tokens per second of wall time. Errors: NotFound (no program
// there), Malformed (the program's report).
#pragma once

#include "swarm/base/result.hpp"

#include <array>
#include <cstddef>
#include <filesystem>
#include <string>

namespace swarm::bench {

inline constexpr std::size_t kServedStagesMax = 3;

struct ServedRates {
    double alone = 0;                               // decode, tokens per second
    std::array<double, kServedStagesMax> served{};  // by 1, 2, 3 stages

    /// Milliseconds that each stage beyond the first adds to a token.
    [[nodiscard]] double added_ms_per_hop() const;
};

/// `program`: swarm. `weights`: "as-is", "fp32", "bf16" or "int8".
Result<ServedRates> measure_served(
    const std::filesystem::path& program, const std::string& model, const std::string& weights
);

}  // namespace swarm::bench
