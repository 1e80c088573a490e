// Consecutive layers of a decoder on the CPU, for many sessions at once.
//   embedding, layers x (RMSNorm, grouped-query attention with RoPE, RMSNorm, SwiGLU), norm, head
// and what the traits of the model's family change in it (stacking/models/traits.hpp).
// Invariant: that of SessionCompute, by construction: the numbers of a row are chains of operations
// that no other row enters (kernels.hpp). So neither stages, nor batches, nor the chunks of a
// prefill, nor the instruction set, nor the number of threads change a bit.
// Threading: one caller at a time, whose `workers` help; instances may have the same weights and
// the same workers. Errors: those of SessionCompute.
// Cost: weights are read once per kRowsAtOnce rows; besides the result, scratch for as many rows.
// Source: the modeling_*.py files of transformers define the computation; the code is own.
#pragma once

#include "stacking/expert_compute.hpp"
#include "stacking/llama/feed_forward.hpp"
#include "stacking/llama/kv_pages.hpp"
#include "stacking/llama/rotary.hpp"
#include "stacking/llama/stage_weights.hpp"
#include "swarm/base/workers.hpp"

#include <memory>

namespace stacking::llama {

class LlamaSessions final : public SessionCompute, public ExpertTrunk {
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
    [[nodiscard]] swarm::Result<TrunkStep> begin(
        std::span<const SessionRow> rows,
        const StageInput& input,
        std::span<const LackingExperts* const> lacking
    ) override;
    [[nodiscard]] TrunkStep go_on(std::span<const std::vector<float>> outputs) override;

 private:
    struct Row {
        KvCache* cache = nullptr;  // null: dropped while the row waited for experts
        std::uint32_t position = 0;
    };

    /// Rows that chose an expert, and their shares.
    struct Group {
        std::vector<std::size_t> rows;
        std::vector<float> shares;
    };

    /// A call that stops at layers whose experts are elsewhere (llama_trunk.cpp).
    struct Walk {
        std::vector<SessionRow> rows;
        std::vector<TokenId> tokens;                 // by row; empty for rows of other layers
        std::vector<const LackingExperts*> lacking;  // by row
        std::size_t layer = 0;             // the next one to begin, counted from the stage's
        std::vector<Group> groups;         // by expert, at the layer where it waits
        std::vector<ExpertVisit> visits;   // without the values
        std::vector<std::size_t> spoiled;  // rows that are not finite, and visit nobody
    };

    /// Cosines and sines of a chunk's rows, (rows, rotated dimensions / 2) each.
    struct Angles {
        std::vector<float> cosines;
        std::vector<float> sines;
    };

    /// Queries of the current chunk that read the same pages: `rows` rows of one text, or `heads`
    /// heads of one row.
    struct Queries {
        std::size_t row;
        std::size_t rows;
        std::size_t kv_head;
        std::size_t head;
        std::size_t heads;
    };

    [[nodiscard]] swarm::Result<> check_input(std::size_t rows, const StageInput& input) const;
    [[nodiscard]] swarm::Result<> find_rows(std::span<const SessionRow> rows);
    void run_chunk(std::size_t first, std::size_t count, const StageInput& input);
    void read_input(std::size_t first, std::size_t count, const StageInput& input);
    /// Takes hidden_ through a bottleneck (llama_bottlenecks.cpp).
    void pass_bottleneck(
        const BottleneckWeights& bottleneck, std::span<const TokenId> tokens, std::size_t count
    );
    void find_angles(const Rotary& rotary, std::size_t first, std::size_t count, Angles& angles);
    /// Finishes queries and keys in wide_, and stores keys and values.
    void place_key_values(std::size_t layer, std::size_t first, std::size_t count);
    /// Puts all queries of a chunk into queries_.
    void find_queries(std::size_t first, std::size_t count);
    /// Writes softmax(queries x keys) x values to attended_.
    void attend_to(std::size_t layer, std::size_t first, const Queries& some, float* scores);
    /// The same for all rows and heads of a chunk.
    void attend_all(std::size_t layer, std::size_t first, std::size_t count);
    void attend(std::size_t layer, std::size_t first, std::size_t count);
    void feed_forward(const LayerWeights& layer, std::size_t count);
    void store_key_value(std::size_t layer, const Row& row, const float* key, const float* value);
    /// Computes norm(hidden_), or hidden_ itself where the weight is empty, and returns its rows.
    [[nodiscard]] kernels::Rows normalised(const std::vector<float>& weight, std::size_t count);
    /// Writes the outputs of one feed-forward part to product_.
    void feed(const FeedForwardWeights& part, const kernels::Rows& in);
    /// Writes the outputs of a mixture to product_ (llama_experts.cpp).
    void feed_experts(const LayerWeights& layer, const kernels::Rows& in);
    /// Which rows go to which expert, by the layer's router.
    [[nodiscard]] std::vector<Group> route(const LayerWeights& layer, const kernels::Rows& in);
    /// Adds the expert for all tokens to mixed_, if the model has one.
    void add_shared(const LayerWeights& layer, const kernels::Rows& in);
    [[nodiscard]] TrunkStep walk_on();
    [[nodiscard]] std::vector<ExpertVisit> visits_of(
        const LayerWeights& layer, const kernels::Rows& in
    );
    void leave_out(std::span<const std::vector<float>> outputs);
    void combine(std::span<const std::vector<float>> outputs);
    [[nodiscard]] kernels::Rows ffn_input(const LayerWeights& layer, std::size_t count);
    void add_expert(
        const FeedForwardWeights& expert,
        std::span<const std::size_t> rows,
        std::span<const float> shares,
        const kernels::Rows& in
    );
    void multiply(
        const kernels::JoinedMatrix& matrix, const kernels::Rows& in, std::vector<float>& out
    );
    /// Calls body(row) for all rows, over the threads. `work`: multiply-adds of a row, roughly.
    template <class Body>
    void for_rows(std::size_t count, std::size_t work, const Body& body);
    /// Adds product_, (count, C), to hidden_, with its bias and its norm where they are not empty.
    void add_part(
        const std::vector<float>& bias, const std::vector<float>& post_norm, std::size_t count
    );
    /// Adds the biases to a row of queries, keys and values, normalises and rotates it.
    void finish_query_key(std::size_t layer, std::size_t row, std::span<float> values);

    std::shared_ptr<const StageWeights> weights_;
    const kernels::Kernels& kernels_;
    std::shared_ptr<swarm::Workers> workers_;
    FeedForward::Gate gate_;
    Rotary rotary_;
    Rotary local_rotary_;
    KvPages caches_;
    // Scratch of the current call.
    std::vector<Row> rows_;
    std::vector<float> hidden_;               // (rows of a chunk, C): the residual stream
    std::vector<float> normed_;               // (rows, C)
    std::vector<float> product_;              // (rows, C)
    std::vector<float> wide_;                 // (rows, Q + 2 KV), then (rows, 2 F)
    std::vector<Queries> queries_;
    std::vector<float> attended_;             // (rows, Q)
    std::vector<float> mixed_;                // (rows, C): sum over the experts
    std::vector<float> gathered_;             // (rows of an expert, C)
    std::vector<float> router_logits_;        // (rows, experts)
    std::vector<std::vector<float>> scores_;  // by thread: (queries, positions in whole pages)
    Angles angles_;
    Angles local_angles_;
    Walk walk_;
};

}  // namespace stacking::llama
