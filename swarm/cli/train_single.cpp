// `swarm train --single`: the reference that every distributed run must equal.
#include "stages/checkpoint.hpp"
#include "stages/single_run.hpp"
#include "swarm/base/check.hpp"
#include "swarm/cli/compute_factory.hpp"
#include "swarm/cli/exit_code.hpp"
#include "swarm/cli/train.hpp"
#include "swarm/run/dropped_work.hpp"
#include "swarm/run/partition.hpp"

#include <utility>
#include <vector>

namespace swarm::cli {
namespace {

void use_choice(
    stages::SingleRun& run, const std::vector<run::CodecChange>& choices, std::uint64_t step
) {
    for (const run::CodecChange& change : choices) {
        if (change.step <= step) {
            run.use_codecs(change.codecs);
        }
    }
}

Result<> save(const stages::SingleRun& run, const RunDirectory& directory) {
    std::vector<const stages::StageState*> states;
    for (std::uint32_t stage = 0; stage < run.stages(); ++stage) {
        states.push_back(&run.state(stage));
    }
    const auto written =
        stages::write_checkpoint(directory.path, run.config(), states, directory.tokenizer);
    return written ? Result<>() : Result<>(written.error());
}

bool is_checkpoint_due(const run::RunConfig& config, std::uint64_t step) {
    return step == config.steps ||
           (config.checkpoint_every > 0 && step % config.checkpoint_every == 0);
}

node::StepCommitted committed(const stages::StepRecord& record, Duration took, std::uint32_t of) {
    return {record.step, record.loss, record.gradient_norm, took, of, record.counted_once, 0, 0};
}

Result<> train_steps(
    stages::SingleRun& run,
    const RunDirectory& directory,
    const std::vector<run::CodecChange>& choices,
    TrainReports& reports
) {
    const run::RunConfig& config = run.config();
    while (run.version().step < config.steps) {
        use_choice(run, choices, run.version().step);
        const TimePoint begin = clock_now();
        const Result<stages::StepRecord> record = run.step();
        if (!record) {
            return record.error();
        }
        if (record->skipped) {
            reports.add(node::StepSkipped{record->step, *record->skipped, clock_now() - begin});
        } else {
            reports.add(committed(*record, clock_now() - begin, config.microbatches));
        }
        if (is_checkpoint_due(config, run.version().step)) {
            if (const Result<> saved = save(run, directory); !saved) {
                return saved.error();
            }
        }
        if (run.skips_in_a_row() >= run::kSkipsInARowMax) {
            return Error{
                ErrorCode::NotFinite,
                Reaction::Fatal,
                run::skipped_too_often(record->step, *record->skipped)};
        }
    }
    return {};
}

}  // namespace

int train_single(
    const TrainOptions& options,
    RunDirectory directory,
    const std::vector<run::CodecChange>& choices,
    run::Corpus corpus,
    Console& console
) {
    const run::RunConfig config = directory.config;
    const stages::ComputeFactory factory = make_compute_factory(options.device);
    // Says now, in one line, what is missing: what follows is the same for every stage.
    if (const auto tried = factory(config, run::partition(config).front()); !tried) {
        return end_with(console, tried.error());
    }
    const auto make = [&](const run::RunConfig& whole, const run::StageLayout& layout) {
        auto made = factory(whole, layout);
        SWARM_ASSERT(made.has_value());
        return std::move(*made);
    };
    stages::SingleRun run(config, make, std::move(corpus));
    if (!directory.resumed.empty()) {
        run.resume(std::move(directory.resumed));
    }
    TrainReports reports(console, options, config);
    if (const Result<> trained = train_steps(run, directory, choices, reports); !trained) {
        console.error(trained.error().detail + kGoOn);
        return kRunFailed;
    }
    reports.add(node::RunFinished{run.version(), run.weights_sha256()});
    return reports.finish() ? kDone : kRunFailed;
}

}  // namespace swarm::cli
