// The oracle model for sessions: integers through a hash chain over (weights, layer, position,
// history), so a token depends on every earlier token, every layer and every position, and a mixed,
// gapped or foreign cache gives another one. What passes between stages is (R, width): 64 bits as
// four 16-bit integers, which fp32 holds exactly, and zeros.
// The last layer's stage has the head; where there are exits any other has one, too, with other
// logits.
// Errors, threading: as SessionCompute. Cost: O(rows x layers), no floating-point arithmetic.
// Source: own.
#pragma once

#include "stacking/session_compute.hpp"
#include "stacking/stack/bridged_input.hpp"
#include "swarm/protocol/session_messages.hpp"

#include <map>

namespace stacking::sessions {

struct OracleModel {
    static constexpr std::uint32_t kNumbersOfState = 4;

    std::uint64_t weights = 1;  // which weights: other ones give other tokens
    std::uint32_t layers = 3;
    std::uint32_t vocabulary = 97;
    std::uint32_t context = 4096;
    std::uint32_t width = kNumbersOfState;  // or more: rows as long as a real model's
    float spread = 16;           // of the logits: small ones leave the mean of several models open
    bool tied = false;           // the last stage takes tokens, too
    bool exits = true;           // every stage has a head
    bool takes_any_row = false;  // by its bits: of rows that a lossy codec has changed
};

/// Hashes (which, token, the row's bits): another token, row or bridge gives another row. Of the
/// least width.
stack::BridgedInput oracle_bridge(std::uint64_t which);

class OracleSessionCompute final : public SessionCompute {
 public:
    /// `budget_positions`: of all caches together.
    OracleSessionCompute(
        const OracleModel& model, swarm::protocol::LayerRange layers, std::uint64_t budget_positions
    );

    [[nodiscard]] StageShape shape() const override;
    [[nodiscard]] swarm::Result<> reserve(CacheId cache, std::uint32_t positions) override;
    void truncate(CacheId cache, std::uint32_t positions) override;
    void drop(CacheId cache) override;
    [[nodiscard]] swarm::Result<std::vector<float>> run_layers(
        std::span<const SessionRow> rows, const StageInput& input
    ) override;
    [[nodiscard]] std::vector<float> logits(std::span<const float> outputs) override;

    [[nodiscard]] std::uint64_t reserved_positions() const { return reserved_; }

    /// Rows that were asked for and did not continue their cache: must stay 0.
    [[nodiscard]] std::uint64_t gaps() const { return gaps_; }

    [[nodiscard]] std::size_t largest_call() const { return largest_call_; }

 private:
    struct Cache {
        std::uint32_t reserved = 0;
        std::vector<std::vector<std::uint64_t>> filled;  // [position][layer]: chain so far
    };

    /// What goes into each row; an error, and nothing was changed, when one cannot be computed.
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
    std::map<CacheId, Cache> caches_;
};

}  // namespace stacking::sessions
