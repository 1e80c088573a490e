#include "stacking/sessions/oracle_session_compute.hpp"

#include "swarm/base/rng.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

namespace stacking::sessions {
namespace {

constexpr unsigned kBitsPerNumber = 16;
constexpr double kNumbers = 65536;

std::uint64_t combine(std::uint64_t hash, std::uint64_t word) {
    return swarm::mix_bits(hash ^ swarm::mix_bits(word + 0x9e3779b97f4a7c15));
}

swarm::Error refusal(swarm::ErrorCode code, swarm::Reaction reaction, std::string detail) {
    return {code, reaction, std::move(detail)};
}

/// Returns the 64 bits that a row stands for, or an error when a number is no 16-bit integer.
swarm::Result<std::uint64_t> state_of(std::span<const float> row) {
    std::uint64_t state = 0;
    for (std::size_t i = 0; i < OracleModel::kNumbersOfState; ++i) {
        const double number = row[i];
        if (!(number >= 0 && number < kNumbers && number == std::floor(number))) {
            return refusal(
                swarm::ErrorCode::NotFinite,
                swarm::Reaction::Reject,
                "oracle model: an input is no 16-bit integer; row refused"
            );
        }
        state |= static_cast<std::uint64_t>(number) << (kBitsPerNumber * i);
    }
    return state;
}

void append_row(std::uint64_t state, std::size_t width, std::vector<float>& out) {
    const std::size_t first = out.size();
    out.resize(first + width);
    for (unsigned i = 0; i < OracleModel::kNumbersOfState; ++i) {
        out[first + i] = static_cast<float>((state >> (kBitsPerNumber * i)) & 0xffffU);
    }
}

std::uint64_t hash_of_bits(std::span<const float> row) {
    std::uint64_t state = 0;
    for (const float number : row) {
        state = combine(state, std::bit_cast<std::uint32_t>(number));
    }
    return state;
}

}  // namespace

composition::BridgedInput oracle_bridge(std::uint64_t which) {
    constexpr std::uint32_t kWidth = OracleModel::kNumbersOfState;
    auto read = [which](std::span<const TokenId> tokens, const std::vector<float>& rows) {
        std::vector<float> x;
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            const std::uint64_t said = hash_of_bits(std::span(rows).subspan(i * kWidth, kWidth));
            append_row(combine(combine(which, tokens[i]), said), kWidth, x);
        }
        return x;
    };
    return {kWidth, read};
}

OracleSessionCompute::OracleSessionCompute(
    const OracleModel& model, swarm::protocol::LayerRange layers, std::uint64_t budget_positions
)
    : model_(model), layers_(layers), budget_(budget_positions) {}

StageShape OracleSessionCompute::shape() const {
    return {
        .first = layers_.first == 0,
        .last = layers_.end == model_.layers,
        .width = model_.width,
        .vocabulary = model_.vocabulary,
        .context = model_.context,
        .bytes_per_position = sizeof(std::uint64_t) * (layers_.end - layers_.first),
        .takes_tokens = layers_.first == 0 || (model_.tied && layers_.end == model_.layers),
        .gives_logits = model_.exits || layers_.end == model_.layers};
}

swarm::Result<> OracleSessionCompute::reserve(CacheId cache, std::uint32_t positions) {
    const auto found = caches_.find(cache);
    const std::uint32_t before = found == caches_.end() ? 0 : found->second.reserved;
    positions = std::max(positions, before);
    const std::uint64_t wanted = reserved_ - before + positions;
    if (wanted > budget_ || positions > model_.context) {
        return refusal(
            swarm::ErrorCode::TooLarge,
            swarm::Reaction::RetryElsewhere,
            "no pages for " + std::to_string(positions) +
                " positions: " + std::to_string(reserved_ - before) + " of " +
                std::to_string(budget_) + " are taken; ask another peer"
        );
    }
    reserved_ = wanted;
    grow(caches_[cache], positions);
    return {};
}

void OracleSessionCompute::grow(Cache& cache, std::uint32_t positions) {
    while (cache.reserved < positions) {
        if (cache.pages.empty() || *cache.pages.back() == kSharedPositions) {
            cache.pages.push_back(std::make_shared<std::uint32_t>(0));
        }
        std::uint32_t& page = *cache.pages.back();
        const std::uint32_t more = std::min(kSharedPositions - page, positions - cache.reserved);
        page += more;
        cache.reserved += more;
    }
}

/// Gives the room behind the first positions back, unless another cache has it too.
void OracleSessionCompute::free_from(Cache& cache, std::uint32_t positions) {
    while (cache.reserved > positions) {
        std::uint32_t& page = *cache.pages.back();
        const bool is_own = cache.pages.back().use_count() == 1;
        const std::uint32_t first = cache.reserved - page;
        const std::uint32_t kept = positions > first ? positions - first : 0;
        if (kept > 0 && !is_own) {
            return;
        }
        reserved_ -= is_own ? page - kept : 0;
        cache.reserved = first + kept;
        if (kept > 0) {
            page = kept;
            return;
        }
        cache.pages.pop_back();
    }
}

void OracleSessionCompute::truncate(CacheId cache, std::uint32_t positions) {
    const auto found = caches_.find(cache);
    if (found != caches_.end() && found->second.filled.size() > positions) {
        found->second.filled.resize(positions);
    }
}

void OracleSessionCompute::drop(CacheId cache) {
    const auto found = caches_.find(cache);
    if (found != caches_.end()) {
        free_from(found->second, 0);
        caches_.erase(found);
    }
}

void OracleSessionCompute::shrink(CacheId cache, std::uint32_t positions) {
    truncate(cache, positions);
    const auto found = caches_.find(cache);
    if (found != caches_.end()) {
        free_from(found->second, positions);
    }
}

swarm::Result<> OracleSessionCompute::share(CacheId from, CacheId to, std::uint32_t positions) {
    const auto found = caches_.find(from);
    if (found == caches_.end() || caches_.contains(to)) {
        return refusal(swarm::ErrorCode::NotFound, swarm::Reaction::Reject, "no such cache");
    }
    const Cache& source = found->second;
    if (positions == 0 || positions % kSharedPositions != 0 || positions > source.filled.size()) {
        return refusal(swarm::ErrorCode::Mismatch, swarm::Reaction::Reject, "no whole pages");
    }
    Cache cache{.reserved = positions};
    const auto pages = static_cast<std::ptrdiff_t>(positions / kSharedPositions);
    cache.pages.assign(source.pages.begin(), source.pages.begin() + pages);
    cache.filled.assign(source.filled.begin(), source.filled.begin() + positions);
    caches_.emplace(to, std::move(cache));
    return {};
}

std::uint64_t OracleSessionCompute::advance(Cache& cache, std::uint64_t input) const {
    const std::size_t position = cache.filled.size();
    std::vector<std::uint64_t> chain;
    std::uint64_t state = input;
    for (std::uint32_t layer = layers_.first; layer < layers_.end; ++layer) {
        const std::size_t own = layer - layers_.first;
        const std::uint64_t before = position == 0 ? 0 : cache.filled.back()[own];
        const std::uint64_t here = combine(combine(model_.weights, layer), position);
        chain.push_back(combine(combine(before, here), state));
        state = combine(state, chain.back());
    }
    cache.filled.push_back(std::move(chain));
    return state;
}

swarm::Result<std::vector<std::uint64_t>> OracleSessionCompute::read(
    std::span<const SessionRow> rows, const StageInput& input
) {
    std::map<CacheId, std::size_t> filled;
    std::vector<std::uint64_t> states;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto found = caches_.find(rows[i].cache);
        const std::size_t before = found == caches_.end() ? 0 : found->second.filled.size();
        std::size_t& next = filled.try_emplace(rows[i].cache, before).first->second;
        if (found == caches_.end() || next++ != rows[i].position ||
            rows[i].position >= found->second.reserved) {
            ++gaps_;
            return refusal(
                swarm::ErrorCode::Mismatch,
                swarm::Reaction::Reject,
                "a row for position " + std::to_string(rows[i].position) +
                    " does not continue its cache; open the session anew"
            );
        }
        if (const auto* tokens = std::get_if<std::span<const TokenId>>(&input)) {
            states.push_back(combine(model_.weights, (*tokens)[i]));
            continue;
        }
        const auto numbers = std::get<std::span<const float>>(input);
        const auto row = numbers.subspan(i * model_.width, model_.width);
        if (model_.takes_any_row) {
            states.push_back(hash_of_bits(row));
            continue;
        }
        SWARM_TRY(const std::uint64_t state, state_of(row));
        states.push_back(state);
    }
    return states;
}

swarm::Result<std::vector<float>> OracleSessionCompute::run_layers(
    std::span<const SessionRow> rows, const StageInput& input
) {
    largest_call_ = std::max(largest_call_, rows.size());
    SWARM_TRY(const auto states, read(rows, input));
    rows_ += rows.size();
    std::vector<float> out;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        append_row(advance(caches_.at(rows[i].cache), states[i]), model_.width, out);
    }
    return out;
}

std::vector<float> OracleSessionCompute::logits(std::span<const float> outputs) {
    std::vector<float> values;
    for (std::size_t at = 0; at < outputs.size(); at += model_.width) {
        const std::uint64_t said = *state_of(outputs.subspan(at, model_.width));
        const std::uint64_t state = shape().last ? said : ~said;
        for (std::uint32_t token = 0; token < model_.vocabulary; ++token) {
            const std::uint64_t drawn = combine(state, token) % 1024;
            values.push_back(static_cast<float>(drawn) / 1024 * model_.spread);
        }
    }
    return values;
}

}  // namespace stacking::sessions
