// Measures what more threads give: SmolLM2 in int8 in this process, and `swarm train --single` of
// the model of the bench `pipeline`, each with one thread and with several in turns.
// Figures: ratios of wall time, several threads over one, of the same work; each round is one pair.
// An answer reads all weights for each token, so its limit is the rate at which memory is read.
// Threading: one caller. Cost: half a minute per round.
// Errors: NotFound (the model is not in the cache, no program beside swarm-bench), ConnectionLost
// (a run failed), Mismatch (the threads changed a bit of an answer).
#pragma once

#include "stacking/kernels/panel_memory.hpp"
#include "stacking/llama/llama_sessions.hpp"
#include "swarm/base/result.hpp"
#include "swarm/base/workers.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>

namespace swarm::bench {

struct ThreadsFigures {
    double decode_ratio = 0;
    double prompt_ratio = 0;
    double train_ratio = 0;
    double memory_ratio = 0;  // merely reading memory
    /// Bytes of weights that an answer reads per second, over those that merely are read by as many
    /// threads.
    double memory_share_alone = 0;
    double memory_share_together = 0;
};

class ThreadsBench {
 public:
    /// Loads the model. `threads`: 2 and more.
    static Result<ThreadsBench> open(
        const std::filesystem::path& program,
        const std::filesystem::path& model,
        std::uint32_t threads
    );

    Result<ThreadsFigures> round();

 private:
    ThreadsBench() = default;

    Result<double> train(std::uint32_t threads) const;

    std::filesystem::path program_;
    std::uint32_t threads_ = 0;
    std::shared_ptr<swarm::Workers> workers_;
    std::uint64_t weight_bytes_ = 0;
    stacking::kernels::PanelMemory memory_;  // larger than caches, in pages like those of weights
    std::unique_ptr<stacking::llama::LlamaSessions> alone_;
    std::unique_ptr<stacking::llama::LlamaSessions> together_;
};

}  // namespace swarm::bench
