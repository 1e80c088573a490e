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
constexpr std::size_t kRotaryWork = 4;
constexpr std::size_t kSineWork = 32;

Error refusal(ErrorCode code, std::string what) {
    return {code, Reaction::Reject, std::move(what)};
}

KvShape kv_shape_of(const StageWeights& weights) {
    const models::Architecture& is = weights.architecture;
    return {weights.weights_of.size(), is.model.kv_heads, is.head_width()};
}

/// Rotates nothing where the model has one rotation only.
Rotary local_rotary_of(const models::Architecture& is) {
    const double base = is.traits.local_rope_base;
    return base > 0 ? Rotary(base, is.rotary_width()) : Rotary(1, 0);
}

}  // namespace

LlamaSessions::LlamaSessions(std::shared_ptr<const StageWeights> weights, const Options& options)
    : weights_(std::move(weights)),
      kernels_(kernels_on(options.path)),
      workers_(options.workers ? options.workers : std::make_shared<swarm::OneThread>()),
      gate_(gate_of(weights_->architecture, kernels_)),
      rotary_(
          weights_->architecture.model.rope_base,
          weights_->architecture.rotary_width(),
          weights_->architecture.traits.rope
      ),
      local_rotary_(local_rotary_of(weights_->architecture)),
      caches_(
          kv_shape_of(*weights_), weights_->architecture.model.context, options.kv_budget_bytes
      ),
      scores_(workers_->threads()) {}

StageShape LlamaSessions::shape() const {
    return {
        .first = weights_->first,
        .last = weights_->last,
        .width = weights_->architecture.model.width,
        .vocabulary = weights_->architecture.model.vocabulary,
        .context = weights_->architecture.model.context,
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
    } else if (!weights_->bottlenecks.empty()) {
        return refusal(ErrorCode::Mismatch, "layers behind a bottleneck read tokens, not rows");
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
            row.position >= weights_->architecture.model.context) {
            return refusal(
                ErrorCode::TooLarge,
                "position " + std::to_string(row.position) + " was not reserved, or is beyond " +
                    "the model's " + std::to_string(weights_->architecture.model.context)
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
    const std::size_t width = weights_->architecture.model.width;
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
    const std::size_t width = weights_->architecture.model.width;
    hidden_.resize(count * width);
    const auto* const tokens = std::get_if<std::span<const TokenId>>(&input);
    if (tokens == nullptr) {
        const float* const from = std::get<std::span<const float>>(input).data() + first * width;
        std::copy_n(from, count * width, hidden_.begin());
        return;
    }
    const auto scale = static_cast<float>(weights_->architecture.traits.embedding_scale);
    for_rows(count, width, [&](std::size_t row) {
        const auto to = std::span(hidden_).subspan(row * width, width);
        weights_->embedding->read_row((*tokens)[first + row], to);
        if (scale != 1) {
            std::ranges::transform(to, to.begin(), [=](float value) { return value * scale; });
        }
    });
}

void LlamaSessions::find_angles(
    const Rotary& rotary, std::size_t first, std::size_t count, Angles& angles
) {
    const std::size_t half = rotary.width() / 2;
    angles.cosines.resize(count * half);
    angles.sines.resize(count * half);
    for_rows(count, half * kSineWork, [&](std::size_t row) {
        rotary.angles(
            rows_[first + row].position,
            std::span(angles.cosines).subspan(row * half, half),
            std::span(angles.sines).subspan(row * half, half)
        );
    });
}

void LlamaSessions::run_chunk(std::size_t first, std::size_t count, const StageInput& input) {
    read_input(first, count, input);
    find_angles(rotary_, first, count, angles_);
    find_angles(local_rotary_, first, count, local_angles_);
    auto bottleneck = weights_->bottlenecks.begin();
    for (std::size_t layer = 0; layer < weights_->weights_of.size(); ++layer) {
        if (bottleneck != weights_->bottlenecks.end() && bottleneck->layer == layer) {
            const auto tokens = std::get<std::span<const TokenId>>(input);
            pass_bottleneck(*bottleneck++, tokens.subspan(first, count), count);
        }
        attend(layer, first, count);
        feed_forward(weights_->weights(layer), count);
    }
}

kernels::Rows LlamaSessions::normalised(const std::vector<float>& weight, std::size_t count) {
    const std::size_t width = weights_->architecture.model.width;
    if (weight.empty()) {
        return {hidden_.data(), count, width};
    }
    const auto epsilon = static_cast<float>(weights_->architecture.model.norm_epsilon);
    normed_.resize(count * width);
    for_rows(count, width * kNormWork, [&](std::size_t row) {
        const std::size_t at = row * width;
        kernels_.normalise(hidden_.data() + at, weight.data(), width, epsilon, normed_.data() + at);
    });
    return {normed_.data(), count, width};
}

void LlamaSessions::multiply(
    const kernels::JoinedMatrix& matrix, const kernels::Rows& in, std::vector<float>& out
) {
    out.resize(in.count * matrix.outputs());
    kernels::split_multiply(*workers_, kernels_, matrix, in, out.data(), matrix.outputs());
}

void LlamaSessions::add_part(
    const std::vector<float>& bias, const std::vector<float>& post_norm, std::size_t count
) {
    const std::size_t width = weights_->architecture.model.width;
    const auto epsilon = static_cast<float>(weights_->architecture.model.norm_epsilon);
    const auto scale = static_cast<float>(weights_->architecture.traits.residual_scale);
    for_rows(count, width, [&](std::size_t row) {
        const auto to = std::span(hidden_).subspan(row * width, width);
        const auto term = std::span(product_).subspan(row * width, width);
        for (std::size_t i = 0; i < bias.size(); ++i) {
            term[i] += bias[i];
        }
        if (!post_norm.empty()) {
            kernels_.normalise(term.data(), post_norm.data(), width, epsilon, term.data());
        }
        if (scale == 1) {
            for (std::size_t i = 0; i < width; ++i) {
                to[i] += term[i];
            }
        } else {
            for (std::size_t i = 0; i < width; ++i) {
                to[i] += term[i] * scale;
            }
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

void LlamaSessions::finish_query_key(std::size_t layer, std::size_t row, std::span<float> values) {
    const models::Architecture& is = weights_->architecture;
    const LayerWeights& weights = weights_->weights(layer);
    const auto epsilon = static_cast<float>(is.model.norm_epsilon);
    const std::size_t head_width = is.head_width();
    for (std::size_t i = 0; i < weights.query_key_value_bias.size(); ++i) {
        values[i] += weights.query_key_value_bias[i];
    }
    const auto normalise = [&](const std::vector<float>& weight, std::span<float> part) {
        for (std::size_t at = 0; !weight.empty() && at < part.size(); at += weight.size()) {
            float* const begin = part.data() + at;
            kernels_.normalise(begin, weight.data(), weight.size(), epsilon, begin);
        }
    };
    normalise(weights.query_norm, values.first(is.query_width()));
    normalise(weights.key_norm, values.subspan(is.query_width(), is.kv_width()));
    const models::RopeUse rope =
        is.attention_of(weights_->first_layer + static_cast<std::uint32_t>(layer)).rope;
    if (rope == models::RopeUse::None) {
        return;
    }
    const bool local = rope == models::RopeUse::Local;
    const Angles& angles = local ? local_angles_ : angles_;
    const std::size_t half = (local ? local_rotary_ : rotary_).width() / 2;
    const auto cosines = std::span(angles.cosines).subspan(row * half, half);
    const auto sines = std::span(angles.sines).subspan(row * half, half);
    for (std::size_t head = 0; head < is.model.heads + is.model.kv_heads; ++head) {
        Rotary::rotate(values.subspan(head * head_width, head_width), cosines, sines);
    }
}

void LlamaSessions::place_key_values(std::size_t layer, std::size_t first, std::size_t count) {
    const models::Architecture& is = weights_->architecture;
    const std::size_t stride = is.query_width() + 2 * std::size_t{is.kv_width()};
    for_rows(count, stride * kRotaryWork, [&](std::size_t row) {
        if (rows_[first + row].cache == nullptr) {
            return;  // the session ended while its rows waited for experts
        }
        const auto values = std::span(wide_).subspan(row * stride, stride);
        finish_query_key(layer, row, values);
        const float* const key = values.data() + is.query_width();
        store_key_value(layer, rows_[first + row], key, key + is.kv_width());
    });
}

void LlamaSessions::attend(std::size_t layer, std::size_t first, std::size_t count) {
    const LayerWeights& weights = weights_->weights(layer);
    multiply(weights.query_key_value, normalised(weights.attention_norm, count), wide_);
    place_key_values(layer, first, count);
    attend_all(layer, first, count);
    multiply(
        weights.attention_out,
        {attended_.data(), count, weights_->architecture.query_width()},
        product_
    );
    add_part(weights.attention_out_bias, weights.attention_post_norm, count);
}

void LlamaSessions::feed(const FeedForwardWeights& part, const kernels::Rows& in) {
    FeedForward{kernels_, *workers_, gate_}.run(part, in, wide_, product_);
}

void LlamaSessions::feed_forward(const LayerWeights& layer, std::size_t count) {
    const kernels::Rows in = normalised(layer.ffn_norm, count);
    if (layer.router) {
        feed_experts(layer, in);
    } else {
        feed(layer.experts.front(), in);
    }
    add_part({}, layer.ffn_post_norm, count);
}

std::vector<float> LlamaSessions::logits(std::span<const float> outputs) {
    SWARM_ASSERT(weights_->head != nullptr);
    const models::Traits& traits = weights_->architecture.traits;
    const std::size_t wanted = outputs.size() / weights_->architecture.model.width;
    hidden_.assign(outputs.begin(), outputs.end());
    std::vector<float> out;
    multiply(*weights_->head, normalised(weights_->head_norm, wanted), out);
    if (const auto scale = static_cast<float>(traits.logit_scale); scale != 1) {
        std::ranges::transform(out, out.begin(), [=](float logit) { return logit * scale; });
    }
    if (traits.logit_soft_cap > 0) {
        kernels_.soft_cap(out.data(), out.size(), static_cast<float>(traits.logit_soft_cap));
    }
    return out;
}

}  // namespace stacking::llama
