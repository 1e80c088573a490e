#include "swarm/run/batch_plan.hpp"

#include "swarm/base/check.hpp"
#include "swarm/base/rng.hpp"
#include "swarm/run/training/batch_growth.hpp"

namespace swarm::run {

BatchPlan::BatchPlan(
    const RunConfig& config, std::span<const std::uint32_t> corpus, const SampleRows* rows
)
    : config_(config),
      seed_(config.seed),
      batch_(config.batch),
      row_(config.model.context + 1),
      vocabulary_(config.model.vocabulary),
      corpus_(corpus),
      rows_(rows) {
    SWARM_ASSERT(corpus.empty() || corpus.size() >= row_);
}

std::vector<std::uint32_t> BatchPlan::tokens(std::uint64_t step, MicrobatchId id) const {
    std::vector<std::uint32_t> tokens;
    tokens.reserve(std::size_t{batch_} * row_);
    if (rows_ != nullptr) {
        tokens.resize(std::size_t{batch_} * row_);
        const std::uint64_t first = (microbatches_before(config_, step) + id.value) * batch_;
        for (std::uint32_t row = 0; row < batch_; ++row) {
            rows_->read(first + row, std::span(tokens).subspan(std::size_t{row} * row_, row_));
        }
        return tokens;
    }
    if (corpus_.empty()) {
        for (std::uint32_t i = 0; i < batch_ * row_; ++i) {
            tokens.push_back((id.value + i) % vocabulary_);
        }
        return tokens;
    }
    // Two rounds of the mixer keep (step, microbatch) pairs apart; rows are draws of one stream.
    Rng rng(mix_bits(seed_ + mix_bits(step + 1)), id.value);
    for (std::uint32_t row = 0; row < batch_; ++row) {
        const auto sequence = corpus_.subspan(rng.below(corpus_.size() - row_ + 1), row_);
        tokens.insert(tokens.end(), sequence.begin(), sequence.end());
    }
    return tokens;
}

}  // namespace swarm::run
