#include "stacking/composition/alignment/member_alignment.hpp"

#include "stacking/composition/alignment/moved_states.hpp"
#include "stages/worker/reduction_math.hpp"
#include "swarm/base/check.hpp"
#include "swarm/base/rng.hpp"
#include "swarm/base/try.hpp"
#include "swarm/run/step_scalars.hpp"

#include <utility>

namespace stacking::composition {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;

namespace {

constexpr stages::GraphKey kAlignedBatch{{0}, {1}};

/// Mean over rows of |h - v|^2 / |v|^2. Adds its gradient by h, times `weight`, to `gradient`. A
/// target of zeros counts for nothing.
double add_distance(
    std::span<const float> states,
    std::span<const float> targets,
    std::size_t width,
    double weight,
    std::span<float> gradient
) {
    const auto rows = static_cast<double>(states.size() / width);
    double sum = 0;
    for (std::size_t at = 0; at < states.size(); at += width) {
        double apart = 0;
        double length = 0;
        for (std::size_t k = at; k < at + width; ++k) {
            const double difference =
                static_cast<double>(states[k]) - static_cast<double>(targets[k]);
            apart += difference * difference;
            length += static_cast<double>(targets[k]) * static_cast<double>(targets[k]);
        }
        if (length == 0) {
            continue;
        }
        sum += apart / length;
        const double factor = 2 * weight / (length * rows);
        for (std::size_t k = at; k < at + width; ++k) {
            const double difference =
                static_cast<double>(states[k]) - static_cast<double>(targets[k]);
            gradient[k] += static_cast<float>(factor * difference);
        }
    }
    return sum / rows;
}

}  // namespace

MemberAlignment::MemberAlignment(
    Member member,
    swarm::run::RunConfig config,
    StateManifest manifest,
    ReadShard read,
    AlignSettings settings
)
    : member_(std::move(member)),
      config_(std::move(config)),
      manifest_(std::move(manifest)),
      read_(std::move(read)),
      settings_(settings) {
    SWARM_ASSERT(manifest_.shards > 1 && manifest_.batch == config_.batch);
    SWARM_ASSERT(manifest_.context == config_.model.context);
}

Result<StateShard> MemberAlignment::read(std::uint32_t number) const {
    SWARM_TRY(StateShard shard, read_(number));
    if (shard.context != manifest_.context || shard.width != manifest_.width ||
        shard.sequences() % manifest_.batch != 0) {
        return Error{
            ErrorCode::Mismatch,
            Reaction::Reject,
            shard_name(number) + " has another shape than the manifest says"};
    }
    return shard;
}

Result<MemberAlignment::Losses> MemberAlignment::run(
    const StateShard& batch, std::span<float> gradient
) {
    const auto graph = gradient.empty() ? stages::Graph::Drop : stages::Graph::Keep;
    SWARM_TRY(
        const auto states, member_.layers.forward(kAlignedBatch, nullptr, batch.tokens, graph)
    );
    Losses losses;
    std::vector<float> by_states(states.values.size());
    if (gradient.empty()) {
        SWARM_TRY(losses.tokens, member_.head.tail_loss(&states, batch.tokens));
    } else {
        SWARM_TRY(const auto output, member_.head.forward_tail(&states, batch.tokens, {}));
        losses.tokens = output.loss;
        const auto below = output.gradient_below.values;
        by_states.assign(below.begin(), below.end());
    }
    losses.distance =
        add_distance(states.values, batch.rows, batch.width, settings_.weight, by_states);
    if (!gradient.empty()) {
        const auto by_output = stages::make_host_tensor(states.shape, std::move(by_states));
        SWARM_TRY(member_.layers.backward(kAlignedBatch, by_output, gradient));
    }
    return losses;
}

Result<MemberAlignment::Losses> MemberAlignment::held_out() {
    SWARM_TRY(const StateShard shard, read(manifest_.shards - 1));
    Losses sum;
    const std::uint32_t batches = shard.sequences() / manifest_.batch;
    for (std::uint32_t i = 0; i < batches; ++i) {
        const auto batch = sequences_of(shard, i * manifest_.batch, manifest_.batch);
        SWARM_TRY(const Losses losses, run(batch, {}));
        sum.tokens += losses.tokens / batches;
        sum.distance += losses.distance / batches;
    }
    return sum;
}

Result<> MemberAlignment::train(const std::function<void(std::uint32_t, const Losses&)>& on_step) {
    const swarm::run::StageLayout& layout = member_.state.layout();
    std::vector<float> gradient(layout.elements());
    for (std::uint32_t step = 0; step < settings_.steps; ++step) {
        swarm::Rng rng(settings_.seed, step);
        const auto number = static_cast<std::uint32_t>(rng.below(manifest_.shards - 1));
        SWARM_TRY(const StateShard shard, read(number));
        const std::uint32_t batches = shard.sequences() / manifest_.batch;
        const auto drawn = static_cast<std::uint32_t>(rng.below(batches));
        const auto batch = sequences_of(shard, drawn * manifest_.batch, manifest_.batch);
        SWARM_TRY(const Losses losses, run(batch, gradient));
        std::vector<double> squares;
        std::span<const float> left(gradient);
        for (const swarm::run::TensorSpec& tensor : layout.tensors) {
            squares.push_back(stages::sum_of_squares(left.first(tensor.elements())));
            left = left.subspan(tensor.elements());
        }
        const auto scalars = swarm::run::step_scalars(config_, step, squares);
        member_.state.apply(config_.optimizer, scalars, gradient);
        member_.layers.use_weights(member_.state.weights());
        on_step(step + 1, losses);
    }
    return {};
}

}  // namespace stacking::composition
