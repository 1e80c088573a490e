#include "tests/bench/quality/quality_math.hpp"

#include "swarm/base/check.hpp"
#include "swarm/run/step_time.hpp"

#include <algorithm>

namespace swarm::bench {
namespace {

constexpr std::uint64_t kTrials = 30;

bool trial_is_due(std::uint64_t made, std::uint64_t steps) {
    const std::uint64_t every = std::max<std::uint64_t>(1, steps / kTrials);
    return made <= steps ? made % every == 0 || made == steps : (made - steps) % every == 0;
}

bool is_shared_after(const run::RunConfig& config, std::uint64_t made) {
    return config.mode == run::SyncMode::Exact || run::is_sync_step(config, made - 1);
}

/// The abscissa at which the line from a to b reaches `loss`.
double crossing(const LossPoint& a, const LossPoint& b, double loss) {
    return a.at + (b.at - a.at) * (a.loss - loss) / (a.loss - b.loss);
}

}  // namespace

LossCurve smoothed(const LossCurve& curve, std::size_t points) {
    SWARM_ASSERT(points > 0);
    LossCurve smooth;
    for (std::size_t i = 0; i < curve.size(); ++i) {
        const std::size_t first = i + 1 > points ? i + 1 - points : 0;
        double sum = 0;
        for (std::size_t j = first; j <= i; ++j) {
            sum += curve[j].loss;
        }
        smooth.push_back({curve[i].at, sum / static_cast<double>(i + 1 - first)});
    }
    return smooth;
}

LossCurve mean_of(std::span<const LossCurve> curves) {
    SWARM_ASSERT(!curves.empty());
    LossCurve mean = curves.front();
    for (const LossCurve& curve : curves.subspan(1)) {
        mean.resize(std::min(mean.size(), curve.size()));
        for (std::size_t i = 0; i < mean.size(); ++i) {
            SWARM_ASSERT(mean[i].at == curve[i].at);
            mean[i].loss += curve[i].loss;
        }
    }
    for (LossPoint& point : mean) {
        point.loss /= static_cast<double>(curves.size());
    }
    return mean;
}

double loss_at(const LossCurve& curve, double at) {
    SWARM_ASSERT(!curve.empty());
    const auto after = std::find_if(curve.begin(), curve.end(), [&](const LossPoint& point) {
        return point.at >= at;
    });
    if (after == curve.begin()) {
        return after->loss;
    }
    const LossPoint& a = *(after - 1);
    if (after == curve.end()) {
        return a.loss;
    }
    return a.loss + (after->loss - a.loss) * (at - a.at) / (after->at - a.at);
}

std::optional<double> first_at_or_below(const LossCurve& curve, double loss) {
    for (std::size_t i = 0; i < curve.size(); ++i) {
        if (curve[i].loss <= loss) {
            return i == 0 ? curve[i].at : crossing(curve[i - 1], curve[i], loss);
        }
    }
    return std::nullopt;
}

double percent_above(double value, double reference) {
    return 100 * (value - reference) / reference;
}

bool is_tried_after(const run::RunConfig& config, std::uint64_t made) {
    SWARM_ASSERT(made > 0);
    if (!is_shared_after(config, made)) {
        return false;
    }
    std::uint64_t at = made;
    while (!trial_is_due(at, config.steps)) {
        ++at;
        if (is_shared_after(config, at)) {
            return false;  // that one is nearer to the trial
        }
    }
    return true;
}

double seconds_on_line(const LineStep& step) {
    const auto parts = static_cast<double>(step.stages) * step.microbatches;
    const double up_s = static_cast<double>(step.forward_bytes) / step.line_bytes_per_s;
    const double down_s = static_cast<double>(step.backward_bytes) / step.line_bytes_per_s;
    std::vector<run::StageTime> stages(
        step.stages, {static_cast<double>(step.peers), step.compute_s / parts, up_s, down_s}
    );
    stages.front().to_previous_s = 0;
    stages.back().to_next_s = 0;
    return run::step_time(stages, step.microbatches, step.microbatches).step_s +
           step.sync_bytes / step.line_bytes_per_s;
}

double exact_sync_bytes(std::uint64_t weights, std::uint32_t replicas, double line_bytes_per_s) {
    return run::sync_bytes(run::SyncMode::Exact, weights, replicas, line_bytes_per_s);
}

double sparse_sync_bytes(
    std::uint64_t share_bytes, std::uint32_t replicas, std::uint32_t sync_every
) {
    SWARM_ASSERT(replicas > 0 && sync_every > 0);
    return static_cast<double>(share_bytes) * (replicas - 1) / sync_every;
}

}  // namespace swarm::bench
