#include "stacking/composition/alignment/moved_states.hpp"

#include "swarm/base/check.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace stacking::composition {

using swarm::Result;

namespace {

double length_of(std::span<const float> row) {
    double sum = 0;
    for (const float value : row) {
        sum += static_cast<double>(value) * static_cast<double>(value);
    }
    return std::sqrt(sum);
}

stages::StageTensor as_input(const StateShard& batch, const std::vector<float>& rows) {
    return stages::make_host_tensor({batch.sequences(), batch.context, batch.width}, rows);
}

}  // namespace

Result<MovedStates> move_states(
    stages::StageCompute& member,
    std::size_t parameters,
    const StateShard& batch,
    std::span<const TokenId> labels,
    const MoveSettings& settings
) {
    SWARM_ASSERT(labels.size() == batch.tokens.size());
    std::vector<float> thrown_away(parameters);
    MovedStates moved{batch.rows, 0, 0};
    {
        const auto input = as_input(batch, moved.rows);
        SWARM_TRY(moved.before, member.tail_loss(&input, batch.tokens));
    }
    const std::size_t width = batch.width;
    for (std::uint32_t round = 0; round < settings.rounds; ++round) {
        const auto input = as_input(batch, moved.rows);
        SWARM_TRY(const auto output, member.forward_tail(&input, labels, thrown_away));
        const std::span<const float> gradient = output.gradient_below.values;
        SWARM_ASSERT(gradient.size() == moved.rows.size());
        for (std::size_t at = 0; at < moved.rows.size(); at += width) {
            const auto down = gradient.subspan(at, width);
            const double steepness = length_of(down);
            if (steepness == 0) {
                continue;  // no loss depends on the row
            }
            const double factor =
                settings.step * length_of(std::span(batch.rows).subspan(at, width)) / steepness;
            for (std::size_t k = 0; k < width; ++k) {
                moved.rows[at + k] -= static_cast<float>(factor * static_cast<double>(down[k]));
            }
        }
    }
    const auto input = as_input(batch, moved.rows);
    SWARM_TRY(moved.after, member.tail_loss(&input, batch.tokens));
    return moved;
}

TokenId draw_token(std::span<const float> logits, double unit) {
    SWARM_ASSERT(!logits.empty());
    const double highest = *std::ranges::max_element(logits);
    double sum = 0;
    for (const float logit : logits) {
        sum += std::exp(static_cast<double>(logit) - highest);
    }
    double left = unit * sum;
    for (std::size_t token = 0; token < logits.size(); ++token) {
        left -= std::exp(static_cast<double>(logits[token]) - highest);
        if (left < 0) {
            return static_cast<TokenId>(token);
        }
    }
    return static_cast<TokenId>(logits.size() - 1);
}

StateShard sequences_of(const StateShard& shard, std::uint32_t first, std::uint32_t count) {
    SWARM_ASSERT(first + count <= shard.sequences());
    const auto part = [&](const auto& values, std::size_t each) {
        const auto begin = values.begin() + static_cast<std::ptrdiff_t>(each * first);
        return std::vector(begin, begin + static_cast<std::ptrdiff_t>(each * count));
    };
    const std::size_t context = shard.context;
    return {
        shard.context,
        shard.width,
        part(shard.tokens, context + 1),
        part(shard.rows, context * shard.width)};
}

}  // namespace stacking::composition
