#include "stacking/logit_changes.hpp"

#include <algorithm>
#include <cstddef>

namespace stacking {

LogitChanges::LogitChanges(
    const swarm::protocol::Sampling& sampling, std::span<const std::uint32_t> text
)
    : biases_(sampling.biases) {
    if (!sampling.reads_text()) {
        return;
    }
    repetition_ =
        sampling.repetition_penalty > 0 ? static_cast<float>(sampling.repetition_penalty) : 1.0F;
    const std::size_t from = std::min<std::size_t>(sampling.generated_from, text.size());
    std::vector<std::uint32_t> generated(
        text.begin() + static_cast<std::ptrdiff_t>(from), text.end()
    );
    std::ranges::sort(generated);
    std::vector<std::uint32_t> all(text.begin(), text.end());
    std::ranges::sort(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    for (const std::uint32_t token : all) {
        const auto [first, last] = std::equal_range(generated.begin(), generated.end(), token);
        const auto times = static_cast<double>(last - first);
        const double off =
            times * sampling.frequency_penalty + (times > 0 ? sampling.presence_penalty : 0.0);
        used_.push_back({token, static_cast<float>(off)});
    }
}

void LogitChanges::apply(std::span<float> logits) const {
    for (const swarm::protocol::TokenBias& bias : biases_) {
        if (bias.token < logits.size()) {
            logits[bias.token] += static_cast<float>(bias.bias);
        }
    }
    for (const Used& used : used_) {
        if (used.token < logits.size()) {
            float& logit = logits[used.token];
            logit = logit > 0 ? logit / repetition_ : logit * repetition_;
            logit -= used.off;
        }
    }
}

}  // namespace stacking
