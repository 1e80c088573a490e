#include "stages/worker/sparse_replica.hpp"

#include "swarm/base/check.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace stages {

SparseReplica::SparseReplica(
    const swarm::run::StageLayout& layout, const compression::Codec& codec, Weights shared
)
    : layout_(layout), codec_(codec), error_(layout.elements()) {
    adopt(std::move(shared));
}

swarm::Digest SparseReplica::hash_of(const Weights& weights) {
    return swarm::sha256(std::as_bytes(std::span(*weights)));
}

std::uint64_t SparseReplica::start_anew(Weights shared) {
    const std::uint64_t lost = trained_;
    std::ranges::fill(error_, 0.0F);
    adopt(std::move(shared));
    return lost;
}

void SparseReplica::begin_round_anew(Weights shared, std::uint64_t missed_exchanges) {
    // A replica that has made a share of the first missed exchange has decayed the buffer with it.
    const std::uint64_t decays = missed_exchanges - (share_ && missed_exchanges > 0 ? 1 : 0);
    const float left = std::pow(kErrorDecay, static_cast<float>(decays));
    for (float& value : error_) {
        value *= left;
    }
    adopt(std::move(shared));
}

void SparseReplica::resume(Weights shared, std::vector<float> error) {
    SWARM_ASSERT(error.size() == layout_.elements());
    error_ = std::move(error);
    adopt(std::move(shared));
}

void SparseReplica::trained_on(std::uint32_t microbatches) {
    SWARM_ASSERT(!share_);  // these microbatches would be counted, but are not in the share
    trained_ += microbatches;
}

Result<SparseShare> SparseReplica::share(std::span<const float> local, std::uint64_t seed) {
    SWARM_ASSERT(trained_ > 0);
    if (!share_) {
        auto taken = take_share(layout_, codec_, *shared_, local, error_, seed);
        if (taken.has_error()) {
            std::ranges::fill(error_, 0.0F);
            return taken.error();
        }
        share_ = std::move(*taken);
    }
    return SparseShare{*share_, trained_};
}

Result<SparseReplica::Weights> SparseReplica::propose(std::span<const SparseShare> shares) const {
    if (shares.empty()) {
        return shared_;
    }
    std::vector<float> weights = *shared_;
    SWARM_TRY(apply_shares(layout_, codec_, shares, weights));
    return std::make_shared<const std::vector<float>>(std::move(weights));
}

void SparseReplica::adopt(Weights shared) {
    SWARM_ASSERT(shared && shared->size() == layout_.elements());
    shared_ = std::move(shared);
    trained_ = 0;
    share_.reset();
}

}  // namespace stages
