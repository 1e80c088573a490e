#include "stacking/llama/llama_sessions.hpp"

#include "swarm/base/check.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace stacking::llama {
namespace {

using kernels::kPagePositions;
using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;

/// Maximum rows of a chunk. It bounds the scratch; each chunk reads the weights once.
constexpr std::size_t kRowsAtOnce = 128;

Error refusal(ErrorCode code, std::string what) {
    return {code, Reaction::Reject, std::move(what)};
}

KvShape kv_shape_of(const StageWeights& weights) {
    const auto& model = weights.model;
    return {weights.layers.size(), model.kv_heads, model.width / model.heads};
}

const kernels::Kernels& kernels_on(kernels::Path path) {
    const kernels::Kernels* const found = kernels::kernels_of(path);
    SWARM_ASSERT(found != nullptr);
    return *found;
}

}  // namespace

LlamaSessions::LlamaSessions(std::shared_ptr<const StageWeights> weights, const Options& options)
    : weights_(std::move(weights)),
      kernels_(kernels_on(options.path)),
      rotary_(weights_->model.rope_base, weights_->model.width / weights_->model.heads),
      caches_(kv_shape_of(*weights_), weights_->model.context, options.kv_budget_bytes) {}

StageShape LlamaSessions::shape() const {
    return {
        .first = weights_->first,
        .last = weights_->last,
        .width = weights_->model.width,
        .vocabulary = weights_->model.vocabulary,
        .context = weights_->model.context,
        .bytes_per_position = caches_.shape().bytes_per_position(),
        .takes_tokens = weights_->embedding != nullptr,
        .gives_logits = weights_->head != nullptr};
}

swarm::Result<> LlamaSessions::reserve(CacheId cache, std::uint32_t positions) {
    return caches_.reserve(cache, positions);
}

void LlamaSessions::truncate(CacheId cache, std::uint32_t positions) {
    caches_.truncate(cache, positions);
}

void LlamaSessions::drop(CacheId cache) {
    caches_.drop(cache);
}

swarm::Result<> LlamaSessions::check_input(std::size_t rows, const StageInput& input) const {
    const StageShape is = shape();
    if (const auto* const tokens = std::get_if<std::span<const TokenId>>(&input)) {
        if (!is.takes_tokens || tokens->size() != rows) {
            return refusal(
                ErrorCode::Mismatch,
                is.takes_tokens ? "as many tokens as rows are wanted"
                                : "tokens for a stage that has no embedding"
            );
        }
        const bool known =
            std::ranges::all_of(*tokens, [&](TokenId token) { return token < is.vocabulary; });
        if (!known) {
            return refusal(ErrorCode::Mismatch, "a token that the model does not have");
        }
    } else if (std::get<std::span<const float>>(input).size() != rows * is.width) {
        return refusal(ErrorCode::Mismatch, "the input is not (rows, width)");
    }
    return {};
}

swarm::Result<> LlamaSessions::find_rows(std::span<const SessionRow> rows) {
    rows_.clear();
    std::map<CacheId, std::uint32_t> filled;
    for (const SessionRow& row : rows) {
        KvCache* const cache = caches_.find(row.cache);
        if (cache == nullptr) {
            return refusal(ErrorCode::NotFound, "no cache was reserved for this session");
        }
        const auto next = filled.try_emplace(row.cache, cache->filled).first;
        if (row.position != next->second) {
            return refusal(
                ErrorCode::Mismatch,
                "position " + std::to_string(row.position) + " of a session that has " +
                    std::to_string(next->second)
            );
        }
        if (row.position >= cache->reserved_positions() ||
            row.position >= weights_->model.context) {
            return refusal(
                ErrorCode::TooLarge,
                "position " + std::to_string(row.position) + " was not reserved, or is beyond " +
                    "the model's " + std::to_string(weights_->model.context)
            );
        }
        ++next->second;
        rows_.push_back({cache, row.position});
    }
    return {};
}

swarm::Result<std::vector<float>> LlamaSessions::run_layers(
    std::span<const SessionRow> rows, const StageInput& input
) {
    SWARM_TRY(check_input(rows.size(), input));
    SWARM_TRY(find_rows(rows));
    const std::size_t width = weights_->model.width;
    std::vector<float> out(rows.size() * width);
    for (std::size_t first = 0; first < rows.size(); first += kRowsAtOnce) {
        const std::size_t count = std::min(kRowsAtOnce, rows.size() - first);
        run_chunk(first, count, input);
        std::copy_n(hidden_.begin(), count * width, out.data() + first * width);
    }
    for (const Row& row : rows_) {
        row.cache->filled = row.position + 1;
    }
    return out;
}

void LlamaSessions::run_chunk(std::size_t first, std::size_t count, const StageInput& input) {
    const std::size_t width = weights_->model.width;
    hidden_.resize(count * width);
    if (const auto* const tokens = std::get_if<std::span<const TokenId>>(&input)) {
        for (std::size_t row = 0; row < count; ++row) {
            const auto to = std::span(hidden_).subspan(row * width, width);
            weights_->embedding->read_row((*tokens)[first + row], to);
        }
    } else {
        const float* const from = std::get<std::span<const float>>(input).data() + first * width;
        std::copy_n(from, count * width, hidden_.begin());
    }
    const std::size_t half = caches_.shape().head_width / 2;
    cosines_.resize(count * half);
    sines_.resize(count * half);
    for (std::size_t row = 0; row < count; ++row) {
        rotary_.angles(
            rows_[first + row].position,
            std::span(cosines_).subspan(row * half, half),
            std::span(sines_).subspan(row * half, half)
        );
    }
    for (std::size_t layer = 0; layer < weights_->layers.size(); ++layer) {
        attend(layer, first, count);
        feed_forward(weights_->layers[layer], count);
    }
}

void LlamaSessions::normalise(const std::vector<float>& weight, std::size_t count) {
    const std::size_t width = weight.size();
    const auto epsilon = static_cast<float>(weights_->model.norm_epsilon);
    normed_.resize(count * width);
    for (std::size_t row = 0; row < count; ++row) {
        const std::size_t at = row * width;
        kernels_.normalise(hidden_.data() + at, weight.data(), width, epsilon, normed_.data() + at);
    }
}

void LlamaSessions::add_product(const kernels::PackedMatrix& matrix, const kernels::Rows& in) {
    product_.resize(in.count * matrix.outputs());
    kernels_.multiply(matrix.view(), in, product_.data(), matrix.outputs());
    for (std::size_t i = 0; i < product_.size(); ++i) {
        hidden_[i] += product_[i];
    }
}

void LlamaSessions::store_key_value(
    std::size_t layer, const Row& row, const float* key, const float* value
) {
    const KvShape& kv = caches_.shape();
    const std::size_t at = row.position % kPagePositions;
    float* const page = row.cache->owned[row.position / kPagePositions].get();
    for (std::size_t head = 0; head < kv.kv_heads; ++head) {
        float* const keys = page + kv.offset(layer, head);
        float* const values = keys + kv.head_width * kPagePositions + at * kv.head_width;
        for (std::size_t d = 0; d < kv.head_width; ++d) {
            keys[d * kPagePositions + at] = key[head * kv.head_width + d];
        }
        std::copy_n(value + head * kv.head_width, kv.head_width, values);
    }
}

void LlamaSessions::attend(std::size_t layer, std::size_t first, std::size_t count) {
    const LayerWeights& weights = weights_->layers[layer];
    const KvShape& kv = caches_.shape();
    const std::size_t width = weights_->model.width;
    const std::size_t heads = weights_->model.heads;
    const std::size_t kv_width = kv.kv_heads * kv.head_width;
    const std::size_t stride = weights.query_key_value.outputs();
    normalise(weights.attention_norm, count);
    wide_.resize(count * stride);
    const kernels::Rows normed{normed_.data(), count, width};
    kernels_.multiply(weights.query_key_value.view(), normed, wide_.data(), stride);
    const std::size_t half = kv.head_width / 2;
    for (std::size_t row = 0; row < count; ++row) {
        const auto cosines = std::span(cosines_).subspan(row * half, half);
        const auto sines = std::span(sines_).subspan(row * half, half);
        float* const query = wide_.data() + row * stride;
        for (std::size_t head = 0; head < heads + kv.kv_heads; ++head) {
            Rotary::rotate({query + head * kv.head_width, kv.head_width}, cosines, sines);
        }
        const float* const key = query + width;
        store_key_value(layer, rows_[first + row], key, key + kv_width);
    }
    for (std::size_t row = 0; row < count; ++row) {
        const Row& at = rows_[first + row];
        const std::size_t pages = at.position / kPagePositions + 1;
        scores_.resize(std::max(scores_.size(), pages * kPagePositions));
        for (std::size_t head = 0; head < heads; ++head) {
            const std::size_t keys = kv.offset(layer, head / (heads / kv.kv_heads));
            const kernels::HeadCache cache{
                .pages = at.cache->pages.data(),
                .keys = keys,
                .values = keys + kv.head_width * kPagePositions,
                .positions = at.position + std::size_t{1},
                .head_width = kv.head_width};
            const std::size_t of_head = head * kv.head_width;
            kernels_.attend(
                cache,
                wide_.data() + row * stride + of_head,
                scores_.data(),
                normed_.data() + row * width + of_head
            );
        }
    }
    add_product(weights.attention_out, normed);
}

void LlamaSessions::feed_forward(const LayerWeights& layer, std::size_t count) {
    const std::size_t ffn = weights_->model.ffn_width;
    normalise(layer.ffn_norm, count);
    wide_.resize(count * 2 * ffn);
    const kernels::Rows normed{normed_.data(), count, weights_->model.width};
    kernels_.multiply(layer.gate_up.view(), normed, wide_.data(), 2 * ffn);
    for (std::size_t row = 0; row < count; ++row) {
        float* const gate = wide_.data() + row * 2 * ffn;
        kernels_.gate(gate, gate + ffn, ffn);
    }
    add_product(layer.down, {wide_.data(), count, 2 * ffn});
}

std::vector<float> LlamaSessions::logits(std::span<const float> outputs) {
    SWARM_ASSERT(weights_->head != nullptr);
    const std::size_t width = weights_->model.width;
    const std::size_t vocabulary = weights_->model.vocabulary;
    const std::size_t wanted = outputs.size() / width;
    hidden_.assign(outputs.begin(), outputs.end());
    normalise(weights_->head_norm, wanted);
    std::vector<float> out(wanted * vocabulary);
    const kernels::Rows normed{normed_.data(), wanted, width};
    kernels_.multiply(weights_->head->view(), normed, out.data(), vocabulary);
    return out;
}

}  // namespace stacking::llama
