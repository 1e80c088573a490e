// The hops of sessions at one server. HopTable opens hops, fills their caches, batches rows of
// different sessions into calls of the device, sends the results on, refills the next hop, and ends
// hops.
// Invariants: a cache takes only rows that continue it. Rows of an older route, of a stranger or of
// another session change nothing. Pages are freed or kept (kept/kept_caches.hpp) by the close; they
// are freed by the TTL, by the first failed call, kClientGrace after the end of the client's link,
// or for another client when there are no others (client_quota.hpp).
// Threading: single strand; only device work touches the compute. Bounds: kSessionHopsMax hops; the
// queued and kept rows of a hop lie within the positions reserved for it.
// Cost: O(log hops + bytes) per message; O(hops) for lost links and deadlines.
#pragma once

#include "stacking/row_coding.hpp"
#include "stacking/sessions/calls/own_rate.hpp"
#include "stacking/sessions/calls/row_price.hpp"
#include "stacking/sessions/calls/token_gather.hpp"
#include "stacking/sessions/device_call.hpp"
#include "stacking/sessions/experts/expert_calls.hpp"
#include "stacking/sessions/kept/kept_caches.hpp"
#include "stacking/sessions/link_book.hpp"
#include "stacking/sessions/row_lines.hpp"
#include "stacking/sessions/row_log.hpp"
#include "stacking/sessions/told_dials.hpp"
#include "stages/compute/device_queue.hpp"

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace stacking::sessions {

/// The layers that a peer hosts.
struct HostedLayers {
    swarm::Digest model;
    std::uint32_t layers = 0;  // number of layers of the whole model
    protocol::LayerRange hosted;
    swarm::Digest weights;
};

class HopTable {
 public:
    static constexpr std::uint64_t kKeptBytesMax = 256ULL << 20;
    static constexpr swarm::Duration kTtl = std::chrono::minutes(5);
    /// A hop that reads a prompt or a refill tells the client how far it is, at most this often.
    static constexpr swarm::Duration kTellProgressEvery = std::chrono::milliseconds(500);

    struct Options {
        PeerId self;
        HostedLayers host;
        std::shared_ptr<SessionCompute> compute;
        /// Bridge in front of the layers; with it they take only rows with tokens.
        std::shared_ptr<const composition::BridgedInput> bridge{};
        /// The compute, where it lacks experts of its layers; null: it lacks none.
        std::shared_ptr<ExpertTrunk> trunk{};
        ExpertSet lacking{};
        swarm::Digest expert_weights{};  // the digest by which lenders are asked
        /// Maximum bytes of sent rows that all sessions keep for refills. A session that does not
        /// fit keeps no rows and is refilled from the tokens.
        std::uint64_t kept_bytes_max = kKeptBytesMax;
        swarm::Duration ttl = kTtl;  // lifetime of a hop that receives no message
        /// How long the pages of a session that has ended are kept for the next one; 0: not at all.
        swarm::Duration keeps_for = KeptCaches::kTtl;
    };

    HopTable(Options options, LinkBook& links);

    void take(PeerId from, const protocol::SessionOpen& open, node::Turn turn);
    void take(PeerId from, const protocol::SessionResume& resume, node::Turn turn);
    void take(
        PeerId from,
        const protocol::SessionRows& rows,
        const node::Payload& payload,
        node::Turn turn
    );

    void take(PeerId from, const protocol::SessionTaken& taken, node::Turn turn) {
        lines_.taken(from, taken, turn.now);
    }

    void take(PeerId from, const protocol::SessionTrouble& trouble, node::Turn turn);
    void take(PeerId from, const protocol::SessionClose& close, node::Turn turn);
    void take(PeerId from, const protocol::SessionShare& share, node::Turn turn);

    void computed(swarm::JobId job, node::Turn turn) { device_.done(job, turn); }

    // hop_table_experts.cpp: the answers of lenders, and the directory's list of them
    void take(
        PeerId from,
        const protocol::ExpertOutputs& outputs,
        const node::Payload& payload,
        node::Turn turn
    );
    void take(PeerId from, const protocol::ExpertRefused& refused, node::Turn turn);
    void take(const protocol::Located& located, node::Turn turn);

    /// Whether experts of these layers are elsewhere, and whether a call waits for a lender.
    [[nodiscard]] bool lacks_experts() const { return experts_.has_value(); }

    [[nodiscard]] bool waits_for_lender() const { return experts_ && experts_->is_waiting(); }

    void linked(PeerId peer, node::Turn turn);
    void lost(PeerId peer, node::Turn turn);
    /// Notes that no link to the peer came up.
    void unreached(PeerId peer, node::Turn turn);
    // The control link of a peer that may be a client:
    void client_linked(PeerId peer, node::Turn turn);
    void client_lost(PeerId peer, node::Turn turn);
    void wake(node::Turn turn);
    [[nodiscard]] TimePoint next_deadline() const;

    [[nodiscard]] std::size_t hops() const { return hops_.size(); }

    /// Number of texts whose pages are kept for others.
    [[nodiscard]] std::size_t kept() const { return kept_.size(); }

    /// The client of a hop is a guest; the peer before or after it is a partner, whom the client
    /// has named. Only the peer before sends rows.
    [[nodiscard]] node::Allowance allowance(const PeerId& peer) const;

    /// Rates that the device has shown; zero before the first call.
    [[nodiscard]] protocol::RowRates rates() const {
        return {prefill_.rows_per_s(), decode_.rows_per_s()};
    }

 private:
    using Key = std::pair<std::uint64_t, std::uint32_t>;  // session, hop

    struct Hop {
        PeerId client;
        protocol::SessionOpen open;
        const compression::Codec* codec = nullptr;  // codec of the rows that leave
        CacheId cache;
        RowLog log;
        std::uint64_t kept_bytes = 0;          // part of kept_bytes_max that the log may use
        std::optional<CacheId> begins_with{};  // kept cache whose first pages this one shares
        std::uint32_t shared = 0;        // positions of pages of others too, which nobody may cut
        std::optional<CacheId> lends{};  // kept cache with the first pages of this one
        bool reserved = false;                 // the device has reserved the pages
        bool opened = false;                   // SessionOpened was sent on this route
        bool begun = false;                    // the first position of this route is known
        bool resumed = false;      // the position from which the next hop needs rows is known
        bool troubled = false;     // this route is given up
        bool in_flight = false;    // rows of this hop are on the device
        std::uint32_t in_flight_from = 0;  // position of the first one
        std::uint64_t begins = 0;  // number of begin() calls; results of earlier ones are void
        std::uint32_t queued_upto = 0;
        std::uint32_t guessed = 0;  // last of these rows that are guesses
        std::deque<RowFrame> queue{};
        std::vector<std::uint32_t> hop_us{};  // times of the last wanted rows, this hop's included
        std::uint32_t guess_us = 0;           // prices of a guess, this hop's included
        std::vector<TokenId> text{};          // tokens at positions from 0, where a draw reads them
        std::map<std::uint32_t, double> judged{};  // position -> log-probability of the text so far
        TimePoint told_at{};                       // time of the last SessionOpened
        TokenGather::Returns returns{};
        TimePoint expires{};
        std::uint64_t network = 0;               // the client's
        std::optional<TimePoint> client_gone{};  // since then the client has had no link here
        TimePoint asked_at{};                    // time of this route's SessionOpen
        std::optional<protocol::SessionReason> unreached{};  // said at asked_at + kAnswerAfter
        TimePoint since{};                                   // start of the hop
        std::uint32_t computed = 0;  // rows computed since then; both predict the hop's end
        LackingExperts lacking{};    // experts that this session goes without

        [[nodiscard]] bool is_last() const { return open.id.hop + 1 == open.hops; }

        [[nodiscard]] bool takes_tokens() const { return open.id.hop <= open.tokens_upto; }

        [[nodiscard]] bool passes_tokens() const { return open.id.hop < open.tokens_upto; }
    };

    using Hops = std::map<Key, Hop>;

    /// The unit in which the room of hops is counted.
    enum class Room { Positions, Hops };

    // hop_table.cpp: the life of a hop
    [[nodiscard]] bool fits(const protocol::SessionOpen& open) const;
    [[nodiscard]] bool fits_the_place(const protocol::SessionOpen& open) const;
    void add(PeerId from, const protocol::SessionOpen& open, node::Turn turn);
    [[nodiscard]] const compression::Codec& codec_for(
        const protocol::SessionOpen& open, TimePoint now
    );
    void reserve(Key key, Hop& hop, node::Turn turn);

    // hop_table_kept.cpp: pages that outlive their sessions
    void begin_with_kept(Hop& hop, std::span<const std::uint64_t> names);
    static void begin_empty(Hop& hop);
    [[nodiscard]] std::size_t pages_to_keep(const Hop& hop, std::span<const std::uint64_t> names)
        const;
    bool keep(Hops::iterator at, std::span<const std::uint64_t> names, node::Turn turn);
    void lend(Hop& hop, std::span<const std::uint64_t> names, node::Turn turn);
    bool make_room_for_rows(std::uint64_t bytes, node::Turn turn);
    void drop(const KeptCaches::Kept& kept, node::Turn turn);
    bool drop_superfluous(Hop& hop, node::Turn turn);
    void see_to_links(Hop& hop, node::Turn turn);
    void answer_if_ready(Hop& hop, node::Turn turn);
    static void tell_opened(Hop& hop, node::Turn turn);
    void remove(Hops::iterator at, node::Turn turn);
    void give_up(Hop& hop, protocol::SessionReason reason, node::Turn turn);
    [[nodiscard]] std::uint32_t wait_ms(TimePoint now) const;
    [[nodiscard]] bool reaches(const Hop& hop) const;
    [[nodiscard]] TimePoint end_of(const Hop& hop) const;
    bool make_room(PeerId client, std::uint64_t session, std::uint64_t room, Room of, node::Turn);
    Hops::iterator find(const protocol::HopId& id, PeerId client);

    // hop_table_rows.cpp: rows in, through the device, and out
    static void begin(Hop& hop, std::uint32_t position);
    [[nodiscard]] static bool continues(const Hop& hop, const protocol::SessionRows& rows);
    std::optional<RowFrame> read(
        const Hop& hop, const protocol::SessionRows& rows, const node::Payload& payload
    ) const;
    void make_ready(Key key, const Hop& hop);
    [[nodiscard]] TimePoint gathered_at() const;
    std::vector<Judged> to_judge(const Hop& hop, const RowFrame& frame) const;
    [[nodiscard]] static std::vector<LogitChanges> changes_of(Hop& hop, const RowFrame& frame);
    void call_device(node::Turn turn);
    [[nodiscard]] DeviceCall next_call();
    [[nodiscard]] CallPiece next_piece(Key key, Hop& hop) const;
    void finish(DeviceCall& call, node::Turn turn);
    void finish(CallPiece& piece, std::size_t texts, node::Turn turn);
    void tell_token(const Hop& hop, const CallPiece& piece, node::Turn turn) const;
    void pump(Hop& hop, node::Turn turn);

    // hop_table_experts.cpp: a call that stops where experts are elsewhere
    void begin_walk(std::shared_ptr<DeviceCall> call, node::Turn turn);
    void walk(std::shared_ptr<DeviceCall> call, node::Turn turn);
    void walk_on(node::Turn turn);
    void leave_out(DeviceCall& call, const ExpertVisit& visit, node::Turn turn);

    Options options_;
    LinkBook& links_;
    RowLines lines_;
    ToldDials told_dials_;
    StageShape shape_;
    stages::DeviceQueue device_;
    Hops hops_;
    KeptCaches kept_;
    std::deque<Key> ready_;  // hops with queued rows and none on the device, each once
    bool device_busy_ = false;
    bool has_read_ = false;                       // the call before was one of texts that are read
    std::optional<ExpertCalls> experts_;          // nothing: no experts are elsewhere
    std::shared_ptr<DeviceCall> waiting_call_{};  // waits for experts
    std::set<std::uint32_t> told_absent_{};       // experts whose absence was logged
    TokenGather gather_;
    std::uint64_t caches_ = 0;
    std::uint64_t kept_bytes_ = 0;
    OwnRate prefill_;
    OwnRate decode_;
    RowPrice price_;
};

}  // namespace stacking::sessions
