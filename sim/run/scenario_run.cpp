#include "sim/run/scenario_run.hpp"

#include "sim/fluid/fluid_run.hpp"
#include "sim/run/event_text.hpp"
#include "sim/run/fleet.hpp"
#include "sim/run/run_metrics.hpp"
#include "sim/run/stand_in.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <utility>

namespace sim {
namespace {

using swarm::run::RunConfig;

constexpr std::uint64_t kStepsWithoutEnd = 1'000'000'000;
constexpr std::size_t kTraceLinesKept = 400;
constexpr std::uint64_t kTurnsBetweenProgress = 1 << 14;

RunConfig config_of(const Scenario& scenario, std::uint64_t seed) {
    const Pipeline& pipeline = scenario.pipeline;
    RunConfig config = oracle_config(
        pipeline.stages,
        pipeline.microbatches,
        pipeline.steps > 0 ? pipeline.steps : kStepsWithoutEnd
    );
    config.seed = seed;
    config.in_flight = pipeline.in_flight;
    config.min_peers = pipeline.min_peers;
    config.policy = router::PolicyName::find(pipeline.policy).value();
    config.rebalancer = router::RebalancerName::find(pipeline.rebalancer).value();
    config.rebalance_every_s =
        static_cast<std::uint32_t>(pipeline.rebalance_every / std::chrono::seconds(1));
    config.mode = pipeline.mode;
    config.sync_every = pipeline.sync_every;
    stand_for(pipeline, config);
    return config;
}

RunWorldOptions world_of(
    const Scenario& scenario,
    std::uint64_t seed,
    const std::vector<FleetPeer>& fleet,
    const ExactOptions& exact
) {
    RunWorldOptions options;
    options.config = config_of(scenario, seed);
    options.peers = 0;
    options.seed = seed;
    options.bugs = exact.bugs;
    options.liars = exact.liars;
    options.world.network.latency = scenario.regions.latency;
    options.world.network.jitter = scenario.regions.jitter;
    options.world.extra_bytes = [weights = FrameWeights(scenario.pipeline, options.config, fleet)](
                                    PeerId from, const node::Send& send
                                ) { return weights.extra_bytes(from, send); };
    return options;
}

class ScenarioRun {
 public:
    ScenarioRun(
        const Scenario& scenario,
        std::uint64_t seed,
        const Schedule& schedule,
        const ExactOptions& options
    )
        : scenario_(scenario),
          seed_(seed),
          schedule_(schedule),
          options_(options),
          run_(world_of(scenario, seed, schedule.fleet, options)),
          fleet_(scenario, schedule.fleet, run_),
          metrics_(scenario, run_, fleet_),
          disturb_at_(options.disturb ? TimePoint{} : swarm::kNever) {
        set_chances(true);
        run_.observe_reports([this](PeerId, const node::Report& report) {
            if (const auto* const changed = std::get_if<node::PeerChanged>(&report)) {
                fleet_.hear(*changed);
            }
        });
        if (options_.trace_line) {
            run_.observe_events([this](PeerId id, const node::Event& event) {
                trace_lines_.push_back(event_text(run_.world().now(), id, event));
                if (trace_lines_.size() > kTraceLinesKept) {
                    trace_lines_.pop_front();
                }
            });
        }
    }

    SimReport run() {
        if (options_.on_event) {
            run_.observe_events([this](PeerId id, const node::Event& event) {
                options_.on_event(run_, id, event);
            });
        }
        fleet_.start_due(now());
        std::size_t next = 0;
        while (!is_over()) {
            const auto& happenings = schedule_.happenings;
            const TimePoint happens =
                next < happenings.size() ? happenings[next].at : swarm::kNever;
            advance_to(std::min(
                {happens,
                 fleet_.next_start(),
                 metrics_.next_sample(),
                 disturb_at_,
                 calm_at(),
                 end()}
            ));
            fleet_.start_due(now());
            while (next < happenings.size() && happenings[next].at <= now()) {
                fleet_.carry_out(happenings[next++]);
            }
            if (now() >= disturb_at_) {
                disturb_at_ = options_.disturb(run_, RunPart::Faults);
            }
            if (now() >= metrics_.next_sample()) {
                metrics_.take_sample();
                ask_to_go_on();
            }
            if (now() >= calm_at()) {
                begin_calm();
            }
        }
        return conclude();
    }

 private:
    [[nodiscard]] TimePoint now() { return run_.world().now(); }

    [[nodiscard]] TimePoint end() const { return TimePoint{} + scenario_.duration; }

    /// Returns kNever when there is no calm or it has begun.
    [[nodiscard]] TimePoint calm_at() const {
        const bool ahead = scenario_.calm > Duration{} && !steps_before_calm_;
        return ahead ? end() - scenario_.calm : swarm::kNever;
    }

    [[nodiscard]] bool is_over() {
        return run_.finished() || interrupted_ || now() >= end() || !run_.violations().empty();
    }

    void advance_to(TimePoint until) {
        // A violation ends the run where it happens: later events would bury its trace.
        const auto done = [this] {
            if (++turns_ % kTurnsBetweenProgress == 0) {
                ask_to_go_on();
            }
            return run_.finished() || interrupted_ || !run_.violations().empty();
        };
        run_.world().run_until(done, until - now());
    }

    void ask_to_go_on() {
        interrupted_ = interrupted_ || (options_.progress && !options_.progress(share_done()));
    }

    void set_chances(bool on) {
        const auto in_cases = [&](double probability) { return on ? cases_of(probability) : 0; };
        const Faults& faults = scenario_.faults;
        run_.world().set_frame_loss(in_cases(faults.frame_loss), kFaultCases);
        const Duration stall(std::llround(faults.job_stall_s * 1e9));
        run_.world().set_job_stalls(in_cases(faults.job_stall), kFaultCases, stall);
    }

    void begin_calm() {
        steps_before_calm_ = run_.steps().size();
        empty_in_calm_ = stage_without_state();
        set_chances(false);
        run_.hush_liars();
        if (options_.disturb) {
            options_.disturb(run_, RunPart::Calm);
            disturb_at_ = swarm::kNever;
        }
    }

    /// Returns the first stage whose answering peers all lack the state, and also the state before,
    /// from which a recorded commit leads to it.
    [[nodiscard]] std::optional<std::uint32_t> stage_without_state() {
        const swarm::coordinator::Coordinator* const coordinator = run_.coordinator_role();
        if (coordinator == nullptr) {
            return std::nullopt;  // the coordinator is about to be back; the others have not gone
        }
        const std::uint64_t step = coordinator->context().version.step;
        std::vector<bool> held(scenario_.pipeline.stages);
        for (std::uint32_t number = 1; number <= fleet_.size(); ++number) {
            if (!fleet_.was_there(number) || run_.world().is_frozen(peer(number))) {
                continue;
            }
            const stages::StageServer* const server = run_.server(peer(number));
            if (server != nullptr && server->context().version &&
                server->context().version->step + 1 >= step) {
                held[server->context().stage().value] = true;
            }
        }
        const auto empty = std::find(held.begin(), held.end(), false);
        return empty == held.end()
                   ? std::nullopt
                   : std::optional(static_cast<std::uint32_t>(empty - held.begin()));
    }

    [[nodiscard]] double share_done() {
        const auto steps = static_cast<double>(scenario_.pipeline.steps);
        const double by_time = std::chrono::duration<double>(now().time_since_epoch()) /
                               std::chrono::duration<double>(scenario_.duration);
        const double by_steps = steps > 0 ? static_cast<double>(run_.steps().size()) / steps : 0.0;
        return std::max(by_time, by_steps);
    }

    SimReport conclude() {
        metrics_.take_last_sample();
        SimReport report = metrics_.report();
        report.seed = seed_;
        report.interrupted = interrupted_;
        report.violations = run_.violations();
        judge_the_end(report);
        compare_with_best(report);
        // No two runs of mode sparse are equal.
        const bool comparable = !scenario_.pipeline.is_sparse();
        if (options_.compare_with_single && comparable && report.violations.empty()) {
            compare_with_single(report);
        }
        if (options_.trace_line) {
            for (const std::string& line : trace_lines_) {
                options_.trace_line(line);
            }
        }
        return report;
    }

    void compare_with_best(SimReport& report) {
        const double best = best_microbatches(scenario_, schedule_, seed_, now());
        if (best > 0) {
            const auto microbatches = static_cast<double>(scenario_.pipeline.microbatches);
            report.throughput_of_optimal = static_cast<double>(report.steps) * microbatches / best;
        }
    }

    /// A run may fail, if its faults led to that. But after a calm has begun with a peer in each
    /// stage that has the stage's state, the run must go on (I9).
    void judge_the_end(SimReport& report) {
        const bool idle_calm = steps_before_calm_ && now() >= end() && !run_.finished() &&
                               run_.steps().size() == *steps_before_calm_;
        if (!run_.failure() && !idle_calm) {
            return;
        }
        const std::string what =
            run_.failure() ? run_.failure()->text : "no step was committed in the calm at the end";
        if (!steps_before_calm_) {
            report.failure = what;
        } else if (empty_in_calm_) {
            report.failure = what + "; when the calm began, nobody had the state of stage " +
                             std::to_string(*empty_in_calm_);
        } else {
            report.violations.push_back("I9: in the calm at the end: " + what);
        }
    }

    void compare_with_single(SimReport& report) {
        // A coordinator that dies before it has told of a step does not tell of that step again.
        const std::uint64_t steps = run_.steps().empty() ? 0 : run_.steps().back().step + 1;
        const std::vector<double> single = train_single(config_of(scenario_, seed_), steps);
        for (const node::StepCommitted& step : run_.steps()) {
            if (single.at(step.step) != step.loss) {
                report.violations.push_back(
                    "I1: the loss of step " + std::to_string(step.step) +
                    " is not that of one process"
                );
                return;
            }
        }
    }

    const Scenario& scenario_;
    std::uint64_t seed_;
    const Schedule& schedule_;
    const ExactOptions& options_;
    RunWorld run_;
    Fleet fleet_;
    RunMetrics metrics_;
    TimePoint disturb_at_;
    std::deque<std::string> trace_lines_;
    std::optional<std::size_t> steps_before_calm_;
    std::optional<std::uint32_t> empty_in_calm_;  // a stage that no peer held when the calm began
    std::uint64_t turns_ = 0;
    bool interrupted_ = false;
};

}  // namespace

namespace {

/// Each link has messages under way, and the world's queue has room for 2^24.
constexpr std::uint64_t kLinksMax = 1 << 21;

/// Links between the peers when they are spread evenly over the stages.
std::uint64_t links_of(std::uint64_t peers, std::uint64_t stages) {
    const std::uint64_t of_a_stage = (peers + stages - 1) / stages;
    return of_a_stage * of_a_stage * (stages - 1);
}

}  // namespace

swarm::Result<SimReport> run_exact(
    const Scenario& scenario, std::uint64_t seed, const ExactOptions& options
) {
    SWARM_TRY(const auto schedule, make_schedule(scenario, seed));
    const std::uint64_t links = links_of(schedule.fleet.size(), scenario.pipeline.stages);
    if (links > kLinksMax) {
        return swarm::Error{
            swarm::ErrorCode::TooLarge,
            swarm::Reaction::Reject,
            "mode exact keeps each link between peers of neighbouring stages: about " +
                std::to_string(links) + " here, at most " + std::to_string(kLinksMax) +
                "; use more stages, fewer peers, or --mode fluid"};
    }
    return ScenarioRun(scenario, seed, schedule, options).run();
}

}  // namespace sim
