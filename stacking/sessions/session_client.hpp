// The role that owns sessions: takes requests, finds peers by the directory, streams tokens, fails
// over, cancels. No activation passes through it: it keeps token ids and positions.
// Invariants: each token is told once, in order; each request ends with its last token, one
// GenerationFailed, or its cancellation. Session ids hold the incarnation, so a restarted client
// never meets caches of its former self.
// Threading: a role, single strand. Bound: kRequestsMax sessions at once.
#pragma once

#include "stacking/sessions/directory_link.hpp"
#include "stacking/sessions/session_flow.hpp"

#include <map>
#include <string>

namespace stacking::sessions {

class SessionClient final : public node::Role {
 public:
    static constexpr std::size_t kRequestsMax = 64;

    struct Options {
        PeerId self;
        swarm::Incarnation incarnation;
        PeerId directory;
        std::string directory_address;
        swarm::Digest model;
        std::uint32_t vocabulary = 0;  // of the model; 0: not known, any token is taken
        swarm::Duration patience = std::chrono::seconds(60);  // for one token
    };

    explicit SessionClient(Options options);

    void on(const node::Event& event, TimePoint now, node::Outbox& out) override;
    [[nodiscard]] TimePoint next_deadline() const override;

 private:
    using Flows = std::map<std::uint64_t, SessionFlow>;  // by session

    void handle(const node::LinkUp& up, node::Turn turn);
    void handle(const node::LinkDown& down, node::Turn turn);
    void handle(const node::DialFailed& failed, node::Turn turn);
    void handle(const node::Received& received, node::Turn turn);
    void handle(const node::Asked& asked, node::Turn turn);

    template <class Other>
    void handle(const Other&, node::Turn) {}  // it stores, loads and computes nothing

    void start(const node::SessionRequest& request, node::Turn turn);

    Options options_;
    DirectoryLink directory_;
    ClientContext context_;
    Flows flows_;
    std::uint64_t started_ = 0;
    bool ended_ = false;
};

}  // namespace stacking::sessions
