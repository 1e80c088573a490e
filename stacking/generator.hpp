// The role behind `swarm generate`: continues prompts with a run's own members. It learns the run
// and its roster from the coordinator, asks a member of the first stage for the likeliest next
// tokens of the window (answered hop by hop, stages/inference_relay), samples, reports, goes on.
// Invariants: each token is reported once, in order; each request ends with its last token or one
// GenerationFailed; the tokens depend on (weights, prompt, temperature, seed) alone, never on who
// answered or how often it was asked. The coordinator may go away: the last roster stays in use.
// Threading: a role, single strand. Bounds: kRequestsMax requests; one question a token at a time,
// repeated after kAnswerWithin, and `patience` in all.
#pragma once

#include "stacking/head_links.hpp"
#include "stacking/run_view.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace stacking {

class Generator final : public node::Role {
 public:
    static constexpr std::size_t kRequestsMax = 64;
    static constexpr swarm::Duration kAnswerWithin = std::chrono::seconds(5);

    struct Options {
        PeerId coordinator{};             // all zero: whoever answers at the address
        std::string coordinator_address;  // host:port
        /// How long the coordinator may be out of reach before the first contact; 0: for ever.
        swarm::Duration first_contact_within{};
        /// The run must have this tokenizer (run.tokenizer_sha256); empty: tokens are bytes.
        std::string tokenizer_sha256;
        /// How long one token may take, the wait for the roster included.
        swarm::Duration patience = std::chrono::seconds(60);
    };

    explicit Generator(Options options);

    void on(const node::Event& event, TimePoint now, node::Outbox& out) override;
    [[nodiscard]] TimePoint next_deadline() const override;

 private:
    struct Session {
        node::GenerateRequest request;
        std::vector<std::uint32_t> tokens;      // prompt, then what was generated
        std::uint32_t left = 0;                 // tokens to come
        TimePoint token_since;                  // when the wait for the next one began
        std::map<std::uint64_t, PeerId> asked;  // for the next token; late answers count too
        std::uint64_t latest = 0;               // of `asked`; 0: nobody is being waited for
        TimePoint answer_due = swarm::kNever;
        std::string trouble;  // the last one
    };

    using Sessions = std::map<std::uint64_t, Session>;  // by order of arrival

    void handle(const node::LinkUp& up, node::Turn turn);
    void handle(const node::LinkDown& down, node::Turn turn);
    void handle(const node::DialFailed& failed, node::Turn turn);
    void handle(const node::Received& received, node::Turn turn);
    void handle(const node::Woke&, node::Turn turn);
    void handle(const node::Asked& asked, node::Turn turn);

    template <class Other>
    void handle(const Other&, node::Turn) {}  // it stores, loads and computes nothing

    void start(const node::GenerateRequest& request, node::Turn turn);
    void take(PeerId from, const protocol::Inferred& inferred, node::Turn turn);
    void add_token(Sessions::iterator at, std::uint32_t token, node::Turn turn);
    void ask_again(Session& session, std::string trouble);
    /// False: the prompt's tokens are not the run's; it has ended then.
    bool check_tokenizer(node::Turn turn);
    void advance(node::Turn turn);
    void ask(Session& session, node::Turn turn);
    void give_up_late(node::Turn turn);
    [[nodiscard]] bool is_usable(const protocol::Inferred& inferred) const;

    Options options_;
    RunView view_;
    HeadLinks heads_;
    Sessions sessions_;
    std::uint64_t arrivals_ = 0;
    std::uint64_t questions_ = 0;
    TimePoint give_up_at_ = swarm::kNever;
    bool started_ = false;
    bool ended_ = false;
};

}  // namespace stacking
