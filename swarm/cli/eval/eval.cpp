#include "swarm/cli/eval/eval.hpp"

#include "stacking/composition/token_scores.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/answer/generate_alone.hpp"
#include "swarm/cli/answer/open_model.hpp"
#include "swarm/cli/answer/text_sources.hpp"
#include "swarm/cli/common/clock.hpp"
#include "swarm/cli/common/files.hpp"
#include "swarm/cli/eval/eval_progress.hpp"
#include "swarm/cli/eval/eval_report.hpp"
#include "swarm/cli/eval/tasks.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/cli/terminal/standard_output.hpp"
#include "swarm/cli/terminal/stop_presses.hpp"
#include "swarm/cli/terminal/usage.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <span>
#include <utility>

namespace swarm::cli {
namespace {

using stacking::TokenId;
using stacking::composition::WindowSizes;

/// The signal that asked this process to stop; 0: none did.
volatile std::sig_atomic_t eval_signal = 0;
StopPresses eval_presses;

/// A second press stops at once.
extern "C" void note_eval_signal(int number) {
    const StopPress press = eval_presses.note(clock_now());
    if (press == StopPress::Next) {
        std::_Exit(after_signal(number));
    }
    if (press == StopPress::First) {
        eval_signal = number;
    }
}

/// While an object of this class lives, note_eval_signal() takes SIGINT and SIGTERM.
class EvalSignals {
 public:
    EvalSignals()
        : on_interrupt_(std::signal(SIGINT, note_eval_signal)),
          on_terminate_(std::signal(SIGTERM, note_eval_signal)) {}

    EvalSignals(const EvalSignals&) = delete;
    EvalSignals& operator=(const EvalSignals&) = delete;

    ~EvalSignals() {
        std::signal(SIGINT, on_interrupt_);
        std::signal(SIGTERM, on_terminate_);
    }

 private:
    void (*on_interrupt_)(int);
    void (*on_terminate_)(int);
};

/// Whether somebody still wants the figures.
bool goes_on() {
    return eval_signal == 0 && output_is_taken();
}

Result<WindowSizes> sizes_of(const EvalOptions& options, std::uint32_t most, std::size_t before) {
    WindowSizes sizes;
    sizes.context = options.context.value_or(std::min(kUsualContext, most));
    if (sizes.context > most) {
        return usage(
            "--context " + std::to_string(sizes.context) + ": the model's context is " +
            std::to_string(most) + " tokens"
        );
    }
    const std::uint32_t stride_most = stacking::composition::stride_max(sizes.context, before);
    if (stride_most == 0) {
        return usage(
            "a context of " + std::to_string(sizes.context) + " tokens has no room for a text"
        );
    }
    sizes.stride = options.stride.value_or(std::min(sizes.context / 2, stride_most));
    if (sizes.stride > stride_most) {
        return usage(
            "--stride " + std::to_string(sizes.stride) + ": with a context of " +
            std::to_string(sizes.context) + " tokens it is at most " + std::to_string(stride_most)
        );
    }
    return sizes;
}

/// The names of the tasks that are wanted, each once, in the order of all tasks.
std::vector<const LikelihoodTask*> wanted_tasks(const std::vector<std::string>& names) {
    std::vector<const LikelihoodTask*> wanted;
    for (const LikelihoodTask& task : likelihood_tasks()) {
        const auto means = [&](const std::string& name) {
            return name == kAllTasks || name == task.name;
        };
        if (std::ranges::any_of(names, means)) {
            wanted.push_back(&task);
        }
    }
    return wanted;
}

/// The figures of one model.
class Evaluation {
 public:
    Evaluation(const EvalOptions& options, Console& console)
        : options_(options), console_(console) {
        figures_.model = options.model;
        figures_.adapter = options.adapter;
        figures_.weights = options.weights;
        figures_.exits_at = options.exits_at;
        figures_.exit_cost = options.exit_cost;
        figures_.stages = options.stages;
        figures_.path = options.path;
    }

    Result<> run() {
        SWARM_TRY(const auto sources, find_sources(options_.texts));
        GenerateOptions opened;
        opened.model = options_.model;
        opened.adapter = options_.adapter;
        opened.weights = options_.weights;
        opened.stages = options_.stages;
        opened.path = options_.path;
        opened.threads = options_.threads;
        SWARM_TRY(find_exits());
        opened.exits_at = figures_.exits_at;
        SWARM_TRY(AloneModel model, open_alone(opened, console_));
        if (!figures_.exits_at.empty()) {
            model.stages->keep_exits();
        }
        SWARM_TRY(measure_texts(sources, model));
        return ask_tasks(model);
    }

    [[nodiscard]] EvalFigures& figures() { return figures_; }

 private:
    /// Takes the exits of a run's training where none are named.
    Result<> find_exits() {
        const bool asks = !options_.exits.empty() || options_.exit_cost.has_value();
        if (!asks || !figures_.exits_at.empty()) {
            return {};
        }
        SWARM_TRY(figures_.exits_at, trained_exits(options_.model));
        if (figures_.exits_at.empty()) {
            return usage(
                std::string(options_.exits.empty() ? "--exit-cost: " : "--exit: ") +
                options_.model +
                " was not trained with exits (train.exits); --exits-at says behind which layers"
            );
        }
        tell_trained_exits(figures_.exits_at, console_);
        return {};
    }

    Result<> measure_texts(
        const std::vector<std::filesystem::path>& sources, const AloneModel& model
    ) {
        if (sources.empty()) {
            return {};
        }
        const auto before = tokens_before(*model.tokenizer);
        SWARM_TRY(
            const WindowSizes sizes, sizes_of(options_, model.reader->context(), before.size())
        );
        figures_.context = sizes.context;
        figures_.stride = sizes.stride;
        bool heading = false;
        for (const auto& file : sources) {
            if (!goes_on()) {
                return {};
            }
            SWARM_TRY(const TextSource source, read_source(file, *model.tokenizer));
            SWARM_TRY(TextFigures figures, measure_text(source, sizes, model));
            if (figures.tokens > 0) {
                std::cout << (std::exchange(heading, true) ? "" : text_heading())
                          << to_row(figures) << std::flush;
                figures_.texts.push_back(std::move(figures));
            }
        }
        if (figures_.texts.size() > 1) {
            std::cout << to_row(sum_of(figures_.texts)) << std::flush;
        }
        std::cout << exit_table(figures_.exits_at, figures_.exit_cost, sum_of(figures_.texts))
                  << std::flush;
        return {};
    }

    Result<TextFigures> measure_text(
        const TextSource& source, WindowSizes sizes, const AloneModel& model
    ) {
        const auto before = tokens_before(*model.tokenizer);
        const std::span<const TokenId> tokens = source.encoded.tokens;
        const std::size_t first = before.empty() ? 1 : 0;
        if (tokens.size() == first) {
            return Error{
                ErrorCode::Mismatch,
                Reaction::Reject,
                source.name + ": the text is too short; it has 1 token, and the first one is read "
                              "without a prediction"};
        }
        if (source.encoded.lost > 0) {
            console_.warn(
                source.name + ": " + std::to_string(source.encoded.lost) +
                " characters or bytes have no token in this model and are left out"
            );
        }
        TextFigures figures{.name = source.name, .lost = source.encoded.lost};
        figures.exits = no_exits(options_.exits, figures_.exits_at.size());
        if (options_.exit_cost) {
            figures.tried = no_exits(tried_thresholds(), figures_.exits_at.size());
        }
        EvalProgress progress(console_, source.name, "tokens", tokens.size() - first);
        const auto take = [&](std::span<const double> log_probabilities) {
            if (!figures_.exits_at.empty() && !log_probabilities.empty()) {
                const auto targets =
                    tokens.subspan(first + figures.tokens, log_probabilities.size());
                const SaidAtExits said{model.stages->exits(), log_probabilities, targets};
                add_exits(figures.exits, said);
                add_exits(figures.tried, said);
            }
            for (const double each : log_probabilities) {
                figures.nats -= each;
            }
            figures.tokens += log_probabilities.size();
            progress.show(figures.tokens);
            return goes_on();
        };
        const std::size_t rows = stacking::composition::rows_at_once(model.reader->vocabulary());
        const auto scored = score_text(*model.reader, {before, tokens, sizes, rows}, take);
        progress.end();
        if (!scored) {
            return Error{
                scored.error().code,
                scored.error().reaction,
                source.name + ": " + scored.error().detail};
        }
        figures.seconds = progress.seconds();
        figures.finished = first + figures.tokens == tokens.size();
        SWARM_TRY(figures.bytes, scored_bytes(source, first, figures, *model.tokenizer));
        return figures;
    }

    /// All bytes of the text count but those of a first token that was not scored, and those that
    /// were not reached.
    static Result<std::uint64_t> scored_bytes(
        const TextSource& source,
        std::size_t first,
        const TextFigures& figures,
        const stacking::tokenizers::ModelTokenizer& tokenizer
    ) {
        const std::span<const TokenId> tokens = source.encoded.tokens;
        if (!figures.finished) {
            SWARM_TRY(
                const std::string reached, tokenizer.decode(tokens.subspan(first, figures.tokens))
            );
            return std::uint64_t{reached.size()};
        }
        SWARM_TRY(const std::string unscored, tokenizer.decode_whole(tokens.first(first)));
        return std::uint64_t{source.text.size() - std::min(unscored.size(), source.text.size())};
    }

    Result<> ask_tasks(const AloneModel& model) {
        bool heading = false;
        TaskScorer scorer(*model.reader, *model.tokenizer);
        for (const LikelihoodTask* const task : wanted_tasks(options_.tasks)) {
            if (!goes_on()) {
                return {};
            }
            TaskFigures figures{.task = task};
            EvalProgress progress(console_, std::string(task->name), "items", task->items.size());
            while (!figures.finished() && goes_on()) {
                const auto right = scorer.is_right(*task, figures.items);
                if (!right) {
                    const Error& error = right.error();
                    const std::string name = "task " + std::string(task->name);
                    return Error{error.code, error.reaction, name + ": " + error.detail};
                }
                ++figures.items;
                figures.right += *right ? 1 : 0;
                progress.show(figures.items);
            }
            progress.end();
            figures.seconds = progress.seconds();
            if (figures.items > 0) {
                std::cout << (std::exchange(heading, true) ? "" : task_heading())
                          << to_row(figures) << std::flush;
                figures_.tasks.push_back(figures);
            }
        }
        return {};
    }

    const EvalOptions& options_;
    Console& console_;
    EvalFigures figures_;
};

}  // namespace

int evaluate(const EvalOptions& options) {
    Console console;
    const EvalSignals signals;
    Evaluation evaluation(options, console);
    if (const Result<> done = evaluation.run(); !done) {
        return end_with(console, done.error());
    }
    EvalFigures& figures = evaluation.figures();
    figures.interrupted = eval_signal != 0;
    const bool kept =
        options.json_file.empty() || write_text(console, options.json_file, to_json(figures));
    if (figures.interrupted) {
        return after_signal(eval_signal);
    }
    return kept && output_is_taken() ? kDone : kRunFailed;
}

}  // namespace swarm::cli
