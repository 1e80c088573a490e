// The oracle model for sessions: integers through a hash chain over (weights, layer, position,
// history). A token depends on every earlier token, every layer and every position, so a cache that
// is mixed up, has a gap or belongs to another session gives another token.
// Shapes: rows between stages are (R, width) fp32: 64 bits as four 16-bit integers, which fp32
// holds exactly, and then zeros. The stage with the last layer has the head; with `exits` every
// other stage has a head with other logits, too.
// Errors, threading: those of SessionCompute. Cost: O(rows x layers), no floating-point arithmetic.
// Source: own.
#pragma once

#include "stacking/composition/bridged_input.hpp"
#include "stacking/session_compute.hpp"
#include "swarm/protocol/session_messages.hpp"

#include <map>
#include <memory>
#include <vector>

namespace stacking::sessions {

struct OracleModel {
    static constexpr std::uint32_t kNumbersOfState = 4;

    std::uint64_t weights = 1;  // number of the weights: another number gives other tokens
    std::uint32_t layers = 3;
    std::uint32_t vocabulary = 97;
    std::uint32_t context = 4096;
    /// At least kNumbersOfState; a larger width gives rows as long as those of a real model.
    std::uint32_t width = kNumbersOfState;
    float spread = 16;           // range of the logits; with a small one no member wins at once
    bool tied = false;           // the last stage takes tokens, too
    bool exits = true;           // every stage has a head
    bool takes_any_row = false;  // hashes the bits of a row, which a lossy codec may have changed
};

/// A bridge that hashes (which, token, the row's bits): another token, row or `which` gives another
/// row. Its rows have the least width.
composition::BridgedInput oracle_bridge(std::uint64_t which);

class OracleSessionCompute final : public SessionCompute {
 public:
    /// `budget_positions`: maximum positions of all caches together.
    OracleSessionCompute(
        const OracleModel& model, swarm::protocol::LayerRange layers, std::uint64_t budget_positions
    );

    [[nodiscard]] StageShape shape() const override;
    [[nodiscard]] swarm::Result<> reserve(CacheId cache, std::uint32_t positions) override;
    void truncate(CacheId cache, std::uint32_t positions) override;
    void drop(CacheId cache) override;
    void shrink(CacheId cache, std::uint32_t positions) override;
    [[nodiscard]] swarm::Result<> share(CacheId from, CacheId to, std::uint32_t positions) override;
    [[nodiscard]] swarm::Result<std::vector<float>> run_layers(
        std::span<const SessionRow> rows, const StageInput& input
    ) override;
    [[nodiscard]] std::vector<float> logits(std::span<const float> outputs) override;

    [[nodiscard]] std::uint64_t reserved_positions() const { return reserved_; }

    /// Number of rows that did not continue their cache; 0 unless the caller has a bug.
    [[nodiscard]] std::uint64_t gaps() const { return gaps_; }

    [[nodiscard]] std::size_t largest_call() const { return largest_call_; }

    /// Number of rows that were computed.
    [[nodiscard]] std::uint64_t rows() const { return rows_; }

 private:
    struct Cache {
        std::uint32_t reserved = 0;
        /// The positions of each page. Caches share whole pages, whose room counts once.
        std::vector<std::shared_ptr<std::uint32_t>> pages{};
        std::vector<std::vector<std::uint64_t>> filled{};  // [position][layer]: hash of the chain
    };

    static void grow(Cache& cache, std::uint32_t positions);
    void free_from(Cache& cache, std::uint32_t positions);

    /// Returns the input state of each row. When a row cannot be computed, returns an error and
    /// changes no cache.
    swarm::Result<std::vector<std::uint64_t>> read(
        std::span<const SessionRow> rows, const StageInput& input
    );
    std::uint64_t advance(Cache& cache, std::uint64_t input) const;

    OracleModel model_;
    swarm::protocol::LayerRange layers_;
    std::uint64_t budget_;
    std::uint64_t reserved_ = 0;
    std::uint64_t gaps_ = 0;
    std::size_t largest_call_ = 0;
    std::uint64_t rows_ = 0;
    std::map<CacheId, Cache> caches_;
};

}  // namespace stacking::sessions
