#include "example_report.hpp"

namespace sim {

SimReport example_report() {
    SimReport report;
    report.scenario = "volunteers";
    report.question = "How much of lent machines can be used when they come and go?";
    report.seed = 7;
    report.peers = 12;
    report.stages = 3;
    report.policy = "iwrr";
    report.rebalancer = "swarm-alg2";
    report.events = 5'000'000;
    report.events_per_s = 2'500'000;
    report.virtual_s = 3600;
    report.steps = 180;
    for (int i = 0; i < 180; ++i) {
        report.step_seconds.push_back(20 + i % 7);
    }
    report.step_s = step_times(report.step_seconds);
    report.shares = {{4, 2, 32, 0.25}, {5, 2, 96, 0.75}};
    report.utilisation = 0.8125;
    report.utilisation_per_stage = {0.75, 0.8, 0.9};
    report.throughput_of_optimal = 0.93;
    report.moves = 2;
    report.replayed = 31;
    report.fenced = 4;
    report.lost_work_share = 0.0123;
    report.bytes = 12'300'000'000;
    report.trace_hash = 0x0123456789abcdef;
    for (std::uint32_t i = 0; i <= 60; ++i) {
        const double wave = 0.01 * (i % 10);
        report.samples.push_back(
            {60.0 * i, {4, 4 - i / 30, 4 + i / 30}, {0.7 + wave, 0.8, 0.9 - wave}, 3 * i, i * 1000U}
        );
    }
    report.notes = {
        {600, NoteKind::Crash, "peer 3"},
        {1200.5, NoteKind::Join, "peer 13"},
        {1800, NoteKind::Move, "peer 5: 1 to 2"}};
    return report;
}

SimReport fluid_example_report() {
    SimReport report = example_report();
    report.mode = Mode::Fluid;
    report.step_seconds.clear();
    report.shares.clear();
    report.replayed.reset();
    report.fenced.reset();
    return report;
}

}  // namespace sim
