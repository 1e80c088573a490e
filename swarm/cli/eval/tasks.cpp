#include "swarm/cli/eval/tasks.hpp"

#include "stacking/composition/token_scores.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/eval/agree_task.hpp"
#include "swarm/cli/eval/copy_task.hpp"
#include "swarm/cli/eval/facts_task.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace swarm::cli {
namespace {

using stacking::TokenId;
using stacking::tokenizers::SpecialTokens;

constexpr std::array<LikelihoodTask, 3> kTasks{{
    {"copy", kCopyGroup, kCopyItems},
    {"agree", kAgreeGroup, kAgreeItems},
    {"facts", kFactsGroup, kFactsItems},
}};
static_assert(std::size(kCopyItems) % kCopyGroup == 0);
static_assert(std::size(kAgreeItems) % kAgreeGroup == 0);
static_assert(std::size(kFactsItems) % kFactsGroup == 0);

std::size_t common_beginning(std::span<const TokenId> one, std::span<const TokenId> other) {
    const auto differs = std::ranges::mismatch(one, other);
    return static_cast<std::size_t>(differs.in1 - one.begin());
}

}  // namespace

std::span<const LikelihoodTask> likelihood_tasks() {
    return kTasks;
}

const LikelihoodTask* find_task(std::string_view name) {
    const auto found = std::ranges::find(kTasks, name, &LikelihoodTask::name);
    return found == kTasks.end() ? nullptr : &*found;
}

TaskScorer::TaskScorer(
    stacking::composition::TextReader& reader, const stacking::tokenizers::ModelTokenizer& tokenizer
)
    : reader_(reader), tokenizer_(tokenizer) {}

Result<std::size_t> TaskScorer::begin(std::span<const TokenId> tokens, std::size_t scored) {
    const std::vector<TokenId> before = std::exchange(read_, {});
    const auto most = tokens.first(scored - 1);
    const auto same = static_cast<std::uint32_t>(common_beginning(most, before));
    const auto size = static_cast<std::uint32_t>(tokens.size());
    if (same > 0) {
        SWARM_TRY(const std::uint32_t kept, reader_.resume(same, size));
        return std::size_t{kept};
    }
    SWARM_TRY(reader_.begin(size));
    return std::size_t{0};
}

Result<double> TaskScorer::score(std::string_view beginning, std::string_view ending) {
    const std::string text = std::string(beginning) + std::string(ending);
    SWARM_TRY(const auto given, tokenizer_.encode_beginning(beginning, SpecialTokens::AsText));
    SWARM_TRY(const auto tokens, tokenizer_.encode_beginning(text, SpecialTokens::AsText));
    if (tokens.size() > reader_.context()) {
        return Error{
            ErrorCode::TooLarge,
            Reaction::Reject,
            "an item has " + std::to_string(tokens.size()) + " tokens; the model's context is " +
                std::to_string(reader_.context())};
    }
    // The last letters of the beginning may have become a part of the ending's first token.
    const std::size_t scored = std::max<std::size_t>(1, common_beginning(given, tokens));
    if (scored >= tokens.size()) {
        return Error{ErrorCode::Mismatch, Reaction::Reject, "an ending has no token in this model"};
    }
    SWARM_TRY(const std::size_t read, begin(tokens, scored));
    double sum = 0;
    const auto take = [&sum](std::span<const double> log_probabilities) {
        for (const double each : log_probabilities) {
            sum += each;
        }
        return true;
    };
    const std::size_t rows = stacking::composition::rows_at_once(reader_.vocabulary());
    SWARM_TRY(score_tokens(reader_, {tokens, read, scored, rows}, take));
    read_.assign(tokens.begin(), tokens.end() - 1);
    return sum / static_cast<double>(ending.size());
}

Result<bool> TaskScorer::is_right(const LikelihoodTask& task, std::size_t item) {
    const TaskItem& asked = task.items[item];
    SWARM_TRY(const double right, score(asked.beginning, asked.ending));
    bool is_best = true;
    for (const TaskItem& other : task.group_of(item)) {
        if (other.ending != asked.ending) {
            SWARM_TRY(const double wrong, score(asked.beginning, other.ending));
            is_best = is_best && right > wrong;
        }
    }
    return is_best;
}

}  // namespace swarm::cli
