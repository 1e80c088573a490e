#include "swarm/cli/judge/judged_exits.hpp"

#include "stacking/composition/token_scores.hpp"
#include "swarm/base/check.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/answer/text_sources.hpp"

#include <algorithm>

namespace swarm::cli {

using stacking::TokenId;
using stacking::composition::WindowSizes;

JudgedExits::JudgedExits(AloneModel model, std::size_t exits)
    : model_(std::move(model)), tried_(no_exits(tried_thresholds(), exits)) {}

Result<JudgedExits> JudgedExits::open(
    const std::filesystem::path& run, const std::vector<std::uint32_t>& exits
) {
    GenerateOptions options;
    options.model = run.string();
    options.weights = "as-is";
    options.exits_at = exits;
    Console console;
    SWARM_TRY(AloneModel model, open_alone(options, console));
    model.stages->keep_exits();
    return JudgedExits(std::move(model), exits.size());
}

Result<std::vector<TokenId>> JudgedExits::read_tokens(const std::filesystem::path& text) const {
    SWARM_TRY(TextSource source, read_source(text, *model_.tokenizer));
    return std::move(source.encoded.tokens);
}

Result<> JudgedExits::add(std::span<const TokenId> tokens) {
    WindowSizes sizes;
    sizes.context = std::min(kJudgedWindow, model_.reader->context());
    sizes.stride = std::max(1U, stacking::composition::stride_max(sizes.context, 0));
    std::size_t next = 1;  // the first token is read without a prediction
    const auto take = [&](std::span<const double> log_probabilities) {
        if (!log_probabilities.empty()) {
            const auto targets = tokens.subspan(next, log_probabilities.size());
            add_exits(tried_, {model_.stages->exits(), log_probabilities, targets});
        }
        for (const double each : log_probabilities) {
            nats_at_end_ -= each;
        }
        next += log_probabilities.size();
        return true;
    };
    const std::size_t rows = stacking::composition::rows_at_once(model_.reader->vocabulary());
    SWARM_TRY(score_text(*model_.reader, {{}, tokens, sizes, rows}, take));
    return {};
}

EarlyExits JudgedExits::sums() const {
    const std::uint64_t all = tried_.front().all();
    SWARM_ASSERT(all > 0);
    const double at_end = nats_at_end_ / static_cast<double>(all);
    const auto found = most_early(tried_, at_end, kEarlyCost);
    return found ? EarlyExits{found->early(), found->loss() - at_end, found->threshold}
                 : EarlyExits{};
}

}  // namespace swarm::cli
