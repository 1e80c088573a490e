// Downloads one stage's state: manifest first, then 1 MiB chunks from several donors at once. Each
// chunk is unpacked and checked by its hash. Joiners use it, and the coordinator for checkpoints.
// Invariants: at most kOpenFetchesMax requests are open per donor. A chunk that has a wrong hash or
// does not unpack to its size is dropped, and its donor is not used again. Nothing is kept that the
// manifest does not name, which is that of the first donor that answers with one. A donor is asked
// nothing while its link is down. It is forgotten when it stays down or silent for kAnswerWithin
// times the number of donors, because all donors share our line.
// Threading: single strand. Cost: per chunk one pass of byte planes (state_chunk.hpp) and SHA-256.
// Source: step protocol, section 7; Fetch and Chunk in PROTOCOL.md.
#pragma once

#include "swarm/base/digest.hpp"
#include "swarm/node/role.hpp"
#include "swarm/run/state_chunk.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace swarm::run {

/// A raw chunk of a state and its hash.
struct KnownChunk {
    Digest digest;
    node::Payload chunk;
};

/// Chunks by their numbers.
using KnownChunks = std::map<std::uint32_t, KnownChunk>;

class StateFetcher {
 public:
    struct Plan {
        ParameterVersion version;
        StageIndex stage;
        std::uint64_t state_bytes = 0;       // by the stage's layout
        std::optional<Digest> state_hash{};  // from the STATE record, when it is known
        std::uint64_t chunk_bytes_max = protocol::kChunkBytes;  // by the stage's layout
        /// Chunks that are here already; one that the manifest names is not asked for.
        KnownChunks known{};

        [[nodiscard]] std::uint32_t chunks() const {
            return chunk_count(state_bytes, chunk_bytes_max);
        }
    };

    enum class Outcome { Open, Complete, Failed };

    StateFetcher(Plan plan, std::vector<PeerId> donors);

    /// Sends the requests that may be sent now. Call it after creation, after each event, and at
    /// next_deadline().
    void advance(node::Turn turn);
    void on(PeerId from, const protocol::Chunk& chunk, node::Payload payload, node::Turn turn);
    void on(PeerId from, const protocol::ChunkRefused& refused, node::Turn turn);
    /// The donor is gone for good.
    void donor_lost(PeerId donor, node::Turn turn);
    /// Other donors are asked for the chunks that this one owes. It may come back.
    void link_down(PeerId donor, node::Turn turn);
    /// Asks the donor again, because earlier requests may never have reached it.
    void link_up(PeerId donor, node::Turn turn);

    [[nodiscard]] Outcome outcome() const;
    [[nodiscard]] TimePoint next_deadline() const;

    [[nodiscard]] const Plan& plan() const { return plan_; }

    /// SHA-256 over the manifest. Requires a complete download.
    [[nodiscard]] Digest state_hash() const;

    /// The chunks in order. Call it once, after Complete.
    std::vector<node::Payload> take_chunks() { return std::move(chunks_); }

    [[nodiscard]] std::uint32_t received() const { return received_; }

    [[nodiscard]] std::vector<PeerId> donors() const;

 private:
    struct Donor {
        std::uint32_t open = 0;  // requests for chunks
        TimePoint not_before = kAtOnce;
        TimePoint silent_since = kNever;  // set while an answer is due, or the link is down
        std::uint32_t refusals = 0;
        bool is_known = false;  // the donor has answered before
        bool is_down = false;
    };

    void ask_for_manifest(node::Turn turn);
    void ask_for_chunks(node::Turn turn);
    void take_manifest(PeerId from, std::span<const std::byte> bytes);
    void take_known();
    void take_chunk(PeerId from, std::uint32_t chunk, node::Payload payload);
    std::optional<PeerId> free_donor(TimePoint now) const;
    [[nodiscard]] Duration patience() const;
    void give_up_late_donors(TimePoint now);
    void end_request(std::uint32_t chunk);
    void heard(PeerId donor, TimePoint now);
    void forget(PeerId donor);
    void drop_requests_to(PeerId donor);

    Plan plan_;
    std::map<PeerId, Donor> donors_;
    std::optional<std::vector<Digest>> manifest_;
    std::vector<node::Payload> chunks_;
    std::map<std::uint32_t, PeerId> open_;  // by chunk: the donor that was asked for it
    std::uint32_t received_ = 0;
    std::uint32_t next_chunk_ = 0;
};

}  // namespace swarm::run
