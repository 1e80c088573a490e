// The role behind `swarm generate`: continues prompts with the peers of a run that trains. It
// learns the run and its roster from the coordinator and asks a member of the first stage for the
// likeliest next tokens of the window, which stages/server/inference_relay answers hop by hop. It
// samples the token, reports it and goes on.
// Invariants: each token is reported once, in order. Each request ends with its last token or with
// one GenerationFailed. The tokens depend on (weights, prompt, temperature, seed) alone, never on
// the peer that answered or on the number of questions. Without the coordinator the last roster
// stays in use.
// Threading: a role, single strand. Bounds: kRequestsMax requests. Each request has one question
// open, which is repeated after kAnswerWithin; one token may take `patience` in all.
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
        PeerId coordinator{};             // all zero: any peer that answers at the address
        std::string coordinator_address;  // host:port
        /// Longest time without a first contact with the coordinator; 0: no limit.
        swarm::Duration first_contact_within{};
        /// Tokenizer that the run must have (run.tokenizer_sha256); empty: tokens are bytes.
        /// nullopt: the role fetches the run's own tokenizer and tells it (TokenizerKnown); the
        /// prompts follow.
        std::optional<std::string> tokenizer_sha256 = std::string();
        /// Longest time that the tokenizer may take, and that one token may take, the wait for the
        /// roster included.
        swarm::Duration patience = std::chrono::seconds(60);
    };

    explicit Generator(Options options);

    void on(const node::Event& event, TimePoint now, node::Outbox& out) override;
    [[nodiscard]] TimePoint next_deadline() const override;
    [[nodiscard]] node::Allowance allowance(const PeerId& peer) const override;

 private:
    /// A request that has not ended.
    struct Generation {
        node::GenerateRequest request;
        std::vector<std::uint32_t> tokens;      // prompt, then generated tokens
        std::uint32_t left = 0;                 // tokens to come
        TimePoint token_since;                  // start of the wait for the next token
        std::map<std::uint64_t, PeerId> asked;  // questions for the next token; late answers count
        std::uint64_t latest = 0;               // last entry of `asked`; 0: no question is open
        TimePoint answer_due = swarm::kNever;
        std::string trouble;  // last reason why no token came
    };

    using Generations = std::map<std::uint64_t, Generation>;  // by order of arrival

    void handle(const node::LinkUp& up, node::Turn turn);
    void handle(const node::LinkDown& down, node::Turn turn);
    void handle(const node::DialFailed& failed, node::Turn turn);
    void handle(const node::Received& received, node::Turn turn);
    void handle(const node::Woke&, node::Turn turn);
    void handle(const node::Asked& asked, node::Turn turn);

    template <class Other>
    void handle(const Other&, node::Turn) {}  // the role stores, loads and computes nothing

    void start(const node::GenerateRequest& request, node::Turn turn);
    void take(PeerId from, const protocol::Inferred& inferred, node::Turn turn);
    void add_token(Generations::iterator at, std::uint32_t token, node::Turn turn);
    void ask_again(Generation& generation, std::string trouble);
    /// Returns false and ends the role when the prompts' tokens are not those of the run.
    bool check_tokenizer(node::Turn turn);
    /// Returns true when the tokenizer was told; ends the role when it cannot be had.
    bool tell_tokenizer(node::Turn turn);
    void end(int exit_code, std::string text, node::Turn turn);
    void advance(node::Turn turn);
    void ask(Generation& generation, node::Turn turn);
    void give_up_late(node::Turn turn);
    [[nodiscard]] bool is_usable(const protocol::Inferred& inferred) const;

    Options options_;
    RunView view_;
    HeadLinks heads_;
    Generations generations_;
    std::uint64_t arrivals_ = 0;
    std::uint64_t questions_ = 0;
    TimePoint give_up_at_ = swarm::kNever;
    TimePoint tokenizer_due_ = swarm::kNever;  // end of the wait for the run's tokenizer
    bool tokenizer_told_ = false;
    bool started_ = false;
    bool ended_ = false;
};

}  // namespace stacking
