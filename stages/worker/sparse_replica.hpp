// The state of one replica of mode sparse beside its StageWorker: the weights that all replicas of
// its stage share since the last exchange, the buffer of what it has not sent yet, and how much it
// has trained since. An exchange changes nothing that all share before it is decided (R3):
//   share()    makes this replica's share, once; a later epoch of the exchange sends it again
//   propose()  computes the shared weights that the shares of an epoch give, any number of times
//   adopt()    takes the decided weights as the shared ones and begins the next round
// Invariant: an exchange takes from the buffer once, however many epochs it has. Replicas that
// propose from the same shares in the same order have the same bits.
// Threading: one thread, the device's. Memory: 4 bytes per weight for the buffer, 4 for the shared
// weights (replicas of one process have them in common), and the share during an exchange.
// Errors, all Reject: those of take_share() and apply_shares().
#pragma once

#include "stages/worker/sparse_sync.hpp"
#include "swarm/base/digest.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace stages {

class SparseReplica {
 public:
    using Weights = std::shared_ptr<const std::vector<float>>;

    /// SHA-256 of the shared weights: the state hash that peers compare in mode sparse.
    static swarm::Digest hash_of(const Weights& weights);

    /// `layout` and `codec` outlive the replica; `shared` is as long as the layout. The buffer
    /// begins empty.
    SparseReplica(
        const swarm::run::StageLayout& layout, const compression::Codec& codec, Weights shared
    );

    /// Becomes a newcomer, with the shared weights and an empty buffer. Returns how many
    /// microbatches the replica had trained on since the last exchange.
    std::uint64_t start_anew(Weights shared);
    /// Loses what the replica has trained on since the last exchange, and a share that was made of
    /// it. The buffer of what was not sent before stays. Each exchange that was made without this
    /// replica decays the buffer, as a share of its own does; a share that was made counts for the
    /// first of them.
    void begin_round_anew(Weights shared, std::uint64_t missed_exchanges);
    /// Goes on at an exchange with the buffer `error`, which is as long as the layout.
    void resume(Weights shared, std::vector<float> error);

    /// Notes that a local step has used so many microbatches.
    void trained_on(std::uint32_t microbatches);

    /// Microbatches since the last exchange, those of a share that was made included; adopt() sets
    /// it to 0.
    [[nodiscard]] std::uint64_t trained() const { return trained_; }

    [[nodiscard]] const Weights& shared() const { return shared_; }

    /// Bytes of each replica's share.
    [[nodiscard]] std::uint64_t share_bytes() const { return stages::share_bytes(layout_, codec_); }

    /// The buffer: what the replica has not sent yet, without what it has trained since the last
    /// exchange.
    [[nodiscard]] std::span<const float> error() const { return error_; }

    /// `local` are the replica's weights; `seed` is for codecs that draw random numbers. Both are
    /// used by the first call since adopt() only. The replica has trained on a microbatch. After an
    /// error its buffer is empty, and the replica can only begin anew.
    Result<SparseShare> share(std::span<const float> local, std::uint64_t seed);

    /// Does apply_shares() on a copy of the shared weights. Without shares they stay as they are.
    [[nodiscard]] Result<Weights> propose(std::span<const SparseShare> shares) const;

    /// Takes these shared weights and begins the next round.
    void adopt(Weights shared);

 private:
    const swarm::run::StageLayout& layout_;
    const compression::Codec& codec_;
    Weights shared_;
    std::vector<float> error_;
    std::uint64_t trained_ = 0;
    std::optional<std::vector<std::byte>> share_;  // share of this exchange, once it is made
};

}  // namespace stages
