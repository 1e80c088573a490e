// What one replica of mode sparse has beside its StageWorker: the weights that all replicas of its
// stage share since the last exchange, what it has not sent yet, and how much it has trained since.
// An exchange, in which nothing that all share changes before it is decided (R3):
//   share()    what this replica gives, made once: another epoch of the exchange sends it again
//   propose()  what the shared weights become with the shares of an epoch; as often as one needs
//   adopt()    the decision: these are the shared weights now, and the next round begins
// Invariant: an exchange takes from the buffer once, however many epochs it has. Whoever proposes
// from the same shares in the same order has the same bits.
// Threading: one thread, the device's. Memory: 4 bytes per weight for the buffer, 4 for the shared
// weights, which replicas of one process have in common, and the share while an exchange lasts.
// Errors, all Reject: as take_share() and apply_shares().
#pragma once

#include "stages/sparse_sync.hpp"
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

    /// What peers hold against each other: the state hash of mode sparse.
    static swarm::Digest hash_of(const Weights& weights);

    /// `layout` and `codec` outlive it; `shared` is as long as the layout. Its buffer is empty.
    SparseReplica(
        const swarm::run::StageLayout& layout, const compression::Codec& codec, Weights shared
    );

    /// A newcomer: with the shared weights and nothing in its buffer. Returns how many microbatches
    /// it had trained on since the last exchange.
    std::uint64_t start_anew(Weights shared);
    /// What it has trained on since the last exchange is lost, with a share that it has made of
    /// that; what it had not sent before is still to be sent. Exchanges that were made without it
    /// decay the buffer, as its own share does; one that is made counts for the first of them.
    void begin_round_anew(Weights shared, std::uint64_t missed_exchanges);
    /// Goes on at an exchange from what it had not sent, as long as the layout.
    void resume(Weights shared, std::vector<float> error);

    /// A local step has used so many microbatches.
    void trained_on(std::uint32_t microbatches);

    /// Since the last exchange; together with its share, until adopt().
    [[nodiscard]] std::uint64_t trained() const { return trained_; }

    [[nodiscard]] const Weights& shared() const { return shared_; }

    /// Of each replica's share.
    [[nodiscard]] std::uint64_t share_bytes() const { return stages::share_bytes(layout_, codec_); }

    /// What it has not sent yet; without what it has trained since the last exchange.
    [[nodiscard]] std::span<const float> error() const { return error_; }

    /// `local`: its weights; `seed` for codecs that draw. Both count for the first call since
    /// adopt() only. It has trained on a microbatch. After an error its buffer is empty, and it can
    /// only begin anew.
    Result<SparseShare> share(std::span<const float> local, std::uint64_t seed);

    /// As apply_shares(), to a copy of the shared weights; without shares they stay as they are.
    [[nodiscard]] Result<Weights> propose(std::span<const SparseShare> shares) const;

    void adopt(Weights shared);

 private:
    const swarm::run::StageLayout& layout_;
    const compression::Codec& codec_;
    Weights shared_;
    std::vector<float> error_;
    std::uint64_t trained_ = 0;
    std::optional<std::vector<std::byte>> share_;  // of this exchange, once made
};

}  // namespace stages
