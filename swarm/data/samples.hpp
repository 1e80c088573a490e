// The samples of a run: sample n is a row of T + 1 tokens, inputs and, shifted by one, targets. It
// is a function of (data, T, seed, n), so a replay and a resumed run read the same tokens.
// A source of L tokens has (L - 1) / T samples per epoch, side by side: each token is the target of
// one sample. The L - 1 modulo T tokens that are over lie before and behind them, in each epoch
// otherwise.
//   with weights     the mixture says whose turn it is; each source has epochs of its own
//   without weights  an epoch has each sample of all sources once
// Threading: immutable. Memory: that of the mixture. Cost: O(T), and a page of the disk or two.
// Errors (Reject): Mismatch: a source is too short; those of DataSet::read.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/data/data_set.hpp"
#include "swarm/data/mixture.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace swarm::data {

struct SamplePlace {
    std::size_t source = 0;
    std::uint64_t epoch = 0;        // counted per source, or for all where there are no weights
    std::uint64_t index = 0;        // among the samples of the source
    std::uint64_t first_token = 0;  // counted in the source

    friend bool operator==(const SamplePlace&, const SamplePlace&) = default;
};

class Samples {
 public:
    /// `data` outlives the samples. Requires a context of at least 1.
    static Result<Samples> make(const DataSet& data, std::uint32_t context, std::uint64_t seed);

    [[nodiscard]] SamplePlace place(std::uint64_t sample) const;

    /// Requires room for context + 1 ids. Targets may have kNoLossFlag.
    Result<> read(std::uint64_t sample, std::span<std::uint32_t> ids) const;

    /// Samples of a source in one epoch; 0 for a source with a weight of 0.
    [[nodiscard]] std::uint64_t per_epoch(std::size_t source) const { return counts_[source]; }

    /// Samples of all sources.
    [[nodiscard]] std::uint64_t per_epoch() const { return all_; }

    [[nodiscard]] const std::optional<Mixture>& mixture() const { return mixture_; }

 private:
    explicit Samples(const DataSet& data) : data_(&data) {}

    [[nodiscard]] SamplePlace place_in(std::size_t source, std::uint64_t epoch, std::uint64_t index)
        const;

    const DataSet* data_;
    std::uint32_t context_ = 1;
    std::uint64_t seed_ = 0;
    std::optional<Mixture> mixture_;     // none: no weights
    std::vector<std::uint64_t> counts_;  // samples per epoch, by source
    std::uint64_t all_ = 0;
};

}  // namespace swarm::data
