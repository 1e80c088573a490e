// The hops of sessions at one server: opens them, fills their caches, batches rows of different
// sessions into calls of the device, sends on what comes out, refills the next hop, ends them.
// Invariants: a cache takes only rows that continue it; rows of an older route, of a stranger or of
// another session change nothing; pages go with the close, the TTL, or the first failed call.
// Threading: single strand; the compute is touched by device work only. Bounds: kSessionHopsMax
// hops; queued rows and kept rows lie within the positions reserved for their hop.
// Cost: O(log hops + bytes) per message; lost links and deadlines O(hops).
#pragma once

#include "stacking/row_coding.hpp"
#include "stacking/session_compute.hpp"
#include "stacking/sessions/link_book.hpp"
#include "stacking/sessions/own_rate.hpp"
#include "stacking/sessions/row_lines.hpp"
#include "stacking/sessions/row_log.hpp"
#include "stacking/stack/bridged_input.hpp"
#include "stages/device_queue.hpp"

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace stacking::sessions {

/// What a peer hosts.
struct HostedLayers {
    swarm::Digest model;
    std::uint32_t layers = 0;  // of the whole model
    protocol::LayerRange hosted;
    swarm::Digest weights;
};

class HopTable {
 public:
    static constexpr std::uint64_t kKeptBytesMax = 256ULL << 20;
    static constexpr swarm::Duration kTtl = std::chrono::minutes(5);

    struct Options {
        PeerId self;
        HostedLayers host;
        std::shared_ptr<SessionCompute> compute;
        /// In front of the layers; then they take rows with tokens, and nothing else.
        std::shared_ptr<const stack::BridgedInput> bridge{};
        /// Sent rows that are kept for refills, of all sessions; a session that does not fit keeps
        /// none, and is refilled from the tokens.
        std::uint64_t kept_bytes_max = kKeptBytesMax;
        swarm::Duration ttl = kTtl;  // of a hop that nobody speaks to
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
    void wake(node::Turn turn);
    [[nodiscard]] TimePoint next_deadline() const;

    [[nodiscard]] std::size_t hops() const { return hops_.size(); }

    /// As the device has shown them; zero before the first call.
    [[nodiscard]] protocol::RowRates rates() const {
        return {prefill_.rows_per_s(), decode_.rows_per_s()};
    }

 private:
    using Key = std::pair<std::uint64_t, std::uint32_t>;  // session, hop

    struct Frame {
        std::uint32_t position = 0;
        std::uint32_t rows = 0;
        bool wanted = false;
        std::vector<TokenId> tokens{};  // as far as they travel
        std::vector<float> values{};    // but at the first hop
        TimePoint came{};
        std::vector<std::uint32_t> hop_us{};  // of the hops before
    };

    struct Hop {
        PeerId client;
        protocol::SessionOpen open;
        const compression::Codec* codec = nullptr;  // of the rows that leave
        CacheId cache;
        RowLog log;
        std::uint64_t kept_bytes = 0;  // of the budget
        bool reserved = false;
        bool opened = false;    // SessionOpened was sent on this route
        bool begun = false;     // this route's first position is known
        bool resumed = false;   // the next hop's, too
        bool troubled = false;  // this route is given up
        bool in_flight = false;
        std::uint64_t begins = 0;  // what was computed before the last one is void
        std::uint32_t queued_upto = 0;
        std::deque<Frame> queue{};
        std::vector<std::uint32_t> hop_us{};       // of the last wanted rows, this hop's among them
        std::map<std::uint32_t, double> judged{};  // by position: of the text up to its token
        TimePoint expires{};
        TimePoint since{};  // and rows computed from then on: when will it end?
        std::uint32_t computed = 0;

        [[nodiscard]] bool is_last() const { return open.id.hop + 1 == open.hops; }

        [[nodiscard]] bool takes_tokens() const { return open.id.hop <= open.tokens_upto; }

        [[nodiscard]] bool passes_tokens() const { return open.id.hop < open.tokens_upto; }
    };

    using Hops = std::map<Key, Hop>;

    /// A token of the text that the client wants judged, and the row that it follows.
    struct Judged {
        std::uint32_t row = 0;  // of the frame
        TokenId token = 0;
        double log_probability = 0;  // out
    };

    /// One frame of a device call, and what came of it.
    struct Piece {
        Key key;
        CacheId cache;
        std::uint64_t begins = 0;
        Frame frame;
        bool is_last = false;
        const compression::Codec* codec = nullptr;  // of what leaves
        double exit_threshold = 2;
        std::uint32_t top = 0;                      // candidates to find
        std::vector<Judged> judged{};               // at the last hop
        bool spoiled = false;                       // rows or logits that are no numbers
        std::vector<std::byte> coded{};             // out, the rows
        std::vector<protocol::TokenScore> found{};  // empty: not asked for, or not finite
    };

    struct Call {
        std::vector<Piece> pieces;
        bool failed = false;
        std::uint32_t rows = 0;  // of all pieces
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
    void see_to_links(const Hop& hop, node::Turn turn);
    void answer_if_ready(Hop& hop, node::Turn turn);
    void remove(Hops::iterator at, node::Turn turn);
    void give_up(Hop& hop, protocol::SessionReason reason, node::Turn turn);
    [[nodiscard]] std::uint32_t wait_ms(TimePoint now) const;
    [[nodiscard]] bool reaches(const Hop& hop) const;
    Hops::iterator find(const protocol::HopId& id, PeerId client);

    // hop_rows.cpp: rows in, through the device, and out
    static void begin(Hop& hop, std::uint32_t position);
    std::optional<Frame> read(
        const Hop& hop, const protocol::SessionRows& rows, const node::Payload& payload
    ) const;
    void make_ready(Key key, const Hop& hop);
    std::vector<Judged> to_judge(const Hop& hop, const Frame& frame) const;
    void call_device(node::Turn turn);
    [[nodiscard]] Call next_call();
    static void run(SessionCompute& compute, const stack::BridgedInput* bridge, Call& call);
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
    StageShape shape_;
    stages::DeviceQueue device_;
    Hops hops_;
    std::deque<Key> ready_;  // each once: has rows queued and none on the device
    bool device_busy_ = false;
    std::uint64_t caches_ = 0;
    std::uint64_t kept_bytes_ = 0;
    OwnRate prefill_;
    OwnRate decode_;
};

}  // namespace stacking::sessions
