// Downloads one stage's state: manifest first, then 1 MiB chunks from several donors at once, each
// unpacked and checked by its hash. Used by joiners and by the coordinator for checkpoints.
// Invariants: at most kOpenFetchesMax requests open per donor; a chunk with a wrong hash, or that
// does not unpack to its size, is dropped and its donor used no more; nothing is kept that the
// manifest does not name. The manifest is that of the first donor that has one. A donor whose link
// is down is asked nothing, and forgotten when it stays down, or silent, for kAnswerWithin per
// donor: all of them share our line.
// Threading: single strand. Cost: one pass of byte planes (state_chunk.hpp) and SHA-256 each.
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
    /// For good.
    void donor_lost(PeerId donor, node::Turn turn);
    /// Others are asked for what it owes; it may come back.
    void link_down(PeerId donor, node::Turn turn);
    /// What it was asked before may never have reached it.
    void link_up(PeerId donor, node::Turn turn);

    [[nodiscard]] Outcome outcome() const;
    [[nodiscard]] TimePoint next_deadline() const;

    [[nodiscard]] const Plan& plan() const { return plan_; }

    /// SHA-256 over the manifest; of a complete download.
    [[nodiscard]] Digest state_hash() const;

    /// In order; once, after Complete.
    std::vector<node::Payload> take_chunks() { return std::move(chunks_); }

    [[nodiscard]] std::uint32_t received() const { return received_; }

    [[nodiscard]] std::vector<PeerId> donors() const;

 private:
    struct Donor {
        std::uint32_t open = 0;  // requests for chunks
        TimePoint not_before = kAtOnce;
        TimePoint silent_since = kNever;  // while it owes an answer, or its link
        std::uint32_t refusals = 0;
        bool is_known = false;  // it has answered
        bool is_down = false;
    };

    void ask_for_manifest(node::Turn turn);
    void ask_for_chunks(node::Turn turn);
    void take_manifest(PeerId from, std::span<const std::byte> bytes);
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
    std::map<std::uint32_t, PeerId> open_;  // by chunk: who was asked for it
    std::uint32_t received_ = 0;
    std::uint32_t next_chunk_ = 0;
};

}  // namespace swarm::run
