// Consecutive layers of a Llama on the CPU, for many sessions at once.
//   embedding, layers x (RMSNorm, grouped-query attention with RoPE, RMSNorm, SwiGLU), norm, head
// Invariant: that of SessionCompute, by construction: the numbers of a row are chains of operations
// that no other row enters (kernels.hpp). So neither stages, nor batches, nor the chunks of a
// prefill, nor the instruction set change a bit.
// Threading: one thread; instances may have the same weights. Errors: those of SessionCompute.
// Cost: weights are read once per kRowsAtOnce rows; besides the result, scratch for as many rows.
// Source: LlamaForCausalLM of transformers defines the computation; the code is own.
#pragma once

#include "stacking/llama/kv_pages.hpp"
#include "stacking/llama/rotary.hpp"
#include "stacking/llama/stage_weights.hpp"

#include <memory>

namespace stacking::llama {

class LlamaSessions final : public SessionCompute {
 public:
    struct Options {
        std::size_t kv_budget_bytes = 1U << 30;
        kernels::Path path = kernels::best_kernels().path;  // REQUIRES: this processor has it
    };

    LlamaSessions(std::shared_ptr<const StageWeights> weights, const Options& options);

    [[nodiscard]] StageShape shape() const override;
    [[nodiscard]] swarm::Result<> reserve(CacheId cache, std::uint32_t positions) override;
    void truncate(CacheId cache, std::uint32_t positions) override;
    void drop(CacheId cache) override;
    [[nodiscard]] swarm::Result<std::vector<float>> run_layers(
        std::span<const SessionRow> rows, const StageInput& input
    ) override;
    [[nodiscard]] std::vector<float> logits(std::span<const float> outputs) override;

 private:
    struct Row {
        KvCache* cache = nullptr;
        std::uint32_t position = 0;
    };

    [[nodiscard]] swarm::Result<> check_input(std::size_t rows, const StageInput& input) const;
    [[nodiscard]] swarm::Result<> find_rows(std::span<const SessionRow> rows);
    void run_chunk(std::size_t first, std::size_t count, const StageInput& input);
    void attend(std::size_t layer, std::size_t first, std::size_t count);
    void feed_forward(const LayerWeights& layer, std::size_t count);
    void store_key_value(std::size_t layer, const Row& row, const float* key, const float* value);
    void normalise(const std::vector<float>& weight, std::size_t count);
    /// Adds in x matrix to hidden_.
    void add_product(const kernels::PackedMatrix& matrix, const kernels::Rows& in);

    std::shared_ptr<const StageWeights> weights_;
    const kernels::Kernels& kernels_;
    Rotary rotary_;
    KvPages caches_;
    // Scratch of the current call.
    std::vector<Row> rows_;
    std::vector<float> hidden_;   // (rows of a chunk, C): the residual stream
    std::vector<float> normed_;   // (rows, C)
    std::vector<float> product_;  // (rows, C)
    std::vector<float> wide_;     // (rows, C + 2 x key/value width), then (rows, 2 F)
    std::vector<float> scores_;   // positions, in whole pages
    std::vector<float> cosines_;  // (rows, head width / 2)
    std::vector<float> sines_;    // (rows, head width / 2)
};

}  // namespace stacking::llama
