// Consecutive layers of a Llama on the CPU, for many sessions at once.
//   embedding, layers x (RMSNorm, grouped-query attention with RoPE, RMSNorm, SwiGLU), norm, head
// Invariant: that of SessionCompute, by construction: the numbers of a row are chains of operations
// that no other row enters (kernels.hpp). So neither stages, nor batches, nor the chunks of a
// prefill, nor the instruction set, nor the number of threads change a bit.
// Threading: one caller at a time, whose `workers` help; instances may have the same weights and
// the same workers. Errors: those of SessionCompute.
// Cost: weights are read once per kRowsAtOnce rows; besides the result, scratch for as many rows.
// Source: LlamaForCausalLM of transformers defines the computation; the code is own.
#pragma once

#include "stacking/llama/kv_pages.hpp"
#include "stacking/llama/rotary.hpp"
#include "stacking/llama/stage_weights.hpp"
#include "swarm/base/workers.hpp"

#include <memory>

namespace stacking::llama {

class LlamaSessions final : public SessionCompute {
 public:
    struct Options {
        std::size_t kv_budget_bytes = 1U << 30;
        kernels::Path path = kernels::best_kernels().path;  // REQUIRES: this processor has it
        std::shared_ptr<swarm::Workers> workers = {};       // null: the caller's thread alone
    };

    LlamaSessions(std::shared_ptr<const StageWeights> weights, const Options& options);

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

 private:
    struct Row {
        KvCache* cache = nullptr;
        std::uint32_t position = 0;
    };

    [[nodiscard]] swarm::Result<> check_input(std::size_t rows, const StageInput& input) const;
    [[nodiscard]] swarm::Result<> find_rows(std::span<const SessionRow> rows);
    void run_chunk(std::size_t first, std::size_t count, const StageInput& input);
    void read_input(std::size_t first, std::size_t count, const StageInput& input);
    /// Rotates queries and keys in wide_, and stores keys and values.
    void place_key_values(std::size_t layer, std::size_t first, std::size_t count);
    /// Writes softmax(queries x keys) x values of all heads to normed_.
    void attend_all(std::size_t layer, std::size_t first, std::size_t count);
    void attend(std::size_t layer, std::size_t first, std::size_t count);
    void feed_forward(const LayerWeights& layer, std::size_t count);
    void store_key_value(std::size_t layer, const Row& row, const float* key, const float* value);
    void normalise(const std::vector<float>& weight, std::size_t count);
    void multiply(
        const kernels::PackedMatrix& matrix, const kernels::Rows& in, std::vector<float>& out
    );
    /// Calls body(row) for all rows, over the threads. `work`: multiply-adds of a row, roughly.
    template <class Body>
    void for_rows(std::size_t count, std::size_t work, const Body& body);
    /// Adds in x matrix to hidden_.
    void add_product(const kernels::PackedMatrix& matrix, const kernels::Rows& in);

    std::shared_ptr<const StageWeights> weights_;
    const kernels::Kernels& kernels_;
    std::shared_ptr<swarm::Workers> workers_;
    Rotary rotary_;
    KvPages caches_;
    // Scratch of the current call.
    std::vector<Row> rows_;
    std::vector<float> hidden_;               // (rows of a chunk, C): the residual stream
    std::vector<float> normed_;               // (rows, C)
    std::vector<float> product_;              // (rows, C)
    std::vector<float> wide_;                 // (rows, C + 2 x key/value width), then (rows, 2 F)
    std::vector<std::vector<float>> scores_;  // by thread: positions, in whole pages
    std::vector<float> cosines_;              // (rows, head width / 2)
    std::vector<float> sines_;                // (rows, head width / 2)
};

}  // namespace stacking::llama
