#include "swarm/cli/local/local.hpp"

#include "swarm/base/try.hpp"
#include "swarm/cli/common/files.hpp"
#include "swarm/cli/local/local_swarm.hpp"
#include "swarm/cli/local/log_folder.hpp"
#include "swarm/cli/local/serve_locally.hpp"
#include "swarm/cli/setup/base_model.hpp"
#include "swarm/cli/setup/run_setup.hpp"
#include "swarm/cli/setup/training_text.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/cli/terminal/printable.hpp"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <numeric>
#include <system_error>

namespace swarm::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kDemoSteps = 60;
constexpr std::size_t kDemoLastLosses = 10;
constexpr double kDemoLossRatio = 0.6;
constexpr std::uint32_t kChurnRebalanceEvery_s = 20;

/// The demo shows unequal peers; flags go before these defaults.
void set_demo_defaults(LocalOptions& options) {
    options.run.steps = options.run.steps.value_or(kDemoSteps);
    if (options.service_ms.empty()) {
        options.service_ms = {10, 20, 10, 40, 20, 10};
    }
    if (!options.prompt) {
        options.prompt = "It is a truth universally acknowledged";
    }
}

Result<run::RunConfig> local_config(const LocalOptions& options, Console& console) {
    SWARM_TRY(run::RunConfig config, resolve_run(options.run_file, options.run));
    if (options.verify && config.mode == run::SyncMode::Sparse) {
        return Error{
            ErrorCode::Usage,
            Reaction::Reject,
            "--verify is for mode exact: in mode sparse the peers decide which replica trains on a "
            "microbatch, so no one process repeats it"};
    }
    if (options.peers < config.stages) {
        return Error{
            ErrorCode::Usage,
            Reaction::Reject,
            "--peers is " + std::to_string(options.peers) + ", must be at least --stages (" +
                std::to_string(config.stages) + "): each stage needs a peer"};
    }
    if (options.peers / config.stages < config.min_holders) {
        return Error{
            ErrorCode::Usage,
            Reaction::Reject,
            "--peers is " + std::to_string(options.peers) + ", must be at least --stages (" +
                std::to_string(config.stages) + ") x run.min_holders (" +
                std::to_string(config.min_holders) + ")"};
    }
    if (config.min_peers == 0) {
        config.min_peers = options.peers;
    }
    if (config.in_flight == 0) {
        config.in_flight = std::max<std::uint32_t>(2, 2 * options.peers);
    }
    if (options.churn && config.rebalancer.is_none()) {
        config.rebalancer =
            *router::RebalancerName::find("capacity");  // a run must live through moves, too
        config.rebalance_every_s = kChurnRebalanceEvery_s;
    }
    const CorpusFile found =
        find_corpus(config.corpus, corpus_folder(options.run_file, options.run));
    if (!found.notice.empty()) {
        console.warn(found.notice);
    }
    if (!config.corpus.empty()) {
        config.corpus = fs::absolute(found.path).string();  // run.toml lies in another folder
    }
    for (std::string& text : config.eval.texts) {
        text = fs::absolute(held_out_folder(options.run_file, options.run) / text).string();
    }
    // This sets the hashes of text and tokenizer in run.toml, which all children then use.
    std::string tokenizer;
    if (!config.init.empty()) {
        SWARM_TRY(BaseModel base, open_base_model(config, {}));
        tokenizer = std::move(base.tokenizer);
    }
    SWARM_TRY(load_text(config, std::move(tokenizer)));
    return config;
}

bool check(Console& console, bool holds, const std::string& what) {
    if (!holds) {
        console.error("the demo did not show that " + what);
    }
    return holds;
}

bool judge_demo(LocalSwarm& swarm, Console& console) {
    const RunReport& report = swarm.report();
    std::vector<double> losses;
    for (const auto& [step, loss] : report.losses()) {
        losses.push_back(loss);
    }
    const std::size_t count = std::min(kDemoLastLosses, losses.size());
    const double last =
        std::accumulate(losses.end() - static_cast<std::ptrdiff_t>(count), losses.end(), 0.0) /
        static_cast<double>(count);
    const DemoScript& demo = swarm.demo();
    const bool learned = last <= kDemoLossRatio * losses.front();
    bool good = check(console, learned, "the loss falls to 60 %");
    good &= check(console, report.counted_all(), "every microbatch is counted once");
    good &= check(console, demo.frozen() && demo.killed(), "peers may freeze and die");
    const bool worked = demo.newcomer() && report.microbatches_of(*demo.newcomer()) > 0;
    return check(console, worked, "a newcomer does work") && good;
}

void print_summary(const RunReport& report) {
    std::cout << printable(report.summary()) << "\n"
              << printable(report.peer_table()) << std::flush;
    if (const std::string trouble = report.trouble(); !trouble.empty()) {
        std::cout << printable(trouble) << std::endl;
    }
    std::vector<Duration> recoveries = report.events().recoveries(RunEvents::Faults::Alone);
    if (recoveries.empty()) {
        return;
    }
    std::sort(recoveries.begin(), recoveries.end());
    const auto percentile = [&](std::size_t percent) {
        const std::size_t last = recoveries.size() - 1;
        return std::chrono::duration<double>(recoveries[last * percent / 100]).count();
    };
    std::printf(
        "next commit after a fault with no other in between: median %.1f s, p99 %.1f s, worst "
        "%.1f s, of %zu\n",
        percentile(50),
        percentile(99),
        percentile(100),
        recoveries.size()
    );
    std::fflush(stdout);
}

Result<ChurnPlan> churn_of(const LocalOptions& options) {
    Result<ChurnPlan> churn = options.churn ? load_churn(*options.churn) : ChurnPlan{};
    if (churn) {
        churn->kill_every = options.kill_every ? options.kill_every : churn->kill_every;
        churn->freeze_every = options.freeze_every ? options.freeze_every : churn->freeze_every;
    }
    return churn;
}

int run_local(
    const LocalOptions& options,
    const ChurnPlan& churn,
    const run::RunConfig& config,
    const fs::path& directory,
    Console& console
) {
    LocalSwarm swarm(options, churn, config, directory, console);
    int exit_code = swarm.train();
    if (exit_code == kDone) {
        console.settle();
        print_summary(swarm.report());
    }
    if (exit_code == kDone && options.demo && !judge_demo(swarm, console)) {
        exit_code = kRunFailed;
    }
    if (exit_code == kDone && options.verify) {
        exit_code = swarm.verify();
    }
    const bool written = options.json_file.empty() ||
                         write_text(console, options.json_file, swarm.report().to_json());
    return exit_code == kDone && !written ? kRunFailed : exit_code;
}

}  // namespace

int local(const LocalOptions& given) {
    Console console;
    LocalOptions options = given;
    const bool of_others = options.run.model && !run::named_model(*options.run.model);
    if (of_others || !options.stack.empty()) {
        return serve_locally(options, console);
    }
    const LocalOptions none;
    if (options.api || options.raw || options.ignore_eos || options.system ||
        !options.stops.empty() || options.temperature != none.temperature ||
        !options.kill_at.empty() || !options.freeze_at.empty() || options.weights != none.weights ||
        options.replay != none.replay || !options.path.empty() ||
        options.exit_threshold != none.exit_threshold) {
        console.error(
            "--api, --raw, --system, --ignore-eos, --stop, --temperature, --top-p, --top-k, "
            "--weights, --replay, --path, --exit, --kill-at and --freeze-at are for a served model"
        );
        return kRejected;
    }
    if (options.demo) {
        set_demo_defaults(options);
    }
    const Result<run::RunConfig> config = local_config(options, console);
    if (!config) {
        return end_with(console, config.error());
    }
    const Result<ChurnPlan> churn = churn_of(options);
    if (!churn) {
        return end_with(console, churn.error());
    }
    Result<LogFolder> folder = LogFolder::open(options.directory);
    if (!folder) {
        return end_with(console, folder.error());
    }
    const fs::path& directory = folder->path();
    std::error_code ignored;  // a missing folder shows when the file is written
    if (fs::exists(directory / "run" / kRunFileName, ignored)) {
        console.error(directory.string() + " holds a run already; choose another --dir");
        return kRejected;
    }
    if (!write_text(console, (directory / kRunFileName).string(), run::to_toml(*config))) {
        return kRunFailed;
    }
    const int exit_code = run_local(options, *churn, *config, directory, console);
    if (exit_code != kDone) {
        folder->keep(console);
    }
    return exit_code;
}

}  // namespace swarm::cli
