#include "stacking/composition/bridge_training.hpp"

#include "stages/worker/reduction_math.hpp"
#include "stages/worker/stage_state.hpp"
#include "swarm/base/rng.hpp"
#include "swarm/base/try.hpp"
#include "swarm/run/step_scalars.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace stacking::composition {

using swarm::Result;

namespace {

/// One token in kHeldOutDivisor is held out, at the end of each text.
constexpr std::size_t kHeldOutDivisor = 10;
/// Maximum batches of held-out text.
constexpr std::size_t kHeldOutBatchesMax = 4;
/// Number of times that a bridge is measured on the held-out text.
constexpr std::uint32_t kLooks = 10;

constexpr stages::GraphKey kKey{{0}, {1}};

swarm::run::StageLayout layout_of(std::uint32_t inputs, std::uint32_t outputs) {
    swarm::run::StageLayout layout;
    layout.tensors = {{"bridge.weight", {outputs, inputs}}, {"bridge.bias", {outputs}}};
    return layout;
}

std::vector<double> sums_of_squares(
    const swarm::run::StageLayout& layout, std::span<const float> gradient
) {
    std::vector<double> sums;
    for (const swarm::run::TensorSpec& tensor : layout.tensors) {
        sums.push_back(stages::sum_of_squares(gradient.first(tensor.elements())));
        gradient = gradient.subspan(tensor.elements());
    }
    return sums;
}

/// Adds to `gradient` (A, then b) the product by_x^T normalised and the sum of by_x over rows.
void add_outer(
    std::span<const float> by_x,
    std::span<const float> normalised,
    std::size_t inputs,
    std::size_t outputs,
    std::span<float> gradient
) {
    for (std::size_t row = 0; row < by_x.size() / outputs; ++row) {
        const float* const in = normalised.data() + row * inputs;
        for (std::size_t out = 0; out < outputs; ++out) {
            const float by = by_x[row * outputs + out];
            float* const to = gradient.data() + out * inputs;
            for (std::size_t i = 0; i < inputs; ++i) {
                to[i] += by * in[i];
            }
            gradient[outputs * inputs + out] += by;
        }
    }
}

}  // namespace

swarm::run::RunConfig bridge_run(
    const swarm::run::ModelConfig& model, const BridgeTraining& training
) {
    swarm::run::RunConfig config;
    config.model = model;
    config.model.context = training.window;
    config.stages = 1;
    config.steps = training.steps;
    config.microbatches = 1;
    config.batch = training.batch;
    config.seed = training.seed;
    config.optimizer.learning_rate = training.learning_rate;
    config.optimizer.final_learning_rate = training.learning_rate / 10;
    return config;
}

BridgeTrainer::BridgeTrainer(Members members, BridgeTraining training, std::span<const Text> texts)
    : members_(members), training_(training), thrown_away_(members.upper_parameters) {
    for (const Text& text : texts) {
        const std::size_t kept = text.size() - text.size() / kHeldOutDivisor;
        text_.insert(text_.end(), text.begin(), text.begin() + static_cast<std::ptrdiff_t>(kept));
    }
    hold_out(texts);
}

/// Takes one window from the end of each text, then the window before it from each, and so on;
/// keeps whole batches.
void BridgeTrainer::hold_out(std::span<const Text> texts) {
    const std::size_t row = training_.window + std::size_t{1};
    const std::size_t most = kHeldOutBatchesMax * training_.batch;
    for (std::size_t round = 1, rows = 0; rows < most; ++round) {
        const std::size_t before = rows;
        for (const Text& text : texts) {
            if (rows < most && round * row <= text.size() / kHeldOutDivisor) {
                const auto window = std::span(text).subspan(text.size() - round * row, row);
                held_.insert(held_.end(), window.begin(), window.end());
                ++rows;
            }
        }
        if (rows == before) {
            break;
        }
    }
    held_.resize(held_.size() - held_.size() % (row * training_.batch));
}

BridgeTrainer::Text BridgeTrainer::batch_of(std::uint64_t step) const {
    Text batch;
    const std::size_t row = training_.window + std::size_t{1};
    swarm::Rng rng(training_.seed, step);
    for (std::uint32_t i = 0; i < training_.batch; ++i) {
        const auto from = std::span(text_).subspan(rng.below(text_.size() - row + 1), row);
        batch.insert(batch.end(), from.begin(), from.end());
    }
    return batch;
}

Result<double> BridgeTrainer::run(
    const Bridge& bridge, std::span<const TokenId> batch, std::span<float> gradient
) {
    SWARM_TRY(const auto said, members_.lower.forward(kKey, nullptr, batch, stages::Graph::Drop));
    std::vector<float> normalised(said.values.begin(), said.values.end());
    normalise_rows(normalised, members_.lower_width);
    std::vector<float> x;
    const std::size_t row = training_.window + std::size_t{1};
    for (std::size_t at = 0; at < batch.size(); ++at) {
        if ((at + 1) % row == 0) {
            continue;  // the last token of a window is only a target
        }
        const auto embedded = members_.embedding.subspan(
            std::size_t{batch[at]} * members_.upper_width, members_.upper_width
        );
        x.insert(x.end(), embedded.begin(), embedded.end());
    }
    bridge.add(normalised, x);
    const auto input = stages::make_host_tensor(
        {training_.batch, training_.window, members_.upper_width}, std::move(x)
    );
    SWARM_TRY(const auto out, members_.upper.forward_tail(&input, batch, thrown_away_));
    if (!gradient.empty()) {
        add_outer(
            out.gradient_below.values,
            normalised,
            members_.lower_width,
            members_.upper_width,
            gradient
        );
    }
    return out.loss;
}

Result<double> BridgeTrainer::held_out(const Bridge& bridge) {
    const std::size_t each = (training_.window + std::size_t{1}) * training_.batch;
    double sum = 0;
    for (std::size_t at = 0; at < held_.size(); at += each) {
        SWARM_TRY(const double loss, run(bridge, std::span(held_).subspan(at, each), {}));
        sum += loss;
    }
    return sum * static_cast<double>(each) / static_cast<double>(held_.size());
}

Result<Bridge> BridgeTrainer::train(const std::function<void(const Progress&)>& on_step) {
    if (held_.empty()) {
        const std::size_t least = (training_.window + std::size_t{1}) * training_.batch;
        return swarm::Error{
            swarm::ErrorCode::Usage,
            swarm::Reaction::Reject,
            "too little text: " + std::to_string(least * kHeldOutDivisor) +
                " tokens are the least for this batch and window"};
    }
    const std::uint32_t inputs = members_.lower_width;
    const std::uint32_t outputs = members_.upper_width;
    const auto config = bridge_run({}, training_);
    const auto layout = layout_of(inputs, outputs);
    const std::vector<float> zeros(layout.elements());
    auto state = stages::StageState::from_tensors(layout, {}, zeros, zeros, zeros);
    Bridge best = Bridge::zero(inputs, outputs);
    SWARM_TRY(start_loss_, held_out(best));
    best_loss_ = start_loss_;
    const std::uint32_t look_every = std::max(training_.steps / kLooks, 1U);
    std::vector<float> gradient;
    for (std::uint32_t step = 0; step < training_.steps; ++step) {
        gradient.assign(layout.elements(), 0);
        const auto now = Bridge::from(inputs, outputs, state.weights());
        SWARM_TRY(const double loss, run(now, batch_of(step), gradient));
        const auto scalars =
            swarm::run::step_scalars(config, step, sums_of_squares(layout, gradient));
        state.apply(config.optimizer, scalars, gradient);
        if ((step + 1) % look_every == 0 || step + 1 == training_.steps) {
            auto candidate = Bridge::from(inputs, outputs, state.weights());
            SWARM_TRY(const double seen, held_out(candidate));
            if (seen < best_loss_) {
                best_loss_ = seen;
                best = std::move(candidate);
            }
        }
        on_step({step + 1, loss, best_loss_});
    }
    return best;
}

}  // namespace stacking::composition
