// The hops of sessions at one server. HopTable opens hops, fills their caches, batches rows of
// different sessions into calls of the device, sends the results on, refills the next hop, and ends
// hops.
// Invariants: a cache takes only rows that continue it. Rows of an older route, of a stranger or of
// another session change nothing. Pages are freed by the close, by the TTL, by the first failed
// call, kClientGrace after the end of the client's link, or for another client when there are no
// others (client_quota.hpp).
// Threading: single strand; only device work touches the compute. Bounds: kSessionHopsMax hops; the
// queued and kept rows of a hop lie within the positions reserved for it.
// Cost: O(log hops + bytes) per message; O(hops) for lost links and deadlines.
#pragma once

#include "stacking/composition/bridged_input.hpp"
#include "stacking/logit_changes.hpp"
#include "stacking/row_coding.hpp"
#include "stacking/session_compute.hpp"
#include "stacking/sessions/link_book.hpp"
#include "stacking/sessions/own_rate.hpp"
#include "stacking/sessions/row_lines.hpp"
#include "stacking/sessions/row_log.hpp"
#include "stacking/sessions/told_dials.hpp"
#include "stages/compute/device_queue.hpp"

#include <deque>
#include <map>
#include <memory>
#include <optional>
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
        /// Maximum bytes of sent rows that all sessions keep for refills. A session that does not
        /// fit keeps no rows and is refilled from the tokens.
        std::uint64_t kept_bytes_max = kKeptBytesMax;
        swarm::Duration ttl = kTtl;  // lifetime of a hop that receives no message
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

    void computed(swarm::JobId job, node::Turn turn) { device_.done(job, turn); }

    void linked(PeerId peer, node::Turn turn);
    void lost(PeerId peer, node::Turn turn);
    /// Notes that no link to the peer came up.
    void unreached(PeerId peer);
    // The control link of a peer that may be a client:
    void client_linked(PeerId peer, node::Turn turn);
    void client_lost(PeerId peer, node::Turn turn);
    void wake(node::Turn turn);
    [[nodiscard]] TimePoint next_deadline() const;

    [[nodiscard]] std::size_t hops() const { return hops_.size(); }

    /// The client of a hop is a guest; the peer before or after it is a partner, whom the client
    /// has named. Only the peer before sends rows.
    [[nodiscard]] node::Allowance allowance(const PeerId& peer) const;

    /// Rates that the device has shown; zero before the first call.
    [[nodiscard]] protocol::RowRates rates() const {
        return {prefill_.rows_per_s(), decode_.rows_per_s()};
    }

 private:
    using Key = std::pair<std::uint64_t, std::uint32_t>;  // session, hop

    struct Frame {
        std::uint32_t position = 0;
        std::uint32_t rows = 0;
        bool wanted = false;
        std::vector<TokenId> tokens{};  // one per row at hops that read tokens, else empty
        std::vector<float> values{};    // rows; empty at the first hop
        TimePoint came{};
        std::vector<std::uint32_t> hop_us{};  // times of the hops before this one
    };

    struct Hop {
        PeerId client;
        protocol::SessionOpen open;
        const compression::Codec* codec = nullptr;  // codec of the rows that leave
        CacheId cache;
        RowLog log;
        std::uint64_t kept_bytes = 0;  // part of kept_bytes_max that the log may use
        bool reserved = false;         // the device has reserved the pages
        bool opened = false;           // SessionOpened was sent on this route
        bool begun = false;            // the first position of this route is known
        bool resumed = false;          // the position from which the next hop needs rows is known
        bool troubled = false;         // this route is given up
        bool in_flight = false;        // rows of this hop are on the device
        std::uint64_t begins = 0;      // number of begin() calls; results of earlier ones are void
        std::uint32_t queued_upto = 0;
        std::deque<Frame> queue{};
        std::vector<std::uint32_t> hop_us{};  // times of the last wanted rows, this hop's included
        std::vector<TokenId> text{};          // tokens at positions from 0, where a draw reads them
        std::map<std::uint32_t, double> judged{};  // position -> log-probability of the text so far
        TimePoint told_at{};                       // time of the last SessionOpened
        TimePoint expires{};
        std::uint64_t network = 0;               // the client's
        std::optional<TimePoint> client_gone{};  // since then the client has had no link here
        TimePoint asked_at{};                    // time of this route's SessionOpen
        std::optional<protocol::SessionReason> unreached{};  // said at asked_at + kAnswerAfter
        TimePoint since{};                                   // start of the hop
        std::uint32_t computed = 0;  // rows computed since then; both predict the hop's end

        [[nodiscard]] bool is_last() const { return open.id.hop + 1 == open.hops; }

        [[nodiscard]] bool takes_tokens() const { return open.id.hop <= open.tokens_upto; }

        [[nodiscard]] bool passes_tokens() const { return open.id.hop < open.tokens_upto; }
    };

    using Hops = std::map<Key, Hop>;

    /// The unit in which the room of hops is counted.
    enum class Room { Positions, Hops };

    /// A token of the text that the client wants judged, and the row before it.
    struct Judged {
        std::uint32_t row = 0;  // index in the frame
        TokenId token = 0;
        double log_probability = 0;  // result
    };

    /// One frame of a device call, and its results.
    struct Piece {
        Key key;
        CacheId cache;
        std::uint64_t begins = 0;
        Frame frame;
        bool is_last = false;
        const compression::Codec* codec = nullptr;  // codec of the rows that leave
        double exit_threshold = 2;
        std::uint32_t top = 0;                      // number of candidates to find
        std::vector<Judged> judged{};               // last hop only
        LogitChanges changes{};                     // to the row whose token is wanted
        bool spoiled = false;                       // result: rows or logits are no numbers
        std::vector<std::byte> coded{};             // result: the rows that leave
        std::vector<protocol::TokenScore> found{};  // result; empty: not asked for, or not finite
    };

    struct Call {
        std::vector<Piece> pieces;
        bool failed = false;
        std::uint32_t rows = 0;  // rows of all pieces
        TimePoint begun{};
    };

    // hop_table.cpp: the life of a hop
    [[nodiscard]] bool fits(const protocol::SessionOpen& open) const;
    [[nodiscard]] bool fits_the_place(const protocol::SessionOpen& open) const;
    void add(PeerId from, const protocol::SessionOpen& open, node::Turn turn);
    [[nodiscard]] const compression::Codec& codec_for(
        const protocol::SessionOpen& open, TimePoint now
    );
    void reserve(Key key, Hop& hop, node::Turn turn);
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
    std::optional<Frame> read(
        const Hop& hop, const protocol::SessionRows& rows, const node::Payload& payload
    ) const;
    void make_ready(Key key, const Hop& hop);
    std::vector<Judged> to_judge(const Hop& hop, const Frame& frame) const;
    [[nodiscard]] static LogitChanges changes_of(Hop& hop, const Frame& frame);
    void call_device(node::Turn turn);
    [[nodiscard]] Call next_call();
    static void run(SessionCompute& compute, const composition::BridgedInput* bridge, Call& call);
    static void split(std::span<const float> outputs, SessionCompute& compute, Call& call);
    static std::vector<std::uint32_t> logit_rows(const Piece& piece, const StageShape& shape);
    static void judge(Piece& piece, std::span<const float> logits, std::uint32_t vocabulary);
    void finish(Call& call, node::Turn turn);
    void finish(Piece& piece, node::Turn turn);
    void tell_token(const Hop& hop, const Piece& piece, node::Turn turn) const;
    void pump(Hop& hop, node::Turn turn);

    Options options_;
    LinkBook& links_;
    RowLines lines_;
    ToldDials told_dials_;
    StageShape shape_;
    stages::DeviceQueue device_;
    Hops hops_;
    std::deque<Key> ready_;  // hops with queued rows and none on the device, each once
    bool device_busy_ = false;
    std::uint64_t caches_ = 0;
    std::uint64_t kept_bytes_ = 0;
    OwnRate prefill_;
    OwnRate decode_;
};

}  // namespace stacking::sessions
