#include "swarm/cli/train/train_single.hpp"

#include "stages/files/checkpoint.hpp"
#include "stages/single/single_run.hpp"
#include "stages/single/sparse_run.hpp"
#include "swarm/base/check.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/common/clock.hpp"
#include "swarm/cli/compute/compute_factory.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/cli/terminal/stop_presses.hpp"
#include "swarm/cli/train/best_keeper.hpp"
#include "swarm/cli/train/train_reports.hpp"
#include "swarm/coordinator/dropped_work.hpp"
#include "swarm/run/partition.hpp"
#include "swarm/run/training/batch_growth.hpp"

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace swarm::cli {
namespace {

namespace fs = std::filesystem;

/// Returns the change that is in force at the step; null: there is none yet.
template <class Change>
const Change* in_force(const std::vector<Change>& changes, std::uint64_t step) {
    const Change* found = nullptr;
    for (const Change& change : changes) {
        found = change.step <= step ? &change : found;
    }
    return found;
}

void follow(const RunChoices& choices, stages::SingleRun& run) {
    const std::uint64_t step = run.version().step;
    if (const auto* const codecs = in_force(choices.codecs, step)) {
        run.use_codecs(codecs->codecs);
    }
    const auto* const split = in_force(choices.splits, step);
    if (split != nullptr && split->layers_per_stage != run.layers_per_stage()) {
        run.cut_as(split->layers_per_stage);
    }
}

Result<fs::path> save(const stages::SingleRun& run, const RunDirectory& directory) {
    std::vector<const stages::StageState*> states;
    for (std::uint32_t stage = 0; stage < run.stages(); ++stage) {
        states.push_back(&run.state(stage));
    }
    return stages::write_checkpoint(directory.path, run.config(), states, directory.tokenizer);
}

/// A checkpoint is due after an exchange only, so any replica has the shared weights.
Result<fs::path> save(const stages::SparseRun& run, const RunDirectory& directory) {
    std::vector<const stages::StageState*> states;
    std::vector<stages::ReplicaView> replicas;
    for (std::uint32_t stage = 0; stage < run.stages(); ++stage) {
        states.push_back(&run.state(stage, 0));
        for (std::uint32_t r = 0; r < run.replicas(); ++r) {
            replicas.push_back({r, &run.state(stage, r), run.error(stage, r)});
        }
    }
    return stages::write_checkpoint(
        directory.path, run.config(), states, directory.tokenizer, replicas
    );
}

bool is_checkpoint_due(const run::RunConfig& config, std::uint64_t step) {
    return step == config.steps ||
           (config.checkpoint_every > 0 && step % config.checkpoint_every == 0);
}

node::StepCommitted committed(const stages::StepRecord& record, Duration took, std::uint32_t of) {
    return {record.step, record.loss, record.gradient_norm, took, of, record.counted_once, 0, 0};
}

/// The signal that asked this process to stop; 0: none did.
volatile std::sig_atomic_t stop_signal = 0;
StopPresses presses;

/// A second press stops at once.
extern "C" void note_signal(int number) {
    const StopPress press = presses.note(clock_now());
    if (press == StopPress::Next) {
        std::_Exit(after_signal(number));
    }
    if (press == StopPress::First) {
        stop_signal = number;
    }
}

/// While an object of this class lives, note_signal() takes SIGINT and SIGTERM.
class CaughtSignals {
 public:
    CaughtSignals()
        : on_interrupt_(std::signal(SIGINT, note_signal)),
          on_terminate_(std::signal(SIGTERM, note_signal)) {}

    CaughtSignals(const CaughtSignals&) = delete;
    CaughtSignals& operator=(const CaughtSignals&) = delete;

    ~CaughtSignals() {
        std::signal(SIGINT, on_interrupt_);
        std::signal(SIGTERM, on_terminate_);
    }

 private:
    void (*on_interrupt_)(int);
    void (*on_terminate_)(int);
};

/// In mode sparse the replicas agree after an exchange only.
bool may_stop(const run::RunConfig& config, std::uint64_t step) {
    return config.mode == run::SyncMode::Exact || run::is_sync_step(config, step - 1);
}

/// The training of a run from its state to its last step, or to a signal.
template <class Run, class Beside>
class Training {
 public:
    /// `beside` sees every step after the run has made it.
    Training(
        Run& run,
        const RunDirectory& directory,
        TrainReports& reports,
        Beside& beside,
        const TrainingText& text
    )
        : run_(run),
          directory_(directory),
          reports_(reports),
          beside_(beside),
          text_(text),
          best_(directory.path),
          watch_(run.config().eval.patience, best_.best_loss()) {
        if (run.version().step > 0) {
            saved_ = run.version().step;  // it was read from there
        }
    }

    /// Returns the exit code.
    int to_the_end() {
        const CaughtSignals caught;  // until the reports are written
        const Result<> trained = train();
        if (!trained) {
            reports_.console().error(trained.error().detail + "; " + how_to_go_on());
            static_cast<void>(reports_.finish());  // with the steps until then
            return kRunFailed;
        }
        if (run_.version().step < run_.config().steps && !is_over()) {
            reports_.console().info(
                "stopped after step " + std::to_string(run_.version().step) + "; " + how_to_go_on()
            );
            static_cast<void>(reports_.finish());
            return after_signal(stop_signal);
        }
        reports_.add(node::RunFinished{run_.version(), run_.weights_sha256()});
        return reports_.finish() ? kDone : kRunFailed;
    }

 private:
    Result<> train() {
        const run::RunConfig& config = run_.config();
        while (run_.version().step < config.steps && !is_over()) {
            SWARM_TRY(make_step());
            const std::uint64_t step = run_.version().step;
            const bool is_best = evaluate(step) && config.checkpoint_every > 0;
            const bool stopping = stop_signal != 0 && may_stop(config, step);
            if (stopping || is_best || watch_.is_over() || is_checkpoint_due(config, step)) {
                SWARM_TRY(const fs::path newest, save(run_, directory_));
                saved_ = step;
                warn_of(best_.written(step, newest.filename().string()));
                prune(newest.filename().string());
            }
            if (watch_.is_over()) {
                reports_.add(PatienceOver{step, watch_.reason()});
                const PatienceEnd end{step, config.eval.patience, watch_.reason()};
                warn_of(write_patience_end(directory_.path, end));
            }
            if (stopping) {
                break;
            }
            if (stop_signal != 0 && !std::exchange(told_, true)) {
                reports_.console().info(
                    "stopping after the next exchange; once more stops at once, and loses the "
                    "steps "
                    "since the newest checkpoint"
                );
            }
        }
        return {};
    }

    /// Patience has ended the run, here or in an earlier process.
    [[nodiscard]] bool is_over() const { return watch_.is_over() || directory_.is_over(); }

    /// Judges the weights of this step by the held-out texts, if an evaluation is due. True when
    /// they are better than all before.
    bool evaluate(std::uint64_t step) {
        if constexpr (std::is_same_v<Run, stages::SingleRun>) {
            if (text_.held_out.empty() || !run::is_evaluation_due(run_.config(), step)) {
                return false;
            }
            auto losses = run_.evaluate(text_.held_out);
            if (!losses) {
                reports_.console().warn(
                    "no held-out loss after step " + std::to_string(step) + ": " +
                    losses.error().detail
                );
                return false;
            }
            watch_.note(*losses);
            reports_.add(describe(run_.config(), text_.held_out, *losses));
            warn_of(best_.evaluated(step, losses->loss));
            return losses->is_best;
        }
        return false;
    }

    void warn_of(const Result<>& done) {
        if (!done) {
            reports_.console().warn(done.error().detail);
        }
    }

    void warn_of_repeats() {
        if (text_.rows) {
            for (const std::string& repeat : text_.rows->take_repeats()) {
                reports_.console().warn(repeat);
            }
        }
    }

    void prune(const std::string& newest) {
        warn_of(stages::prune_checkpoints(directory_.path, newest, run_.config()));
    }

    Result<> make_step() {
        const std::uint32_t microbatches =
            run::microbatches_of(run_.config(), run_.version().step);
        const TimePoint begin = clock_now();
        SWARM_TRY(const stages::StepRecord record, run_.step());
        if (text_.rows && text_.rows->failure()) {
            return *text_.rows->failure();
        }
        warn_of_repeats();
        if (record.skipped) {
            reports_.add(node::StepSkipped{record.step, *record.skipped, clock_now() - begin});
        } else {
            reports_.add(committed(record, clock_now() - begin, microbatches));
        }
        SWARM_TRY(beside_(record));
        if (run_.skips_in_a_row() >= coordinator::kSkipsInARowMax) {
            return Error{
                ErrorCode::NotFinite,
                Reaction::Fatal,
                coordinator::skipped_too_often(record.step, *record.skipped)};
        }
        return {};
    }

    std::string how_to_go_on() const {
        return saved_ ? "--resume goes on from the checkpoint of step " + std::to_string(*saved_)
                      : "there is no checkpoint yet, so --resume begins anew";
    }

    Run& run_;
    const RunDirectory& directory_;
    TrainReports& reports_;
    Beside& beside_;
    const TrainingText& text_;
    BestKeeper best_;
    run::HeldOutWatch watch_;
    bool told_ = false;                   // a notice said that the run stops later
    std::optional<std::uint64_t> saved_;  // step of the newest checkpoint; none: there is none
};

/// "step 16: loss 3.2141, exact 3.1012 (+3.64 %)"
std::string compare(const stages::StepRecord& sparse, const stages::StepRecord& exact) {
    char text[128];
    std::snprintf(
        text,
        sizeof text,
        "step %llu: loss %.4f, exact %.4f (%+.2f %%)",
        static_cast<unsigned long long>(sparse.step + 1),
        sparse.loss,
        exact.loss,
        100 * (sparse.loss / exact.loss - 1)
    );
    return text;
}

std::string describe(const stages::SparseRun& run) {
    std::uint64_t weights = 0;
    for (std::uint32_t stage = 0; stage < run.stages(); ++stage) {
        weights += run.state(stage, 0).weights().size();
    }
    return "mode sparse: " + std::to_string(run.replicas()) +
           " replicas of each stage; each sends " + std::to_string(run.share_bytes()) +
           " bytes of its " + std::to_string(sizeof(float) * weights) + " every " +
           std::to_string(run::steps_between_syncs(run.config())) + " steps";
}

/// The work beside a sparse run, after each of its steps: it loses replicas and trains in mode
/// exact.
class BesideSparse {
 public:
    /// `exact`: null unless its losses are to be shown.
    BesideSparse(
        stages::SparseRun& run,
        std::unique_ptr<stages::SingleRun> exact,
        std::uint64_t lose_every,
        Console& console
    )
        : run_(run), exact_(std::move(exact)), lose_every_(lose_every), console_(console) {}

    Result<> operator()(const stages::StepRecord& record) {
        if (lose_every_ > 0 && (record.step + 1) % lose_every_ == 0) {
            lose_one(record.step);
        }
        if (!exact_) {
            return {};
        }
        SWARM_TRY(const stages::StepRecord other, exact_->step());
        const bool both = !record.skipped && !other.skipped;
        if (both && run::is_sync_step(run_.config(), record.step)) {
            console_.info(compare(record, other));
        }
        return {};
    }

    /// Prints one line, if a replica was lost.
    void say_what_was_lost() const {
        if (losses_ > 0) {
            console_.info(
                "lost with " + std::to_string(losses_) + " replicas: the shares of " +
                std::to_string(microbatches_lost_) + " microbatches, counted by stage"
            );
        }
    }

 private:
    /// Strikes stages and replicas in turn, so that each is lost some day.
    void lose_one(std::uint64_t step) {
        const auto stage = static_cast<std::uint32_t>(losses_ % run_.stages());
        const auto replica = static_cast<std::uint32_t>(losses_ / run_.stages() % run_.replicas());
        const std::uint64_t lost = run_.replace(stage, replica);
        ++losses_;
        microbatches_lost_ += lost;
        console_.info(
            "step " + std::to_string(step + 1) + ": replica " + std::to_string(replica) +
            " of stage " + std::to_string(stage) + " is lost, with its share of " +
            std::to_string(lost) + " microbatches; another joins"
        );
    }

    stages::SparseRun& run_;
    std::unique_ptr<stages::SingleRun> exact_;
    std::uint64_t lose_every_;
    Console& console_;
    std::uint64_t losses_ = 0;
    std::uint64_t microbatches_lost_ = 0;
};

int train_sparse(
    const TrainOptions& options,
    RunDirectory& directory,
    const stages::MakeCompute& make,
    const TrainingText& text,
    TrainReports& reports
) {
    stages::SparseRun run(directory.config, make, text.corpus, text.rows.get());
    if (!directory.resumed.empty()) {
        run.resume(std::move(directory.resumed), std::move(directory.replicas));
    }
    reports.console().info(describe(run));
    std::unique_ptr<stages::SingleRun> exact;
    if (options.beside_exact) {
        run::RunConfig config = directory.config;
        config.mode = run::SyncMode::Exact;
        config.sync_every = 0;
        config.replicas = 0;
        exact = std::make_unique<stages::SingleRun>(config, make, text.corpus, text.rows.get());
    }
    BesideSparse beside(run, std::move(exact), options.lose_every, reports.console());
    const int code = Training(run, directory, reports, beside, text).to_the_end();
    beside.say_what_was_lost();
    return code;
}

}  // namespace

int train_single(
    const TrainOptions& options,
    RunDirectory directory,
    const RunChoices& choices,
    TrainingText text,
    Console& console
) {
    const run::RunConfig config = directory.config;
    const stages::ComputeFactory factory =
        make_compute_factory(options.device, threads_to_train(options.threads));
    // Tries one stage now, so that what is missing is one line; all stages have the same trouble.
    if (const auto tried = factory(config, run::partition(config).front()); !tried) {
        return end_with(console, tried.error());
    }
    const auto make = [&](const run::RunConfig& whole, const run::StageLayout& layout) {
        auto made = factory(whole, layout);
        SWARM_ASSERT(made.has_value());
        return std::move(*made);
    };
    TrainReports reports(console, options, config, directory.path);
    if (config.mode == run::SyncMode::Sparse) {
        return train_sparse(options, directory, make, text, reports);
    }
    stages::SingleRun run(config, make, std::move(text.corpus), text.rows.get());
    if (!directory.resumed.empty()) {
        run.resume(std::move(directory.resumed));
    }
    follow(choices, run);
    auto follow_on = [&](const stages::StepRecord&) {
        follow(choices, run);
        return Result<>();
    };
    return Training(run, directory, reports, follow_on, text).to_the_end();
}

}  // namespace swarm::cli
