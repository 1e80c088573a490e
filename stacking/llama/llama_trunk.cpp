// The part of LlamaSessions that computes layers whose experts are elsewhere. A call walks over the
// layers and stops where its router chose an expert that is not held; between two steps its rows
// are in hidden_, and the input of the experts is in normed_. The additions are those of
// llama_experts.cpp, in the same order.
#include "stacking/llama/llama_sessions.hpp"
#include "swarm/base/check.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace stacking::llama {

swarm::Result<TrunkStep> LlamaSessions::begin(
    std::span<const SessionRow> rows,
    const StageInput& input,
    std::span<const LackingExperts* const> lacking
) {
    SWARM_ASSERT(lacking.size() == rows.size());
    SWARM_TRY(check_input(rows.size(), input));
    SWARM_TRY(find_rows(rows));
    walk_ = {};
    walk_.rows.assign(rows.begin(), rows.end());
    walk_.lacking.assign(lacking.begin(), lacking.end());
    if (const auto* const tokens = std::get_if<std::span<const TokenId>>(&input)) {
        walk_.tokens.assign(tokens->begin(), tokens->end());
    }
    read_input(0, rows.size(), input);
    find_angles(rotary_, 0, rows.size(), angles_);
    find_angles(local_rotary_, 0, rows.size(), local_angles_);
    return walk_on();
}

TrunkStep LlamaSessions::go_on(std::span<const std::vector<float>> outputs) {
    const std::size_t width = weights_->architecture.model.width;
    SWARM_ASSERT(outputs.size() == walk_.visits.size() && !outputs.empty());
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        KvCache* const cache = caches_.find(walk_.rows[i].cache);
        const bool is_there = cache != nullptr && rows_[i].position < cache->reserved_positions();
        rows_[i].cache = is_there ? cache : nullptr;
        if (!is_there) {
            std::fill_n(hidden_.data() + i * width, width, 0.0F);
        }
    }
    combine(outputs);
    ++walk_.layer;
    return walk_on();
}

kernels::Rows LlamaSessions::ffn_input(const LayerWeights& layer, std::size_t count) {
    const std::size_t width = weights_->architecture.model.width;
    return {layer.ffn_norm.empty() ? hidden_.data() : normed_.data(), count, width};
}

TrunkStep LlamaSessions::walk_on() {
    const std::size_t count = rows_.size();
    for (; walk_.layer < weights_->weights_of.size(); ++walk_.layer) {
        const LayerWeights& layer = weights_->weights(walk_.layer);
        const auto bottleneck =
            std::ranges::find(weights_->bottlenecks, walk_.layer, &BottleneckWeights::layer);
        if (bottleneck != weights_->bottlenecks.end()) {
            pass_bottleneck(*bottleneck, walk_.tokens, count);
        }
        attend(walk_.layer, 0, count);
        if (!layer.router) {
            feed_forward(layer, count);
            continue;
        }
        const kernels::Rows in = normalised(layer.ffn_norm, count);
        walk_.groups = route(layer, in);
        ExpertStop stop{
            weights_->first_layer + static_cast<std::uint32_t>(walk_.layer), visits_of(layer, in)};
        if (!stop.visits.empty()) {
            return stop;
        }
        combine({});
    }
    for (const Row& row : rows_) {
        if (row.cache != nullptr) {
            row.cache->filled = row.position + 1;
        }
    }
    return std::vector<float>(hidden_.begin(), hidden_.end());
}

std::vector<ExpertVisit> LlamaSessions::visits_of(
    const LayerWeights& layer, const kernels::Rows& in
) {
    const std::size_t width = weights_->architecture.model.width;
    const std::uint32_t number = weights_->first_layer + static_cast<std::uint32_t>(walk_.layer);
    walk_.visits.clear();
    walk_.spoiled.clear();
    for (std::size_t row = 0; row < in.count; ++row) {
        const float* const values = in.values + row * in.stride;
        if (!std::all_of(values, values + width, [](float value) {
                return std::isfinite(value);
            })) {
            walk_.spoiled.push_back(row);
        }
    }
    std::vector<ExpertVisit> visits;
    for (std::uint32_t expert = 0; expert < walk_.groups.size(); ++expert) {
        if (layer.experts[expert].is_held()) {
            continue;
        }
        ExpertVisit visit{.expert = expert};
        for (const std::size_t row : walk_.groups[expert].rows) {
            if (!std::ranges::binary_search(walk_.spoiled, row) &&
                !walk_.lacking[row]->contains({number, expert})) {
                visit.rows.push_back(static_cast<std::uint32_t>(row));
                const float* const values = in.values + row * in.stride;
                visit.values.insert(visit.values.end(), values, values + width);
            }
        }
        if (!visit.rows.empty()) {
            walk_.visits.push_back({expert, visit.rows, {}});
            visits.push_back(std::move(visit));
        }
    }
    return visits;
}

/// Takes the rows out of the groups of experts that nobody computed for them, and scales their
/// other shares to the same sum.
void LlamaSessions::leave_out(std::span<const std::vector<float>> outputs) {
    const LayerWeights& layer = weights_->weights(walk_.layer);
    std::vector<float> before(rows_.size());
    std::vector<float> after(rows_.size());
    std::vector<bool> lacks(rows_.size());
    std::size_t next = 0;  // visit
    for (std::uint32_t expert = 0; expert < walk_.groups.size(); ++expert) {
        Group& group = walk_.groups[expert];
        const bool is_held = layer.experts[expert].is_held();
        const bool visited = next < walk_.visits.size() && walk_.visits[next].expert == expert;
        const bool computed = visited && !outputs[next].empty();
        Group kept;
        for (std::size_t i = 0; i < group.rows.size(); ++i) {
            const std::size_t row = group.rows[i];
            before[row] += group.shares[i];
            const auto is_in = [&] {
                return std::ranges::binary_search(
                    walk_.visits[next].rows, static_cast<std::uint32_t>(row)
                );
            };
            if (is_held || (computed && is_in())) {
                after[row] += group.shares[i];
                kept.rows.push_back(row);
                kept.shares.push_back(group.shares[i]);
            } else {
                lacks[row] = true;
            }
        }
        group = std::move(kept);
        next += visited ? 1 : 0;
    }
    for (Group& group : walk_.groups) {
        for (std::size_t i = 0; i < group.rows.size(); ++i) {
            const std::size_t row = group.rows[i];
            if (lacks[row] && after[row] > 0) {
                group.shares[i] *= before[row] / after[row];
            }
        }
    }
}

void LlamaSessions::combine(std::span<const std::vector<float>> outputs) {
    const LayerWeights& layer = weights_->weights(walk_.layer);
    const std::size_t width = weights_->architecture.model.width;
    const kernels::Rows in = ffn_input(layer, rows_.size());
    leave_out(outputs);
    mixed_.assign(in.count * width, 0.0F);
    std::size_t next = 0;  // visit
    for (std::uint32_t expert = 0; expert < walk_.groups.size(); ++expert) {
        const Group& group = walk_.groups[expert];
        const bool visited = next < walk_.visits.size() && walk_.visits[next].expert == expert;
        if (layer.experts[expert].is_held()) {
            if (!group.rows.empty()) {
                add_expert(layer.experts[expert], group.rows, group.shares, in);
            }
        } else if (visited) {
            for (std::size_t i = 0; i < group.rows.size(); ++i) {
                float* const to = mixed_.data() + group.rows[i] * width;
                const float* const term = outputs[next].data() + i * width;
                for (std::size_t d = 0; d < width; ++d) {
                    to[d] += term[d] * group.shares[i];
                }
            }
        }
        next += visited ? 1 : 0;
    }
    add_shared(layer, in);
    for (const std::size_t row : walk_.spoiled) {
        std::fill_n(mixed_.data() + row * width, width, std::numeric_limits<float>::quiet_NaN());
    }
    product_.swap(mixed_);
    add_part({}, layer.ffn_post_norm, in.count);
}

}  // namespace stacking::llama
