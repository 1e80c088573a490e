#include "swarm/cli/common/flags.hpp"
#include "swarm/cli/plan/plan.hpp"
#include "swarm/protocol/limits.hpp"

#include <CLI/CLI.hpp>
#include <memory>

namespace swarm::cli {
namespace {

constexpr const char* kPlanExamples = R"(
examples:
  swarm plan run.toml --peers 6                       # six equal peers
  swarm plan run.toml --speeds 400,400,100,50 --latency 30ms --memory 8GiB
  swarm plan run.toml --layer-ms 12,12,12,12,12,19 --speeds 1,1,0.5   # layers that you measured
  swarm plan --codec auto --peers 4 --line-rate 10Mb/s               # which codecs that leads to
  swarm plan --mode sparse --peers 6 --line-rate 10Mb/s              # replicas that exchange less
Without --layer-ms the time of a layer follows from its multiplications. The plan has no peers that
come and go; `swarm sim` has those.)";

constexpr double kSpeedLeast = 1e-6;
constexpr double kSpeedMost = 1e9;

}  // namespace

void add_plan(CLI::App& program, const OnChosen& on_chosen) {
    CLI::App& app =
        add_verb(program, "plan", "What a run would be like, before it begins", kPlanExamples);
    const auto options = std::make_shared<PlanOptions>();
    PlanOptions& plan = *options;
    add_run_flags(app, plan.run_file, plan.run);
    add_mode_flags(app, plan.run);
    app.add_option("--peers", plan.peers, "how many serve (default: one per stage, or per speed)")
        ->check(CLI::Range(1U, static_cast<std::uint32_t>(protocol::kRosterMax)));
    app.add_option(
           "--speeds", plan.speeds, "A,B,...: speed of each peer, in GFLOP/s; see --layer-ms"
    )
        ->delimiter(',')
        ->check(number_within(kSpeedLeast, kSpeedMost));
    app.add_option(
           "--layer-ms",
           plan.layer_ms,
           "A,B,...: measured, forward and backward of each layer with all its repeats; --speeds "
           "are multiples then"
    )
        ->delimiter(',')
        ->check(number_within(kSpeedLeast, kSpeedMost));
    add_size(
        app,
        "--memory",
        "memory that each peer lends its stage (default: no bound)",
        plan.memory_bytes
    );
    const auto set_latency = [&plan](Duration latency) { plan.latency = latency; };
    add_duration(app, "--latency", "one way between two peers (0s)", set_latency);
    add_rates(
        app,
        "--line-rate",
        "A,B,...: rate of each peer's line, each way, such as 10Mb/s (default: no bound)",
        plan.line_bytes_per_s
    );
    add_json(app, "write the figures", plan.json_file);
    when_named<PlanOptions>(app, on_chosen, options, cli::plan);
}

}  // namespace swarm::cli
