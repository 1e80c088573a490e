// One session as its client sees it: path, route, tokens, and the reactions to a failed hop.
// States: Waiting (a hop has no peer), Opening (SessionOpen is sent), Running (rows go out), Done.
// A new route replaces a route that failed: SessionFlow opens all hops, asks how far their caches
// reach, and sends the missing rows from the nearest place that still has them.
// Invariants: a token is taken once, at the position after the last one. Each route makes the last
// call again at every hop, so the awaited token comes by the route's own path. The tokens are a
// function of (weights, path, codecs, prompt, sampling), never of peers, failures, guesses or kept
// pages; a link's codec is the request's, or the choice of the first peer that opened there. A
// member of an ensemble holds: it keeps the last hop's answer, tells no token and ends no request;
// go_on() names the token. Every wait has a deadline: max(1 s, 8 x p99 of its own calls), doubled
// while no token comes, and `patience` since progress. Threading: one strand. Cost: O(hops).
#pragma once

#include "router/session_router.hpp"
#include "stacking/session_compute.hpp"
#include "stacking/sessions/directory_link.hpp"
#include "stacking/sessions/guesses.hpp"
#include "stacking/sessions/kept/open_texts.hpp"
#include "stacking/sessions/weight_groups.hpp"

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace stacking::sessions {

/// Times of the last kKept calls.
class RecentCalls {
 public:
    void add(swarm::Duration took);
    /// Time that 99 % of the kept calls did not exceed; zero before the first call.
    [[nodiscard]] swarm::Duration p99() const;

 private:
    static constexpr std::size_t kKept = 128;

    std::vector<swarm::Duration> times_;
    std::size_t count_ = 0;
};

/// State that all sessions of one client with one model have in common.
struct ClientContext {
    PeerId self;
    swarm::Digest model;
    std::string name;                // for people
    std::uint32_t layers_known = 0;  // layers of the client's own copy; 0: it has none
    std::uint32_t vocabulary = 0;    // 0: not known
    bool tied = false;               // first and last stage both have embedding and head
    swarm::Duration patience = std::chrono::seconds(60);
    LinkBook& links;  // one book for all models
    const DirectoryLink& directory;
    router::SessionRouter router;
    WeightGroups groups;
    protocol::Located located{};  // last list of the directory, the peers of the chosen groups
    bool is_located = false;      // the directory has answered
    KeptTexts kept{};             // texts whose pages peers keep
    OpenTexts open{};             // texts of open sessions, which may be shared
    std::uint64_t salt = 0;       // their names depend on it

    [[nodiscard]] std::vector<PeerId> hosts_of(protocol::LayerRange layers) const;
    [[nodiscard]] std::string address_of(PeerId peer) const;
    /// The weights that the peer says it has; nothing: the directory does not list it.
    [[nodiscard]] std::optional<swarm::Digest> weights_of(PeerId peer) const;
    /// Stages of the model, or of some layers: ranges that follow each other and cover the layers.
    /// Empty when no peer serves some of the layers.
    [[nodiscard]] std::vector<protocol::LayerRange> stages(
        std::optional<protocol::LayerRange> layers = {}
    ) const;
};

class SessionFlow {
 public:
    static constexpr swarm::Duration kSilentLeast = std::chrono::seconds(1);
    static constexpr swarm::Duration kOpenWithin = std::chrono::milliseconds(500);
    static constexpr int kSilentP99 = 8;
    /// Least time that is allowed for one row of a prompt or a refill, until it is measured: that
    /// of a slow device's prefill.
    static constexpr swarm::Duration kRowAllowance = std::chrono::milliseconds(20);
    static constexpr int kDoublingsMax = 3;
    /// Number of troubles in a row after which a hop is left although it answers.
    static constexpr int kStrikesMax = 3;
    /// Rows of a prompt or a refill that a hop has read are progress. It counts for so many times
    /// the whole text per token: so a loop of losses, or a liar, ends.
    static constexpr std::uint64_t kReadingsMax = 4;

    /// The last hop's answer about the next token.
    struct Answer {
        std::vector<protocol::TokenScore> top;
        double text_log_probability = 0;  // last kJudgedTokensMax tokens of the prompt
    };

    /// A model, or some of its layers, that the path leads through.
    struct Part {
        ClientContext* context;
        std::optional<protocol::LayerRange> layers{};  // nothing: all layers
        bool bridged = false;                          // the first hop reads tokens and rows
    };

    /// `parts`: at least one; several parts are a chain. `member`: number of the member of an
    /// ensemble; with it the flow holds after each answer.
    SessionFlow(
        std::uint64_t session,
        node::SessionRequest request,
        std::vector<Part> parts,
        TimePoint now,
        std::optional<std::uint32_t> member = {}
    );

    /// Takes every step that is possible now. Call this after every event.
    void advance(node::Turn turn);

    void take(PeerId from, const protocol::SessionOpened& opened, node::Turn turn);
    void take(PeerId from, const protocol::SessionToken& token, node::Turn turn);
    void take(PeerId from, const protocol::SessionTrouble& trouble, node::Turn turn);
    void take(PeerId from, const protocol::SessionLacks& lacks, node::Turn turn);
    void lost(PeerId peer, node::Lane lane, node::Turn turn);
    void cancel(node::Turn turn);

    /// Answer of a member of an ensemble; empty while the flow waits for it.
    [[nodiscard]] const std::optional<Answer>& answer() const { return answer_; }

    /// Why a member of an ensemble failed; empty before.
    [[nodiscard]] const std::string& failure() const { return failure_; }

    /// Makes a member that has answered read this token next.
    void go_on(TokenId token, node::Turn turn);

    [[nodiscard]] TimePoint next_deadline() const;

    [[nodiscard]] bool is_done() const { return phase_ == Phase::Done; }

    /// Whether a hop has no peer.
    [[nodiscard]] bool is_waiting() const { return phase_ == Phase::Waiting && !follows_; }

    [[nodiscard]] std::uint64_t request() const { return request_.request; }

    /// Whether the path is laid out and leads through layers of this model.
    [[nodiscard]] bool goes_through(const ClientContext& context) const;

 private:
    enum class Phase { Waiting, Opening, Running, Done };

    struct Hop {
        ClientContext* context = nullptr;
        protocol::LayerRange layers;
        std::optional<PeerId> peer;
        std::string address;         // kept here, because the directory may forget the peer
        protocol::RowCodec codec{};  // codec of the rows that leave; never changes once known
        router::SessionWork placed{};
        int strikes = 0;
        bool follows = false;  // the peer is that of the session that is waited for
        bool is_new = false;   // the peer was placed after the last resume
        bool asked = false;
        bool opened = false;
        std::uint32_t filled_upto = 0;
        std::uint32_t kept_from = 0;
        std::uint32_t read_upto = 0;         // positions that are read on this route
        std::optional<TimePoint> read_at{};  // time of the last progress; first hop: of the resume
    };

    /// A loss in the middle of a text; the next token ends the failover.
    struct Failover {
        std::string reason;
        swarm::Duration detected{};
        TimePoint noticed;
    };

    /// Whether peers keep the pages of a session that ends.
    enum class Ending { Keep, Forget };

    // session_flow.cpp: path and tokens
    [[nodiscard]] std::uint32_t known() const { return static_cast<std::uint32_t>(tokens_.size()); }

    [[nodiscard]] std::uint32_t positions() const;
    bool lay_out_path(node::Turn turn);
    bool follow_path(const std::vector<protocol::LayerRange>& stages, node::Turn turn);
    void send_rows(std::uint32_t from, node::Turn turn);
    void send_frame(std::uint32_t position, std::uint32_t end, node::Turn turn);
    void measure(TimePoint now);
    [[nodiscard]] bool is_possible(const protocol::SessionToken& token) const;
    void take_tokens(const protocol::SessionToken& token, node::Turn turn);
    bool add(TokenId token, node::Turn turn);
    void ask_for_next(node::Turn turn);
    [[nodiscard]] std::vector<TokenId> guess();
    [[nodiscard]] std::uint32_t right_guesses(const protocol::SessionToken& token) const;
    [[nodiscard]] std::string diagnosis() const;
    void finish(Ending ending, node::Turn turn);
    void fail(std::string reason, node::Turn turn, std::optional<swarm::Duration> retry_after = {});
    [[nodiscard]] swarm::Duration silent_max() const;

    // session_flow_routes.cpp: peers and routes
    void new_route(node::Turn turn);
    bool fill_hops(node::Turn turn);
    [[nodiscard]] std::vector<PeerId> neighbours(std::size_t hop) const;
    void open_hops(node::Turn turn);
    void resume(node::Turn turn);
    void progress(Hop& hop, std::uint32_t filled_upto, node::Turn turn);
    [[nodiscard]] std::uint32_t read_by_all() const;
    void note_loss(std::string reason, TimePoint now);
    void leave(Hop& hop, node::Turn turn, const std::vector<std::uint64_t>& names = {});
    void leave_failed(std::size_t hop, node::Turn turn);
    void strike(std::size_t hop, node::Turn turn);
    void timed_out(node::Turn turn);
    bool leave_laggard(node::Turn turn);

    // kept/session_flow_kept.cpp: what peers have read before
    void name_beginning();
    [[nodiscard]] bool goes_the_way_of(const KeptText& text, bool with_codecs) const;
    [[nodiscard]] bool may_go_to(std::size_t hop, PeerId peer, TimePoint now) const;
    [[nodiscard]] std::size_t hops_at(const KeptText& text, TimePoint now) const;
    [[nodiscard]] std::optional<OpenTexts::Match> worth_waiting(std::size_t pages, TimePoint now)
        const;
    void seek_beginning(node::Turn turn);
    void share(std::uint64_t session, const OpenText& open, node::Turn turn);
    void go_to(const KeptText& text);
    void follow_no_longer();
    void drop_lost_leader(TimePoint now);
    bool waits_for_leader(node::Turn turn);
    [[nodiscard]] std::optional<PeerId> keeper(std::size_t hop, TimePoint now) const;
    [[nodiscard]] std::vector<KeptText::Hop> way() const;
    void note_route();
    void note_read();
    void begin_behind_reused();
    [[nodiscard]] std::vector<std::uint64_t> keep_text(TimePoint now);

    std::uint64_t session_;
    node::SessionRequest request_;
    std::vector<Part> parts_;
    ClientContext& context_;  // last part's context, whose model gives the tokens
    Phase phase_ = Phase::Waiting;
    std::vector<Hop> hops_;
    std::uint32_t tokens_upto_ = 0;      // last hop that reads tokens
    std::vector<std::uint32_t> tokens_;  // prompt, then generated tokens
    std::vector<std::uint32_t> calls_;   // first positions of the calls that fill the caches
    std::uint32_t left_ = 0;             // tokens to come
    std::uint32_t route_ = 0;
    int timeouts_ = 0;            // timeouts of tokens in a row
    int openings_ = 0;            // routes in a row that did not open
    TimePoint token_since_;       // start of the wait for the next token
    TimePoint patient_since_;     // same, or the last progress since then
    std::uint64_t progress_ = 0;  // rows that hops have read while the next token is awaited
    TimePoint sent_at_;           // time at which the last rows left
    TimePoint sign_of_life_;      // time of the last token or resume
    TimePoint due_ = swarm::kNever;
    swarm::Duration row_allowance_ = kRowAllowance;  // time that a row may take at a hop
    bool replaying_ = false;  // the wait for the next token includes a refill
    RecentCalls recent_;
    std::optional<Failover> failover_;
    Guesses guesses_;
    std::vector<TokenId> guessed_;           // guesses of the frame under way
    std::optional<PageNames> names_;         // where peers may keep this text
    std::vector<std::uint64_t> beginning_;   // names of the prompt's pages; none: it is not shared
    std::vector<PeerId> kept_at_;            // by hop, those that have read its beginning
    std::vector<std::uint64_t> kept_names_;  // names of that beginning, as hops know them
    std::optional<std::uint64_t> follows_;   // the session that reads the beginning for this one
    std::optional<std::uint32_t> reused_;    // its positions that no hop had to read
    std::optional<std::uint32_t> member_;
    std::optional<Answer> answer_;
    std::set<std::uint32_t> lacking_{};  // experts that hops go without
    std::string failure_;
    std::string trouble_;  // last reason why no token came; empty: there was none
};

}  // namespace stacking::sessions
