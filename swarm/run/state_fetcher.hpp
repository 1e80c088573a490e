// Downloads one stage's state: manifest first, then 1 MiB chunks from several donors at once, each
// unpacked and checked by its hash. Used by joiners and by the coordinator for checkpoints.
// Invariants: at most kOpenFetchesMax requests open per donor; a chunk with a wrong hash, or that
// does not unpack to its size, is dropped and its donor used no more; nothing is kept that the
// manifest does not name.
// Threading: single strand. Cost: one pass of byte planes (state_chunk.hpp) and SHA-256 each.
// Source: step protocol, section 7; Fetch and Chunk in PROTOCOL.md.
#pragma once

#include "swarm/base/digest.hpp"
#include "swarm/node/role.hpp"
#include "swarm/run/state_chunk.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace swarm::run {

class StateFetcher {
 public:
    struct Plan {
        ParameterVersion version;
        StageIndex stage;
        std::uint64_t state_bytes = 0;     // as the layout says
        std::optional<Digest> state_hash;  // of the STATE record, when known

        [[nodiscard]] std::uint32_t chunks() const { return chunk_count(state_bytes); }
    };

    enum class Outcome { Open, Complete, Failed };

    StateFetcher(Plan plan, std::vector<PeerId> donors);

    /// Sends what may be sent now; call after creation, after each event and when due.
    void advance(node::Turn turn);
    void on(PeerId from, const protocol::Chunk& chunk, node::Payload payload, node::Turn turn);
    void on(PeerId from, const protocol::ChunkRefused& refused, node::Turn turn);
    void donor_lost(PeerId donor);

    [[nodiscard]] Outcome outcome() const;
    [[nodiscard]] TimePoint next_deadline() const;

    [[nodiscard]] const Plan& plan() const { return plan_; }

    /// SHA-256 over the manifest; of a complete download.
    [[nodiscard]] Digest state_hash() const;

    /// In order; once, after Complete.
    std::vector<node::Payload> take_chunks() { return std::move(chunks_); }

    [[nodiscard]] std::uint32_t received() const { return received_; }

 private:
    struct Request {
        PeerId donor;
        TimePoint asked_at;
    };

    struct Donor {
        std::uint32_t open = 0;
        TimePoint not_before = kAtOnce;
        std::uint32_t refusals = 0;
    };

    void ask(std::optional<std::uint32_t> chunk, node::Turn turn);
    std::optional<PeerId> free_donor(TimePoint now) const;
    void give_up_late_requests(TimePoint now);
    void end_request(std::optional<std::uint32_t> chunk, PeerId donor);

    Plan plan_;
    std::map<PeerId, Donor> donors_;
    std::optional<std::vector<Digest>> manifest_;
    std::vector<node::Payload> chunks_;
    std::map<std::optional<std::uint32_t>, Request> open_;
    std::uint32_t received_ = 0;
    std::uint32_t next_chunk_ = 0;
};

}  // namespace swarm::run
