// Fetches the manifest of a model's files. Its bytes can be checked only when all have come, so
// they come from one server at a time; after a wrong hash, a refusal or kAnswerWithin of silence
// another one is asked from the start.
// Invariant: bytes() has the hash that was asked for. A server that sent other bytes is a liar, and
// is asked no more.
// Threading: single strand. Bound: the size that the servers told, kManifestBytesMax at most.
#pragma once

#include "swarm/base/digest.hpp"
#include "swarm/node/role.hpp"
#include "swarm/protocol/limits.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace stacking::sharing {

namespace node = swarm::node;
namespace protocol = swarm::protocol;
using swarm::PeerId;
using swarm::TimePoint;

class ManifestFetch {
 public:
    static constexpr swarm::Duration kAnswerWithin = std::chrono::seconds(10);
    static constexpr swarm::Duration kPause = std::chrono::milliseconds(200);

    explicit ManifestFetch(swarm::Digest manifest) : manifest_(manifest) {}

    /// `bytes`: the size that this server told.
    void donor_up(PeerId donor, std::uint32_t bytes);
    void donor_down(PeerId donor);

    void take(
        PeerId from,
        const protocol::FileChunk& chunk,
        std::span<const std::byte> bytes,
        TimePoint now
    );
    void take(PeerId from, const protocol::FileRefused& refused, TimePoint now);

    void advance(node::Turn turn);
    [[nodiscard]] TimePoint next_deadline() const;

    [[nodiscard]] bool is_complete() const { return complete_; }

    [[nodiscard]] bool is_liar(PeerId donor) const { return liars_.contains(donor); }

    [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
    struct Donor {
        PeerId peer;
        std::uint32_t bytes = 0;
    };

    void drop_current();

    swarm::Digest manifest_;
    std::vector<Donor> donors_;  // the first one is asked; one that fails goes to the end
    std::set<PeerId> liars_;
    std::vector<std::byte> bytes_;  // the first donor's, so far
    bool asked_ = false;            // the next chunk is asked for
    bool complete_ = false;
    TimePoint due_ = swarm::kAtOnce;  // the answer, or the next question
};

}  // namespace stacking::sharing
