#include "sim/fluid/fluid_run.hpp"

#include "sim/fluid/fluid_world.hpp"
#include "sim/fluid/step_spread.hpp"
#include "swarm/base/try.hpp"
#include "swarm/base/units.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sim {
namespace {

using swarm::in_seconds;

constexpr std::uint64_t kEventsBetweenProgress = 1 << 8;

double share_of(double part, double whole) {
    return whole > 0 ? part / whole : 0;
}

swarm::Error unknown_name(const std::string& what, const std::string& name, std::string names) {
    return {
        swarm::ErrorCode::Usage,
        swarm::Reaction::Reject,
        "pipeline." + what + ": no " + what + " is called \"" + name + "\"; one of " +
            std::move(names)};
}

class FluidRun {
 public:
    FluidRun(
        const Scenario& scenario,
        const Schedule& schedule,
        std::uint64_t seed,
        const Progress& progress
    )
        : scenario_(scenario),
          schedule_(schedule),
          progress_(progress),
          world_(scenario, schedule, seed),
          busy_before_(scenario.pipeline.stages, 0),
          up_before_(scenario.pipeline.stages, 0) {
        report_.scenario = scenario.name;
        report_.question = scenario.question;
        report_.mode = Mode::Fluid;
        report_.seed = seed;
        report_.peers = static_cast<std::uint32_t>(schedule.fleet.size());
        report_.stages = scenario.pipeline.stages;
        report_.policy = scenario.pipeline.policy;
        report_.rebalancer = scenario.pipeline.rebalancer;
    }

    [[nodiscard]] const FluidTotals& totals() const { return world_.totals(); }

    SimReport run() {
        world_.start();
        next_period_ = after_now(scenario_.pipeline.rebalance_every);
        next_sample_ = after_now(sample_every());
        while (!report_.interrupted && world_.now() < end_ && !steps_are_done()) {
            flow_until(next_time());
            happen();
            if (++turns_ % kEventsBetweenProgress == 0) {
                tell_progress();
            }
        }
        return conclude();
    }

 private:
    [[nodiscard]] TimePoint after_now(Duration duration) const {
        return duration > Duration{} ? world_.now() + duration : swarm::kNever;
    }

    [[nodiscard]] Duration sample_every() const {
        return std::max(Duration(1), scenario_.duration / static_cast<int>(kSamplesMax));
    }

    [[nodiscard]] double microbatches_wanted() const {
        return static_cast<double>(scenario_.pipeline.steps) * scenario_.pipeline.microbatches;
    }

    [[nodiscard]] bool steps_are_done() const {
        const double tolerance = 1e-9;  // relative: the error that rounding of time to ns may leave
        return scenario_.pipeline.steps > 0 &&
               world_.totals().microbatches >= microbatches_wanted() * (1 - tolerance);
    }

    [[nodiscard]] TimePoint next_happening() const {
        return next_ < schedule_.happenings.size() ? schedule_.happenings[next_].at : swarm::kNever;
    }

    [[nodiscard]] TimePoint next_time() {
        if (next_happening() <= world_.now()) {
            return world_.now();
        }
        TimePoint next =
            std::min({next_happening(), world_.next_own_event(), next_period_, next_sample_, end_});
        if (scenario_.pipeline.steps > 0 && world_.flow() > 0) {
            const double left = microbatches_wanted() - world_.totals().microbatches;
            const double left_s = std::max(0.0, left / world_.flow());
            if (left_s < in_seconds(next - world_.now())) {
                next = world_.now() + Duration(static_cast<Duration::rep>(std::ceil(left_s * 1e9)));
            }
        }
        return std::max(next, world_.now());
    }

    // Time in which only lost work was redone belongs to the step that it delays.
    void flow_until(TimePoint until) {
        const double before = world_.totals().microbatches;
        stretch_s_ += in_seconds(until - world_.now());
        world_.flow_until(until);
        const double steps =
            (world_.totals().microbatches - before) / scenario_.pipeline.microbatches;
        if (steps > 0) {
            steps_.add(stretch_s_ / steps, steps);
            stretch_s_ = 0;
        }
    }

    // Order at one time: first the work under way ends, then the fleet changes, then the rebalancer
    // decides.
    void happen() {
        const TimePoint now = world_.now();
        if (world_.next_own_event() <= now) {
            world_.carry_out_own_event();
        } else if (next_happening() <= now) {
            world_.carry_out(schedule_.happenings[next_++]);
        } else if (next_period_ <= now) {
            world_.rebalance();
            next_period_ = after_now(scenario_.pipeline.rebalance_every);
        } else if (next_sample_ <= now) {
            take_sample();
            next_sample_ = after_now(sample_every());
        }
    }

    void tell_progress() {
        const double share =
            in_seconds(world_.now().time_since_epoch()) / in_seconds(end_.time_since_epoch());
        report_.interrupted = progress_ && !progress_(share);
    }

    void take_sample() {
        const FluidTotals& totals = world_.totals();
        Sample sample;
        sample.at_s = in_seconds(world_.now().time_since_epoch());
        sample.peers_per_stage = world_.roster().peers_per_stage();
        for (std::size_t stage = 0; stage < busy_before_.size(); ++stage) {
            sample.utilisation_per_stage.push_back(share_of(
                totals.busy_s_per_stage[stage] - busy_before_[stage],
                totals.up_s_per_stage[stage] - up_before_[stage]
            ));
        }
        busy_before_ = totals.busy_s_per_stage;
        up_before_ = totals.up_s_per_stage;
        sample.steps = steps_so_far();
        sample.bytes = static_cast<std::uint64_t>(totals.bytes);
        report_.samples.push_back(std::move(sample));
    }

    [[nodiscard]] std::uint64_t steps_so_far() const {
        constexpr double kRounding = 1e-6;  // in steps
        const double steps = world_.totals().microbatches / scenario_.pipeline.microbatches;
        return static_cast<std::uint64_t>(steps + kRounding);
    }

    SimReport conclude() {
        const FluidTotals& totals = world_.totals();
        report_.events = world_.events();
        report_.virtual_s = in_seconds(world_.now().time_since_epoch());
        report_.steps = steps_so_far();
        report_.step_s = steps_.times();
        report_.utilisation = share_of(totals.busy_s, totals.up_s);
        for (std::size_t stage = 0; stage < totals.busy_s_per_stage.size(); ++stage) {
            report_.utilisation_per_stage.push_back(
                share_of(totals.busy_s_per_stage[stage], totals.up_s_per_stage[stage])
            );
        }
        if (totals.best_microbatches > 0) {
            report_.throughput_of_optimal = totals.microbatches / totals.best_microbatches;
        }
        report_.moves = world_.moves();
        report_.bytes = static_cast<std::uint64_t>(totals.bytes);
        swarm::TraceHash trace;
        trace.add(world_.trace_hash());
        trace.add(report_.steps);
        trace.add(report_.bytes);
        report_.trace_hash = trace.value();
        report_.notes = world_.notes();
        return std::move(report_);
    }

    const Scenario& scenario_;
    const Schedule& schedule_;
    const Progress& progress_;
    FluidWorld world_;
    TimePoint end_ = TimePoint{} + scenario_.duration;
    TimePoint next_period_{};
    TimePoint next_sample_{};
    std::size_t next_ = 0;  // index into happenings
    std::uint64_t turns_ = 0;
    StepSpread steps_;
    double stretch_s_ = 0;  // seconds since steps_ was told
    std::vector<double> busy_before_;
    std::vector<double> up_before_;
    SimReport report_;
};

}  // namespace

swarm::Result<SimReport> run_fluid(
    const Scenario& scenario, const Schedule& schedule, std::uint64_t seed, const Progress& progress
) {
    const Pipeline& pipeline = scenario.pipeline;
    if (!router::make_policy(pipeline.policy, seed)) {
        return unknown_name("policy", pipeline.policy, router::policy_names());
    }
    if (!router::make_rebalancer(pipeline.rebalancer)) {
        return unknown_name("rebalancer", pipeline.rebalancer, router::rebalancer_names());
    }
    return FluidRun(scenario, schedule, seed, progress).run();
}

swarm::Result<SimReport> run_fluid(
    const Scenario& scenario, std::uint64_t seed, const Progress& progress
) {
    SWARM_TRY(const auto schedule, make_schedule(scenario, seed));
    return run_fluid(scenario, schedule, seed, progress);
}

double best_microbatches(
    const Scenario& scenario, const Schedule& schedule, std::uint64_t seed, TimePoint until
) {
    Scenario timed = scenario;
    timed.pipeline.steps = 0;
    timed.duration = until.time_since_epoch();
    const Progress no_progress;
    FluidRun run(timed, schedule, seed, no_progress);
    run.run();
    return run.totals().best_microbatches;
}

}  // namespace sim
