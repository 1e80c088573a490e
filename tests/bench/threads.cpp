#include "tests/bench/threads.hpp"

#include "stacking/models/any_model.hpp"
#include "swarm/base/check.hpp"
#include "swarm/base/try.hpp"
#include "swarm/net/device/worker_pool.hpp"
#include "tests/bench/decode.hpp"
#include "tests/bench/program_run.hpp"

#include <chrono>
#include <cstring>
#include <fstream>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace swarm::bench {
namespace {

constexpr std::size_t kMemoryBytes = 512U << 20;
constexpr std::size_t kLineBytes = 64;  // comes whole, so one word of it is enough
constexpr std::size_t kStreams = 4;     // sums that do not wait for each other
constexpr std::size_t kAheadBytes = 4096;
constexpr std::size_t kUnitBytes = 256U << 10;

/// Bytes per second at which the threads read all of the memory.
double read_rate(const std::byte* memory, Workers& workers) {
    std::vector<std::uint64_t> sums(workers.threads());
    const auto begin = std::chrono::steady_clock::now();
    workers.split(
        kMemoryBytes / kUnitBytes,
        Workers::kLeastWork,
        [&](UnitRange units, std::size_t thread) {
            std::uint64_t streams[kStreams] = {};
            const std::byte* const end = memory + units.end * kUnitBytes;
            for (const std::byte* at = memory + units.begin * kUnitBytes; at < end;) {
                for (std::uint64_t& sum : streams) {
                    std::uint64_t word = 0;
                    std::memcpy(&word, at, sizeof word);
                    __builtin_prefetch(at + kAheadBytes);
                    sum += word;
                    at += kLineBytes;
                }
            }
            sums[thread] = std::accumulate(streams, streams + kStreams, sums[thread]);
        }
    );
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    SWARM_ASSERT(sums.front() > 0);  // so that nothing is left out
    return static_cast<double>(kMemoryBytes) / took.count();
}

}  // namespace

using stacking::kernels::WeightFormat;
using stacking::llama::LlamaSessions;

Result<ThreadsBench> ThreadsBench::open(
    const std::filesystem::path& program, const std::filesystem::path& model, std::uint32_t threads
) {
    SWARM_TRY(check_program(program));
    SWARM_TRY(const auto source, stacking::models::open_model(model));
    const auto layout = split(source.architecture(), 1).front();
    SWARM_TRY(const auto weights, stacking::llama::load_stage(source, layout, WeightFormat::Int8));
    ThreadsBench bench;
    bench.program_ = program;
    bench.threads_ = threads;
    bench.workers_ = std::make_shared<net::WorkerPool>(threads);
    // The head is the embedding, so a token reads all weights once.
    bench.weight_bytes_ = stacking::llama::kept_bytes(source, layout, WeightFormat::Int8);
    bench.memory_ = stacking::kernels::allocate_panels(kMemoryBytes);
    std::memset(bench.memory_.get(), 1, kMemoryBytes);
    bench.alone_ = std::make_unique<LlamaSessions>(weights, LlamaSessions::Options{});
    bench.together_ =
        std::make_unique<LlamaSessions>(weights, LlamaSessions::Options{.workers = bench.workers_});
    return bench;
}

Result<double> ThreadsBench::train(std::uint32_t threads) const {
    const ScratchFolder scratch;
    std::ofstream(scratch / "run.toml") << kPipelineRun;
    SWARM_TRY(
        const pid_t single,
        start_program(
            {program_.string(),
             "train",
             scratch / "run.toml",
             "--single",
             "--steps",
             "1",
             "--microbatches",
             "8",
             "--threads",
             std::to_string(threads),
             "--dir",
             scratch / "run",
             "--json",
             scratch / "run.json"}
        )
    );
    SWARM_TRY(const EndedRun ended, finish_run(single, scratch / "run.json"));
    return ended.tokens_per_s;
}

Result<ThreadsFigures> ThreadsBench::round() {
    SWARM_TRY(const DecodeRun alone, decode_once(*alone_, {}));
    SWARM_TRY(const DecodeRun together, decode_once(*together_, {}));
    if (alone.logits.size() != together.logits.size() ||
        std::memcmp(
            alone.logits.data(), together.logits.data(), alone.logits.size() * sizeof(float)
        ) != 0) {
        return Error{
            ErrorCode::Mismatch,
            Reaction::Fatal,
            std::to_string(threads_) + " threads give other logits than one"};
    }
    SWARM_TRY(const double train_alone, train(1));
    SWARM_TRY(const double train_together, train(threads_));
    OneThread one;
    const double memory_alone = read_rate(memory_.get(), one);
    const double memory_together = read_rate(memory_.get(), *workers_);
    const auto share_of = [&](const DecodeRun& run, double memory_bytes_per_s) {
        return run.rates.decode_tokens_per_s * static_cast<double>(weight_bytes_) /
               memory_bytes_per_s;
    };
    return ThreadsFigures{
        .decode_ratio = together.rates.decode_tokens_per_s / alone.rates.decode_tokens_per_s,
        .prompt_ratio = together.rates.prefill_tokens_per_s / alone.rates.prefill_tokens_per_s,
        .train_ratio = train_together / train_alone,
        .memory_ratio = memory_together / memory_alone,
        .memory_share_alone = share_of(alone, memory_alone),
        .memory_share_together = share_of(together, memory_together)};
}

}  // namespace swarm::bench
