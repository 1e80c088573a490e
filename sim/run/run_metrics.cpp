#include "sim/run/run_metrics.hpp"

#include "swarm/base/units.hpp"

#include <algorithm>

namespace sim {
namespace {

using swarm::in_seconds;

double share(Duration part, Duration whole) {
    return whole > Duration{} ? in_seconds(part) / in_seconds(whole) : 0.0;
}

}  // namespace

RunMetrics::RunMetrics(const Scenario& scenario, RunWorld& run, const Fleet& fleet)
    : scenario_(scenario),
      run_(run),
      fleet_(fleet),
      // Rounded up, so that the last sample is among the kSamplesMax.
      sample_every_(std::max<Duration>(
          (scenario.duration + Duration(kSamplesMax - 1)) / static_cast<int>(kSamplesMax),
          std::chrono::milliseconds(1)
      )),
      next_sample_(TimePoint{} + sample_every_),
      by_peer_(fleet.size()),
      by_stage_(scenario.pipeline.stages) {}

void RunMetrics::take_sample() {
    next_sample_ += sample_every_;
    const swarm::coordinator::Coordinator* const coordinator = run_.coordinator_role();
    std::vector<Use> now(by_stage_.size());
    for (std::uint32_t number = 1; number <= fleet_.size(); ++number) {
        if (!fleet_.was_there(number)) {
            continue;
        }
        const Use total{run_.world().busy(peer(number)), fleet_.time_up(number)};
        Use& before = by_peer_[number - 1];
        const auto* const slot =
            coordinator ? coordinator->context().roster.find_peer(peer(number)) : nullptr;
        if (slot != nullptr) {
            now[slot->stage.value].busy += total.busy - before.busy;
            now[slot->stage.value].up += total.up - before.up;
        }
        before = total;
    }
    Sample sample;
    sample.at_s = in_seconds(run_.world().now().time_since_epoch());
    if (coordinator != nullptr) {
        sample.peers_per_stage = coordinator->context().roster.peers_per_stage();
    } else if (!samples_.empty()) {
        sample.peers_per_stage = samples_.back().peers_per_stage;  // the last count that is known
    }
    for (std::size_t stage = 0; stage < now.size(); ++stage) {
        sample.utilisation_per_stage.push_back(share(now[stage].busy, now[stage].up));
        by_stage_[stage].busy += now[stage].busy;
        by_stage_[stage].up += now[stage].up;
    }
    sample.steps = run_.steps().size();
    sample.bytes = bytes();
    samples_.push_back(std::move(sample));
}

void RunMetrics::take_last_sample() {
    const double now_s = in_seconds(run_.world().now().time_since_epoch());
    if (samples_.empty() || samples_.back().at_s < now_s) {
        take_sample();
    }
}

std::uint64_t RunMetrics::bytes() const {
    std::uint64_t sum = run_.world().bytes_sent(RunWorld::coordinator());
    for (std::uint32_t number = 1; number <= fleet_.size(); ++number) {
        sum += fleet_.was_there(number) ? run_.world().bytes_sent(peer(number)) : 0;
    }
    return sum;
}

std::vector<PeerShare> RunMetrics::shares() const {
    std::vector<double> of_stage(scenario_.pipeline.stages);
    for (const auto& [who, microbatches] : run_.shares()) {
        of_stage[who.first.value] += static_cast<double>(microbatches);
    }
    std::vector<PeerShare> shares;
    for (const auto& [who, microbatches] : run_.shares()) {
        const auto& [stage, id] = who;
        const double share = static_cast<double>(microbatches) / of_stage[stage.value];
        shares.push_back({static_cast<std::uint32_t>(id.words[0]), stage.value, microbatches, share}
        );
    }
    return shares;
}

SimReport RunMetrics::report() const {
    SimReport report;
    report.scenario = scenario_.name;
    report.question = scenario_.question;
    report.mode = Mode::Exact;
    report.peers = fleet_.size();
    report.stages = scenario_.pipeline.stages;
    report.policy = scenario_.pipeline.policy;
    report.rebalancer = scenario_.pipeline.rebalancer;
    report.events = run_.world().events();
    report.virtual_s = in_seconds(run_.world().now().time_since_epoch());
    report.steps = run_.steps().size();
    for (const node::StepCommitted& step : run_.steps()) {
        report.step_seconds.push_back(in_seconds(step.took));
    }
    if (!report.step_seconds.empty()) {
        report.step_s = step_times(report.step_seconds);
    }
    report.shares = shares();
    Use all;
    double units = 0;
    for (std::uint32_t number = 1; number <= fleet_.size(); ++number) {
        if (fleet_.was_there(number)) {
            all.busy += run_.world().busy(peer(number));
            all.up += fleet_.time_up(number);
            units += run_.world().work_done(peer(number));
        }
    }
    report.utilisation = share(all.busy, all.up);
    for (const Use& stage : by_stage_) {
        report.utilisation_per_stage.push_back(share(stage.busy, stage.up));
    }
    // A forward is one unit, a backward two; work under way in the last step is not lost.
    const double counted = 3.0 * static_cast<double>(report.steps) *
                           scenario_.pipeline.microbatches * scenario_.pipeline.stages;
    const double under_way = 3.0 * scenario_.pipeline.microbatches * scenario_.pipeline.stages;
    if (units > 0) {
        report.lost_work_share = std::max(0.0, units - counted - under_way) / units;
    }
    report.moves = run_.moves();
    report.replayed = run_.replayed();
    report.fenced = run_.fenced();
    report.bytes = bytes();
    report.trace_hash = run_.world().trace_hash();
    report.samples = samples_;
    report.notes = fleet_.notes();
    return report;
}

}  // namespace sim
