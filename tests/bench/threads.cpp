#include "tests/bench/threads.hpp"

#include "stacking/models/any_model.hpp"
#include "swarm/base/try.hpp"
#include "swarm/net/device/worker_pool.hpp"
#include "tests/bench/decode.hpp"
#include "tests/bench/program_run.hpp"

#include <cstring>
#include <fstream>
#include <utility>

namespace swarm::bench {

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
    bench.alone_ = std::make_unique<LlamaSessions>(weights, LlamaSessions::Options{});
    bench.together_ = std::make_unique<LlamaSessions>(
        weights, LlamaSessions::Options{.workers = std::make_shared<net::WorkerPool>(threads)}
    );
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
    SWARM_TRY(const DecodeRun alone, decode_once(*alone_));
    SWARM_TRY(const DecodeRun together, decode_once(*together_));
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
    return ThreadsFigures{
        .decode_ratio = together.rates.decode_tokens_per_s / alone.rates.decode_tokens_per_s,
        .prompt_ratio = together.rates.prefill_tokens_per_s / alone.rates.prefill_tokens_per_s,
        .train_ratio = train_together / train_alone};
}

}  // namespace swarm::bench
