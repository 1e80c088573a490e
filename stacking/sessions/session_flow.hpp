// One session as its client sees it: path, route, tokens, and what to do when a hop fails.
// States: Waiting (a hop has nobody), Opening (SessionOpen is out), Running (rows are out), Done.
// A route that fails for whatever reason is replaced by the next one: open all hops, ask how far
// their caches reach, send what is missing from the nearest place that still has it.
// Invariants: a token is taken once, at the position after the last one; each route makes the
// last call again at every hop, so that the token waited for comes by the path of its own. The
// tokens are a function of (weights, path, codecs, prompt, sampling), never of who served them or
// how: a link's codec is the request's, or what the first peer that opened there chose.
// A member of a stack holds: it keeps what the last hop answers, tells no token and ends no
// request; whoever mixes the members' answers says with which token it goes on.
// Every wait has a deadline: max(1 s, 8 x p99 of its own calls), doubled while nothing comes, and
// `patience` in all. Threading: single strand. Cost: O(hops) per message.
#pragma once

#include "router/session_router.hpp"
#include "stacking/session_compute.hpp"
#include "stacking/sessions/directory_link.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace stacking::sessions {

/// The slowest of the last calls but one in a hundred.
class RecentCalls {
 public:
    void add(swarm::Duration took);
    /// Zero before the first.
    [[nodiscard]] swarm::Duration p99() const;

 private:
    static constexpr std::size_t kKept = 128;

    std::vector<swarm::Duration> times_;
    std::size_t count_ = 0;
};

/// What the sessions of one client with one model share.
struct ClientContext {
    PeerId self;
    swarm::Digest model;
    std::string name;              // for people
    std::uint32_t vocabulary = 0;  // 0: not known
    bool tied = false;             // its first and its last stage both embed and have a head
    swarm::Duration patience = std::chrono::seconds(60);
    LinkBook& links;  // of all models
    const DirectoryLink& directory;
    router::SessionRouter router;
    protocol::Located located{};  // the directory's last word

    [[nodiscard]] std::vector<PeerId> hosts_of(protocol::LayerRange layers) const;
    [[nodiscard]] std::string address_of(PeerId peer) const;
    /// The model's stages, or those of some layers: ranges that follow each other and cover them.
    /// Empty: some layers are served by nobody.
    [[nodiscard]] std::vector<protocol::LayerRange> stages(
        std::optional<protocol::LayerRange> layers = {}
    ) const;
};

class SessionFlow {
 public:
    static constexpr swarm::Duration kSilentLeast = std::chrono::seconds(1);
    static constexpr swarm::Duration kOpenWithin = std::chrono::milliseconds(500);
    static constexpr int kSilentP99 = 8;
    static constexpr int kDoublingsMax = 3;
    /// Complaints of one hop in a row before it is left although it answers.
    static constexpr int kStrikesMax = 3;

    /// What the last hop says of the next token.
    struct Answer {
        std::vector<protocol::TokenScore> top;
        double text_log_probability = 0;  // of the prompt's end, kJudgedTokensMax of it
    };

    /// A model, or a part of one: what the path leads through.
    struct Part {
        ClientContext* context;
        std::optional<protocol::LayerRange> layers{};  // none: all
        bool bridged = false;                          // its first hop reads tokens beside the rows
    };

    /// At least one part; more are a chain. `member`: of an ensemble, and then it holds.
    SessionFlow(
        std::uint64_t session,
        node::SessionRequest request,
        std::vector<Part> parts,
        TimePoint now,
        std::optional<std::uint32_t> member = {}
    );

    /// Goes on where it can; call after every event.
    void advance(node::Turn turn);

    void take(PeerId from, const protocol::SessionOpened& opened, node::Turn turn);
    void take(PeerId from, const protocol::SessionToken& token, node::Turn turn);
    void take(PeerId from, const protocol::SessionTrouble& trouble, node::Turn turn);
    void lost(PeerId peer, node::Lane lane, node::Turn turn);
    void cancel(node::Turn turn);

    /// Of a member: empty while it is waited for.
    [[nodiscard]] const std::optional<Answer>& answer() const { return answer_; }

    /// Why a member is done.
    [[nodiscard]] const std::string& failure() const { return failure_; }

    /// A member that has answered reads this token next.
    void go_on(TokenId token, node::Turn turn);

    [[nodiscard]] TimePoint next_deadline() const;

    [[nodiscard]] bool is_done() const { return phase_ == Phase::Done; }

    /// Some hop has nobody.
    [[nodiscard]] bool is_waiting() const { return phase_ == Phase::Waiting; }

    [[nodiscard]] std::uint64_t request() const { return request_.request; }

 private:
    enum class Phase { Waiting, Opening, Running, Done };

    struct Hop {
        ClientContext* context = nullptr;
        protocol::LayerRange layers;
        std::optional<PeerId> peer;
        std::string address;         // the directory may forget it
        protocol::RowCodec codec{};  // of the rows that leave; once it is known, for good
        router::SessionWork placed{};
        int strikes = 0;
        bool asked = false;
        bool opened = false;
        std::uint32_t filled_upto = 0;
        std::uint32_t kept_from = 0;
    };

    /// A loss that the next token makes good.
    struct Failover {
        std::string reason;
        swarm::Duration detected{};
        TimePoint noticed;
    };

    // session_flow.cpp: tokens
    [[nodiscard]] std::uint32_t known() const { return static_cast<std::uint32_t>(tokens_.size()); }

    [[nodiscard]] std::uint32_t positions() const;
    bool lay_out_path(node::Turn turn);
    bool follow_path(const std::vector<protocol::LayerRange>& stages, node::Turn turn);
    void send_rows(std::uint32_t from, node::Turn turn);
    void send_frame(std::uint32_t position, std::uint32_t end, node::Turn turn);
    void measure(TimePoint now);
    [[nodiscard]] bool is_possible(const protocol::SessionToken& token) const;
    void tell(const protocol::SessionToken& token, node::Turn turn) const;
    void finish(node::Turn turn);
    void fail(std::string reason, node::Turn turn);
    [[nodiscard]] swarm::Duration silent_max() const;

    // session_flow_routes.cpp: who serves the hops
    void new_route(node::Turn turn);
    bool fill_hops(node::Turn turn);
    [[nodiscard]] std::vector<PeerId> neighbours(std::size_t hop) const;
    void open_hops(node::Turn turn);
    void resume(node::Turn turn);
    void note_loss(std::string reason, TimePoint now);
    void leave(Hop& hop, node::Turn turn);
    void leave_failed(std::size_t hop, node::Turn turn);
    void strike(std::size_t hop, node::Turn turn);
    void timed_out(node::Turn turn);
    bool leave_laggard(node::Turn turn);

    std::uint64_t session_;
    node::SessionRequest request_;
    std::vector<Part> parts_;
    ClientContext& context_;  // the last part's, which says the tokens
    Phase phase_ = Phase::Waiting;
    std::vector<Hop> hops_;
    std::uint32_t tokens_upto_ = 0;      // the last hop that reads tokens
    std::vector<std::uint32_t> tokens_;  // prompt, then what was generated
    std::vector<std::uint32_t> calls_;   // first positions of the calls that fill the caches
    std::uint32_t left_ = 0;             // tokens to come
    std::uint32_t route_ = 0;
    int timeouts_ = 0;        // in a row, of tokens
    int openings_ = 0;        // in a row, of routes that did not open
    TimePoint token_since_;   // when the wait for the next token began
    TimePoint sent_at_;       // when the rows of this route left
    TimePoint sign_of_life_;  // the last one
    TimePoint due_ = swarm::kNever;
    bool replaying_ = false;  // this route's first token includes a refill
    RecentCalls recent_;
    std::optional<Failover> failover_;
    std::optional<std::uint32_t> member_;
    std::optional<Answer> answer_;
    std::string failure_;
    std::string trouble_ = "nobody serves the model yet";
};

}  // namespace stacking::sessions
