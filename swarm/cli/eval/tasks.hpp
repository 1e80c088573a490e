// Small tasks that ask a model which of several endings of a text it finds likelier.
//   items     a group of a task has a few beginnings with one right ending each; the endings of the
//             others are the wrong ones. So a model that looks at endings alone is right as often
//             as guessing is.
//   rule      an ending's score is the sum of the log-probabilities of its tokens over its bytes.
//             An item counts as right when the score of its right ending is above all others.
// All texts are our own. Threading: one thread. Errors: those of the reader and the tokenizer;
// NotFinite (logits), TooLarge (an item is longer than the model's context); Reject.
#pragma once

#include "stacking/composition/text_reader.hpp"
#include "stacking/tokenizers/model_tokenizer.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace swarm::cli {

/// A beginning and its right ending.
struct TaskItem {
    std::string_view beginning;
    std::string_view ending;
};

struct LikelihoodTask {
    std::string_view name;
    std::size_t group = 0;  // items of a group, whose endings are the choices of each
    std::span<const TaskItem> items{};

    /// The share of items that a guess gets right.
    [[nodiscard]] double guessing() const { return 1.0 / static_cast<double>(group); }

    /// Returns the items of the same group, the item itself included.
    [[nodiscard]] std::span<const TaskItem> group_of(std::size_t item) const {
        return items.subspan(item - item % group, group);
    }
};

/// The name that stands for each task.
inline constexpr std::string_view kAllTasks = "all";

std::span<const LikelihoodTask> likelihood_tasks();

/// Returns null when no task has that name.
const LikelihoodTask* find_task(std::string_view name);

/// Asks one model about items.
class TaskScorer {
 public:
    /// Both must outlive this object; nobody else may use the reader meanwhile.
    TaskScorer(
        stacking::composition::TextReader& reader,
        const stacking::tokenizers::ModelTokenizer& tokenizer
    );

    /// REQUIRES: item < task.items.size().
    Result<bool> is_right(const LikelihoodTask& task, std::size_t item);

    /// Returns the sum of the log-probabilities of the ending's tokens over its bytes, in nats.
    Result<double> score(std::string_view beginning, std::string_view ending);

 private:
    /// Begins a text, or goes on behind as much of the one before as both have in common. Returns
    /// the number of tokens that are read.
    Result<std::size_t> begin(std::span<const stacking::TokenId> tokens, std::size_t scored);

    stacking::composition::TextReader& reader_;
    const stacking::tokenizers::ModelTokenizer& tokenizer_;
    std::vector<stacking::TokenId> read_{};  // tokens that the reader has read
};

}  // namespace swarm::cli
