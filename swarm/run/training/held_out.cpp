#include "swarm/run/training/held_out.hpp"

#include "swarm/base/check.hpp"

#include <algorithm>
#include <cstdio>

namespace swarm::run {
namespace {

std::size_t tokens_of_microbatch(const RunConfig& config) {
    return std::size_t{config.batch} * (config.model.context + 1);
}

/// Spreads `count` places evenly over 0 to `last`.
std::vector<std::uint64_t> spread(std::uint64_t count, std::uint64_t last) {
    std::vector<std::uint64_t> places;
    for (std::uint64_t i = 0; i < count; ++i) {
        places.push_back(count == 1 ? 0 : i * last / (count - 1));
    }
    return places;
}

std::uint64_t count_windows(const RunConfig& config, std::uint64_t windows) {
    const std::uint64_t batches = (windows + config.batch - 1) / config.batch;
    return config.batch * std::min<std::uint64_t>(batches, config.eval.batches);
}

}  // namespace

std::vector<std::uint64_t> held_out_windows(const RunConfig& config, std::uint64_t windows) {
    SWARM_ASSERT(windows > 0);
    return spread(count_windows(config, windows), windows - 1);
}

std::vector<std::uint32_t> held_out_tokens(
    const RunConfig& config, std::span<const std::uint32_t> text
) {
    const std::size_t row = std::size_t{config.model.context} + 1;
    SWARM_ASSERT(text.size() >= row);
    const std::uint64_t windows = (text.size() - 1) / config.model.context;
    std::vector<std::uint32_t> tokens;
    for (const std::uint64_t begin : spread(count_windows(config, windows), text.size() - row)) {
        const auto window = text.subspan(begin, row);
        tokens.insert(tokens.end(), window.begin(), window.end());
    }
    return tokens;
}

std::vector<std::span<const std::uint32_t>> held_out_microbatches(
    const RunConfig& config, std::span<const HeldOutText> texts
) {
    const std::size_t size = tokens_of_microbatch(config);
    std::vector<std::span<const std::uint32_t>> microbatches;
    for (const HeldOutText& text : texts) {
        SWARM_ASSERT(!text.tokens.empty() && text.tokens.size() % size == 0);
        for (std::size_t begin = 0; begin < text.tokens.size(); begin += size) {
            microbatches.push_back(std::span(text.tokens).subspan(begin, size));
        }
    }
    return microbatches;
}

HeldOutLosses mean_held_out(
    const RunConfig& config,
    std::span<const HeldOutText> texts,
    std::span<const double> losses,
    std::uint64_t step
) {
    HeldOutLosses means{step, 0, {}, false};
    for (const HeldOutText& text : texts) {
        const std::size_t count = text.tokens.size() / tokens_of_microbatch(config);
        double sum = 0;
        for (const double loss : losses.first(count)) {
            sum += loss;
        }
        losses = losses.subspan(count);
        means.by_text.push_back(sum / static_cast<double>(count));
        means.loss += means.by_text.back();
    }
    means.loss /= static_cast<double>(std::max<std::size_t>(texts.size(), 1));
    return means;
}

std::optional<std::string> held_out_fault(const RunConfig& config) {
    if (config.eval.texts.empty()) {
        return std::nullopt;
    }
    if (config.mode == SyncMode::Sparse) {
        return "must be empty where run.mode is sparse: its replicas differ between two exchanges";
    }
    if (config.model.kind == ModelKind::Oracle) {
        return "must be empty: the oracle model reads no text";
    }
    return std::nullopt;
}

bool is_evaluation_due(const RunConfig& config, std::uint64_t step) {
    return step > 0 && (step % config.eval.every_steps == 0 || step == config.steps);
}

void HeldOutWatch::note(HeldOutLosses& losses) {
    losses.is_best = !best_ || losses.loss < *best_;
    if (losses.is_best) {
        best_ = losses.loss;
        worse_ = 0;
    } else {
        ++worse_;
    }
}

std::string HeldOutWatch::reason() const {
    char text[96];
    std::snprintf(
        text,
        sizeof text,
        "no better held-out loss than %.4f in %u evaluations",
        best_.value_or(0),
        worse_
    );
    return text;
}

}  // namespace swarm::run
