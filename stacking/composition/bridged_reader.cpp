#include "stacking/composition/bridged_reader.hpp"

#include "swarm/base/try.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace stacking::composition {

using swarm::Result;

BridgedReader::BridgedReader(Parts parts)
    : lower_(std::move(parts.lower)),
      upper_(std::move(parts.upper)),
      input_(bridged_input(std::move(parts.bridge), std::move(parts.embed))) {}

Result<std::unique_ptr<BridgedReader>> BridgedReader::make(Parts parts) {
    const StageShape lower = parts.lower->shape();
    const StageShape upper = parts.upper->shape();
    const bool fits = lower.first && !lower.last && !upper.first && upper.last &&
                      lower.width == parts.bridge.inputs() &&
                      upper.width == parts.bridge.outputs() &&
                      parts.lower_vocabulary == upper.vocabulary;
    if (!fits) {
        return swarm::Error{
            swarm::ErrorCode::Mismatch,
            swarm::Reaction::Reject,
            "the bridge leads from width " + std::to_string(parts.bridge.inputs()) + " to " +
                std::to_string(parts.bridge.outputs()) + "; the members have widths " +
                std::to_string(lower.width) + " and " + std::to_string(upper.width)};
    }
    return std::unique_ptr<BridgedReader>(new BridgedReader(std::move(parts)));
}

std::uint32_t BridgedReader::vocabulary() const {
    return upper_->shape().vocabulary;
}

std::uint32_t BridgedReader::context() const {
    return std::min(lower_->shape().context, upper_->shape().context);
}

Result<> BridgedReader::begin(std::uint32_t tokens) {
    lower_->drop(cache_);
    upper_->drop(cache_);
    ++cache_.value;
    filled_ = 0;
    SWARM_TRY(lower_->reserve(cache_, tokens));
    return upper_->reserve(cache_, tokens);
}

Result<std::vector<float>> BridgedReader::read(std::span<const TokenId> tokens, Wanted wanted) {
    std::vector<SessionRow> rows;
    std::vector<std::uint32_t> logit_rows;
    for (std::uint32_t i = 0; i < tokens.size(); ++i) {
        rows.push_back({cache_, filled_ + i});
        if (wanted == Wanted::AfterEach || i + 1 == tokens.size()) {
            logit_rows.push_back(i);
        }
    }
    SWARM_TRY(auto said, lower_->forward(rows, tokens, {}));
    const std::vector<float> x = input_.read(tokens, std::move(said));
    auto scores = upper_->forward(rows, std::span<const float>(x), logit_rows);
    filled_ += scores.has_error() ? 0 : static_cast<std::uint32_t>(tokens.size());
    return scores;
}

}  // namespace stacking::composition
