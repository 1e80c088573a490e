#include "swarm/data/samples.hpp"

#include "swarm/base/check.hpp"
#include "swarm/base/rng.hpp"
#include "swarm/base/token_flags.hpp"
#include "swarm/base/try.hpp"
#include "swarm/data/sample_order.hpp"

#include <string>

namespace swarm::data {
namespace {

/// Streams of keys: one per source from 0 on, one for all sources together, and those of the places
/// where the samples of a source begin.
constexpr std::uint64_t kAllSources = 1U << 16;
constexpr std::uint64_t kFirstTokens = 1U << 17;

}  // namespace

Result<Samples> Samples::make(const DataSet& data, std::uint32_t context, std::uint64_t seed) {
    SWARM_ASSERT(context >= 1);
    Samples samples(data);
    samples.context_ = context;
    samples.seed_ = seed;
    std::vector<double> weights;
    for (const ManifestSource& source : data.manifest().sources) {
        if (source.weight) {
            weights.push_back(*source.weight);
        }
    }
    if (!weights.empty() && weights.size() != data.manifest().sources.size()) {
        return Error{
            ErrorCode::Malformed,
            Reaction::Reject,
            "the manifest has weights of some sources only"};
    }
    if (!weights.empty()) {
        SWARM_TRY(samples.mixture_, Mixture::make(weights));
    }
    for (std::size_t i = 0; i < data.manifest().sources.size(); ++i) {
        const ManifestSource& source = data.manifest().sources[i];
        const bool is_used = !samples.mixture_ || samples.mixture_->shares()[i] > 0;
        if (is_used && source.tokens <= context) {
            return Error{
                ErrorCode::Mismatch,
                Reaction::Reject,
                "source " + source.name + " has " + std::to_string(source.tokens) +
                    " tokens; a context of " + std::to_string(context) + " needs " +
                    std::to_string(std::uint64_t{context} + 1)};
        }
        samples.counts_.push_back(is_used ? (source.tokens - 1) / context : 0);
        samples.all_ += samples.counts_.back();
    }
    return samples;
}

SamplePlace Samples::place_in(std::size_t source, std::uint64_t epoch, std::uint64_t index) const {
    const std::uint64_t over = (data_->manifest().sources[source].tokens - 1) % context_;
    const std::uint64_t before = order_key(seed_, kFirstTokens + source, epoch) % (over + 1);
    return {source, epoch, index, before + index * context_};
}

SamplePlace Samples::place(std::uint64_t sample) const {
    if (mixture_) {
        const Mixture::Turn turn = mixture_->turn(sample);
        const std::uint64_t count = counts_[turn.source];
        const std::uint64_t epoch = turn.count / count;
        const SampleOrder order(count, order_key(seed_, turn.source, epoch));
        return place_in(turn.source, epoch, order(turn.count % count));
    }
    const std::uint64_t epoch = sample / all_;
    const SampleOrder order(all_, order_key(seed_, kAllSources, epoch));
    std::uint64_t index = order(sample % all_);
    std::size_t source = 0;
    while (index >= counts_[source]) {
        index -= counts_[source];
        ++source;
    }
    return place_in(source, epoch, index);
}

Result<> Samples::read(std::uint64_t sample, std::span<std::uint32_t> ids) const {
    SWARM_ASSERT(ids.size() == std::size_t{context_} + 1);
    const SamplePlace at = place(sample);
    SWARM_TRY(data_->read(at.source, at.first_token, ids));
    ids.front() = token_id(ids.front());  // it is no target here, but in the sample before
    return {};
}

}  // namespace swarm::data
