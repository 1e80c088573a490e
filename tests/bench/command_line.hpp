// The command line of swarm-bench as data. Only command_line.cpp sees CLI11.
// Errors: an Exit with code 2 and its text for stderr. --help is an Exit with code 0 and its text
// for stdout.
#pragma once

#include "tests/bench/decode.hpp"
#include "tests/bench/quality/quality.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace swarm::bench {

struct BenchOptions {
    std::string name;       // name of the bench: pick, sim, link and so on
    std::size_t runs = 5;   // the figures are medians over so many runs
    std::string json_file;  // empty: none is written
    // codec:
    std::string state_file;
    DecodeOptions decode;  // but for the two that other benches have, too
    // decode and served:
    std::string weights;  // empty: each for decode, as-is for served
    // decode and threads:
    std::optional<std::uint32_t> threads;  // without: 1 for decode, 2 beside one for threads
    // allreduce:
    std::uint32_t mib = 64;
    std::string python = "python3";
    // quality:
    QualityOptions quality;
};

struct BenchExit {
    int code = 0;
    std::string text;
};

using BenchCommand = std::variant<BenchOptions, BenchExit>;

BenchCommand parse_bench_command_line(int argc, const char* const* argv);

}  // namespace swarm::bench
