#include "tests/bench/quality/quality.hpp"

#include "compression/codec.hpp"
#include "sim/report/figures.hpp"
#include "swarm/base/check.hpp"
#include "swarm/base/keep_freed_memory.hpp"
#include "swarm/cli/compute/compute_factory.hpp"
#include "swarm/cli/setup/training_text.hpp"
#include "swarm/cli/terminal/console.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/run/leg_codecs.hpp"
#include "tests/bench/quality/quality_report.hpp"
#include "tests/bench/quality/quality_run.hpp"
#include "tests/bench/result_file.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <utility>

namespace swarm::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kReference = "none";
/// Beside each codec for both ways: gradients bear less.
constexpr const char* kMixed = "int4/int8";
constexpr auto kShowEvery = std::chrono::milliseconds(500);

volatile std::sig_atomic_t signal_caught = 0;

extern "C" void on_quality_signal(int number) {
    if (signal_caught != 0) {
        std::_Exit(cli::after_signal(number));
    }
    signal_caught = number;
}

bool is_all_asked(const QualityOptions& options) {
    return options.codecs.empty() && options.modes.empty();
}

/// The reference first, then each other codec once.
std::vector<std::string> codec_rows(const QualityOptions& options) {
    std::vector<std::string> asked = options.codecs;
    if (is_all_asked(options)) {
        for (const auto& codec : compression::codecs_on(compression::simd::Path::Scalar)) {
            if (run::parse_codec_pair(codec->name())) {  // others are not for a stage's legs
                asked.emplace_back(codec->name());
            }
        }
        asked.emplace_back(kMixed);
    }
    std::vector<std::string> names{kReference};
    for (std::string& name : asked) {
        if (std::ranges::find(names, name) == names.end()) {
            names.push_back(std::move(name));
        }
    }
    return names;
}

/// The runs, one after the other, and how far they are.
class Quality {
 public:
    Quality(
        const QualityOptions& options, QualityText text, QualityRuns runs, cli::Console& console
    )
        : options_(options),
          text_(std::move(text)),
          runs_(std::move(runs)),
          console_(console),
          factory_(cli::make_compute_factory("cpu", 1)) {}

    /// Calls `save` after each run.
    template <class Save>
    Result<> measure(Save save) {
        for (std::uint64_t seed = 1; seed <= options_.seeds; ++seed) {
            for (QualityRow* row : trained_rows()) {
                const Result<> trained = train(*row, seed);
                // Read once: a signal that comes during `save` ends the next row, which saves it.
                const bool interrupted = signal_caught != 0;
                if (!trained) {
                    runs_.stopped = label(*row, seed) + ": " + trained.error().detail;
                } else if (interrupted) {
                    runs_.stopped = "interrupted";
                }
                if (const Result<> saved = save(runs_); !saved) {
                    return saved;
                }
                if (!trained) {
                    return Error{trained.error().code, Reaction::Fatal, runs_.stopped};
                }
                if (interrupted) {
                    return {};
                }
            }
        }
        return {};
    }

    [[nodiscard]] const QualityRuns& runs() const { return runs_; }

 private:
    /// The reference first.
    std::vector<QualityRow*> trained_rows() {
        std::vector<QualityRow*> rows;
        for (std::vector<QualityRow>* const of : {&runs_.rows, &runs_.modes}) {
            for (QualityRow& row : *of) {
                if (row.name != kExactRow) {
                    rows.push_back(&row);
                }
            }
        }
        return rows;
    }

    static std::string label(const QualityRow& row, std::uint64_t seed) {
        return row.name + ", seed " + std::to_string(seed);
    }

    /// To the last step, and on until it is as good as the reference. Not kept when interrupted.
    Result<> train(QualityRow& row, std::uint64_t seed) {
        auto run =
            QualityRun::start(config_of_row(row.name, options_.steps, seed), factory_, text_);
        if (run.has_error()) {
            return run.error();
        }
        runs_.machine = (*run)->machine();
        while (signal_caught == 0 && wants_a_step(**run, row)) {
            if (const Result<> stepped = (*run)->step(); !stepped) {
                return stepped;
            }
            show((*run)->steps_made(), label(row, seed));
        }
        if (signal_caught == 0) {
            row.seeds.push_back((*run)->result());
            ++done_;
            const double loss = loss_at((*run)->held_out(), static_cast<double>(options_.steps));
            console_.info(
                std::to_string(done_) + " of " + std::to_string(total()) + ": " + label(row, seed) +
                ": held out " + std::to_string(loss) + " after " + std::to_string(options_.steps) +
                " steps, " + left(0)
            );
        }
        return {};
    }

    [[nodiscard]] bool wants_a_step(const QualityRun& run, const QualityRow& row) const {
        const std::uint64_t made = run.steps_made();
        if (made < options_.steps || row.name == kReference) {
            return made < options_.steps;
        }
        const LossCurve& reference = runs_.rows.front().seeds.back().held_out;
        return made < options_.steps + extra_steps_max(options_.steps) &&
               !extra_steps(run.held_out(), reference, options_.steps);
    }

    /// The number of trainings; all modes together need one.
    [[nodiscard]] std::uint64_t total() const {
        return options_.seeds * (runs_.rows.size() + (runs_.modes.empty() ? 0 : 1));
    }

    void show(std::uint64_t steps, const std::string& name) {
        const Clock::time_point now = Clock::now();
        if (console_.is_terminal() && now - shown_ >= kShowEvery) {
            shown_ = now;
            console_.status(
                std::to_string(done_ + 1) + " of " + std::to_string(total()) + ": " + name +
                ", step " + std::to_string(steps) + " of " + std::to_string(options_.steps) + ", " +
                left(std::min(steps, options_.steps))
            );
        }
    }

    /// Extra steps are known only when they are made: they count as time, not as work.
    [[nodiscard]] std::string left(std::uint64_t steps) const {
        const auto made = static_cast<double>(done_ * options_.steps + steps);
        const auto all = static_cast<double>(total() * options_.steps);
        const std::chrono::duration<double> took = Clock::now() - began_;
        return sim::seconds_text(took.count() * (all - made) / made) + " left";
    }

    const QualityOptions& options_;
    QualityText text_;
    QualityRuns runs_;
    cli::Console& console_;
    stages::ComputeFactory factory_;
    std::uint64_t done_ = 0;
    Clock::time_point began_ = Clock::now();
    Clock::time_point shown_ = began_;
};

QualityRuns no_runs_yet(const QualityOptions& options) {
    QualityRuns runs;
    const run::RunConfig config = config_of_row(kReference, options.steps, 1);
    runs.steps = options.steps;
    runs.stages = config.stages;
    runs.microbatches = config.microbatches;
    runs.line_bytes_per_s = static_cast<double>(
        options.bytes_per_s.empty() ? kLineBytesPerS : options.bytes_per_s.front()
    );
    runs.held_out_tokens = held_out_tokens(config);
    for (const std::string& name : codec_rows(options)) {
        const run::RunConfig row = config_of_row(name, options.steps, 1);
        runs.rows.push_back({name, leg_bytes(row), {}});
    }
    if (is_all_asked(options) || !options.modes.empty()) {
        for (const char* name : {kExactRow, kSparseRow}) {
            const run::RunConfig row = config_of_row(name, options.steps, 1);
            runs.modes.push_back(
                {name, leg_bytes(row), {}, synchronisation(row, runs.line_bytes_per_s)}
            );
        }
    }
    return runs;
}

Result<QualityText> load(const QualityOptions& options) {
    run::RunConfig config = config_of_row(kReference, options.steps, 1);
    config.corpus = options.corpus;
    Result<cli::TrainingText> text = cli::load_text(config);
    if (!text) {
        return text.error();
    }
    return split_text(std::move(text->corpus), config);
}

Result<> save(const QualityRuns& runs, const QualityOptions& options, const std::string& json) {
    const QualityFigures figures = figures_of(runs);
    const std::string svg = to_svg(runs, figures);
    for (const Result<>& written :
         {write_json(json, to_json(runs, figures)), write_text(options.svg_file, svg)}) {
        if (!written) {
            return written;
        }
    }
    return {};
}

}  // namespace

int measure_quality(const QualityOptions& options, const std::string& json_file) {
    keep_freed_memory();  // the program does the same
    cli::Console console;
    const auto fail = [&](const Error& error) {
        console.error(error.detail);
        return cli::kRunFailed;
    };
    Result<QualityText> text = load(options);
    if (!text) {
        return fail(text.error());
    }
    Quality quality(options, std::move(*text), no_runs_yet(options), console);
    // Now rather than after an hour: can the files be written?
    if (const Result<> saved = save(quality.runs(), options, json_file); !saved) {
        return fail(saved.error());
    }
    std::signal(SIGINT, on_quality_signal);
    std::signal(SIGTERM, on_quality_signal);
    const Result<> measured =
        quality.measure([&](const QualityRuns& runs) { return save(runs, options, json_file); });
    std::fputs(to_text(quality.runs(), figures_of(quality.runs())).c_str(), stdout);
    if (!measured) {
        return fail(measured.error());
    }
    return signal_caught != 0 ? cli::after_signal(signal_caught) : cli::kDone;
}

}  // namespace swarm::bench
