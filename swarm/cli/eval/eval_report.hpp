// The figures of `swarm eval`, as rows of tables and as JSON.
// Threading: pure functions. Errors: none.
#pragma once

#include "swarm/cli/eval/exit_figures.hpp"
#include "swarm/cli/eval/tasks.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace swarm::cli {

/// How well a model predicts one text, or several together.
struct TextFigures {
    std::string name;
    std::uint64_t bytes = 0;   // bytes of the tokens that were scored
    std::uint64_t tokens = 0;  // tokens that were scored
    double nats = 0;           // sum of their cross-entropies
    double seconds = 0;
    std::uint64_t lost = 0;            // characters or bytes that have no token
    bool finished = true;              // false: Ctrl-C came before the last token
    std::vector<ExitFigures> exits{};  // by threshold
    std::vector<ExitFigures> tried{};  // by tried_thresholds(); empty where no cost was asked

    /// Nats per token.
    [[nodiscard]] double loss() const;
    [[nodiscard]] double bits_per_byte() const;
    /// Infinite for a loss of more than 709 nats.
    [[nodiscard]] double perplexity() const;
    [[nodiscard]] double tokens_per_s() const;
};

/// Adds all texts up, so that each token counts the same.
TextFigures sum_of(const std::vector<TextFigures>& texts);

struct TaskFigures {
    const LikelihoodTask* task = nullptr;
    std::uint64_t items = 0;  // items that were asked
    std::uint64_t right = 0;
    double seconds = 0;

    [[nodiscard]] double share() const;
    /// That of a share of independent items.
    [[nodiscard]] double standard_error() const;

    [[nodiscard]] bool finished() const { return items == task->items.size(); }
};

struct EvalFigures {
    std::string model;
    std::string adapter;  // a folder; empty: none
    std::string weights;
    std::uint32_t stages = 1;
    std::vector<std::uint32_t> path;  // empty: each stage once
    std::uint32_t context = 0;  // tokens of a window; 0: no text was asked for
    std::uint32_t stride = 0;
    std::vector<std::uint32_t> exits_at{};  // numbers of layers
    std::optional<double> exit_cost{};      // percent of the loss that exits may add
    std::vector<TextFigures> texts;
    std::vector<TaskFigures> tasks;
    bool interrupted = false;
};

// Lines of the tables, with their line feeds.
std::string text_heading();
std::string to_row(const TextFigures& text);
/// The table of early exits, whose last row keeps to the cost; empty where none was asked for.
std::string exit_table(
    const std::vector<std::uint32_t>& exits_at,
    std::optional<double> exit_cost,
    const TextFigures& text
);
std::string task_heading();
std::string to_row(const TaskFigures& task);

std::string to_json(const EvalFigures& figures);

}  // namespace swarm::cli
