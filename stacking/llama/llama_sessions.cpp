#include "stacking/llama/llama_sessions.hpp"

#include "stacking/kernels/split_multiply.hpp"
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

static_assert(kPagePositions == kSharedPositions);

/// Maximum rows of a chunk. It bounds the scratch; each chunk reads the weights once.
constexpr std::size_t kRowsAtOnce = 128;

// Work of one value, in multiply-adds, roughly: what Workers::split() wants to know.
constexpr std::size_t kNormWork = 2;
constexpr std::size_t kGateWork = 16;
constexpr std::size_t kRotaryWork = 4;
constexpr std::size_t kSineWork = 32;

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
      workers_(options.workers ? options.workers : std::make_shared<swarm::OneThread>()),
      rotary_(weights_->model.rope_base, weights_->model.width / weights_->model.heads),
      caches_(kv_shape_of(*weights_), weights_->model.context, options.kv_budget_bytes),
      scores_(workers_->threads()) {}

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

void LlamaSessions::shrink(CacheId cache, std::uint32_t positions) {
    caches_.shrink(cache, positions);
}

swarm::Result<> LlamaSessions::share(CacheId from, CacheId to, std::uint32_t positions) {
    return caches_.share(from, to, positions);
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

template <class Body>
void LlamaSessions::for_rows(std::size_t count, std::size_t work, const Body& body) {
    workers_->split(count, work, [&](swarm::UnitRange rows, std::size_t /*thread*/) {
        for (std::size_t row = rows.begin; row < rows.end; ++row) {
            body(row);
        }
    });
}

void LlamaSessions::read_input(std::size_t first, std::size_t count, const StageInput& input) {
    const std::size_t width = weights_->model.width;
    hidden_.resize(count * width);
    const auto* const tokens = std::get_if<std::span<const TokenId>>(&input);
    if (tokens == nullptr) {
        const float* const from = std::get<std::span<const float>>(input).data() + first * width;
        std::copy_n(from, count * width, hidden_.begin());
        return;
    }
    for_rows(count, width, [&](std::size_t row) {
        const auto to = std::span(hidden_).subspan(row * width, width);
        weights_->embedding->read_row((*tokens)[first + row], to);
    });
}

void LlamaSessions::run_chunk(std::size_t first, std::size_t count, const StageInput& input) {
    read_input(first, count, input);
    const std::size_t half = caches_.shape().head_width / 2;
    cosines_.resize(count * half);
    sines_.resize(count * half);
    for_rows(count, half * kSineWork, [&](std::size_t row) {
        rotary_.angles(
            rows_[first + row].position,
            std::span(cosines_).subspan(row * half, half),
            std::span(sines_).subspan(row * half, half)
        );
    });
    for (std::size_t layer = 0; layer < weights_->layers.size(); ++layer) {
        attend(layer, first, count);
        feed_forward(weights_->layers[layer], count);
    }
}

void LlamaSessions::normalise(const std::vector<float>& weight, std::size_t count) {
    const std::size_t width = weight.size();
    const auto epsilon = static_cast<float>(weights_->model.norm_epsilon);
    normed_.resize(count * width);
    for_rows(count, width * kNormWork, [&](std::size_t row) {
        const std::size_t at = row * width;
        kernels_.normalise(hidden_.data() + at, weight.data(), width, epsilon, normed_.data() + at);
    });
}

void LlamaSessions::multiply(
    const kernels::PackedMatrix& matrix, const kernels::Rows& in, std::vector<float>& out
) {
    out.resize(in.count * matrix.outputs());
    kernels::split_multiply(*workers_, kernels_, matrix.view(), in, out.data(), matrix.outputs());
}

void LlamaSessions::add_product(const kernels::PackedMatrix& matrix, const kernels::Rows& in) {
    multiply(matrix, in, product_);
    const std::size_t width = matrix.outputs();
    for_rows(in.count, width, [&](std::size_t row) {
        const auto to = std::span(hidden_).subspan(row * width, width);
        const auto term = std::span(product_).subspan(row * width, width);
        for (std::size_t i = 0; i < width; ++i) {
            to[i] += term[i];
        }
    });
}

void LlamaSessions::store_key_value(
    std::size_t layer, const Row& row, const float* key, const float* value
) {
    const KvShape& kv = caches_.shape();
    const std::size_t at = row.position % kPagePositions;
    const auto& shared = row.cache->owned[row.position / kPagePositions];
    SWARM_ASSERT(shared.use_count() == 1);
    float* const page = shared.get();
    for (std::size_t head = 0; head < kv.kv_heads; ++head) {
        float* const keys = page + kv.offset(layer, head);
        float* const values = keys + kv.head_width * kPagePositions + at * kv.head_width;
        for (std::size_t d = 0; d < kv.head_width; ++d) {
            keys[d * kPagePositions + at] = key[head * kv.head_width + d];
        }
        std::copy_n(value + head * kv.head_width, kv.head_width, values);
    }
}

void LlamaSessions::place_key_values(std::size_t layer, std::size_t first, std::size_t count) {
    const KvShape& kv = caches_.shape();
    const std::size_t width = weights_->model.width;
    const std::size_t kv_width = kv.kv_heads * kv.head_width;
    const std::size_t stride = width + 2 * kv_width;
    const std::size_t half = kv.head_width / 2;
    for_rows(count, stride * kRotaryWork, [&](std::size_t row) {
        const auto cosines = std::span(cosines_).subspan(row * half, half);
        const auto sines = std::span(sines_).subspan(row * half, half);
        float* const query = wide_.data() + row * stride;
        for (std::size_t head = 0; head < weights_->model.heads + kv.kv_heads; ++head) {
            Rotary::rotate({query + head * kv.head_width, kv.head_width}, cosines, sines);
        }
        const float* const key = query + width;
        store_key_value(layer, rows_[first + row], key, key + kv_width);
    });
}

void LlamaSessions::attend_all(std::size_t layer, std::size_t first, std::size_t count) {
    const KvShape& kv = caches_.shape();
    const std::size_t width = weights_->model.width;
    const std::size_t heads = weights_->model.heads;
    const std::size_t stride = width + 2 * kv.kv_heads * kv.head_width;
    std::size_t pages = 0;
    for (std::size_t row = 0; row < count; ++row) {
        pages = std::max<std::size_t>(pages, rows_[first + row].position / kPagePositions + 1);
    }
    for (std::vector<float>& scores : scores_) {
        scores.resize(std::max(scores.size(), pages * kPagePositions));
    }
    const auto attend_head = [&](std::size_t row, std::size_t head, float* scores) {
        const Row& at = rows_[first + row];
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
            scores,
            normed_.data() + row * width + of_head
        );
    };
    workers_->split(
        count * heads,
        2 * pages * kPagePositions * kv.head_width,
        [&](swarm::UnitRange units, std::size_t thread) {
            for (std::size_t unit = units.begin; unit < units.end; ++unit) {
                attend_head(unit / heads, unit % heads, scores_[thread].data());
            }
        }
    );
}

void LlamaSessions::attend(std::size_t layer, std::size_t first, std::size_t count) {
    const LayerWeights& weights = weights_->layers[layer];
    const std::size_t width = weights_->model.width;
    normalise(weights.attention_norm, count);
    multiply(weights.query_key_value, {normed_.data(), count, width}, wide_);
    place_key_values(layer, first, count);
    attend_all(layer, first, count);
    add_product(weights.attention_out, {normed_.data(), count, width});
}

void LlamaSessions::feed_forward(const LayerWeights& layer, std::size_t count) {
    const std::size_t ffn = weights_->model.ffn_width;
    normalise(layer.ffn_norm, count);
    multiply(layer.gate_up, {normed_.data(), count, weights_->model.width}, wide_);
    for_rows(count, ffn * kGateWork, [&](std::size_t row) {
        float* const gate = wide_.data() + row * 2 * ffn;
        kernels_.gate(gate, gate + ffn, ffn);
    });
    add_product(layer.down, {wide_.data(), count, 2 * ffn});
}

std::vector<float> LlamaSessions::logits(std::span<const float> outputs) {
    SWARM_ASSERT(weights_->head != nullptr);
    const std::size_t width = weights_->model.width;
    const std::size_t wanted = outputs.size() / width;
    hidden_.assign(outputs.begin(), outputs.end());
    normalise(weights_->head_norm, wanted);
    std::vector<float> out;
    multiply(*weights_->head, {normed_.data(), wanted, width}, out);
    return out;
}

}  // namespace stacking::llama
