// The role that owns sessions: it takes requests, finds peers by the directory, streams tokens,
// fails over and cancels. No activation passes through it; it keeps token ids and positions. A
// request for an ensemble has a session at each member, and its tokens come from the mean
// (ensemble_flow). A request for a chain has one session, whose path leads through all members.
// Invariants: each token is told once, in order. Each request ends with its last token, with one
// GenerationFailed, or with its cancellation. Session ids hold the incarnation, so a restarted
// client never meets the caches of its former process.
// Threading: a role, single strand. Bound: kSessionsMax sessions at once.
#pragma once

#include "stacking/sessions/directory_link.hpp"
#include "stacking/sessions/ensemble_flow.hpp"

#include <string>
#include <vector>

namespace stacking::sessions {

class SessionClient final : public node::Role {
 public:
    static constexpr std::size_t kSessionsMax = 64;

    struct Model {
        swarm::Digest digest;
        std::uint32_t vocabulary = 0;  // 0: not known; any token is taken
        bool tied = false;             // embedding and head are one matrix
        std::string name = "the model";
        std::uint32_t layers = 0;            // 0: not known; those that most peers serve are taken
        std::vector<std::string> digests{};  // first digits of the weights that are meant; or any
    };

    struct Options {
        PeerId self;
        swarm::Incarnation incarnation;
        PeerId directory;
        std::string directory_address;
        /// At least one model. The first one serves requests that name no members.
        std::vector<Model> models;
        swarm::Duration patience = std::chrono::seconds(60);  // longest wait for one token
    };

    explicit SessionClient(Options options);

    void on(const node::Event& event, TimePoint now, node::Outbox& out) override;
    [[nodiscard]] TimePoint next_deadline() const override;
    [[nodiscard]] node::Allowance allowance(const PeerId& peer) const override;

    /// The models with the peers that are known to serve them, in the order of the options.
    [[nodiscard]] const std::vector<ClientContext>& models() const { return contexts_; }

 private:
    void handle(const node::LinkUp& up, node::Turn turn);
    void handle(const node::LinkDown& down, node::Turn turn);
    void handle(const node::DialFailed& failed, node::Turn turn);
    void handle(const node::Received& received, node::Turn turn);
    void handle(const node::Asked& asked, node::Turn turn);

    template <class Other>
    void handle(const Other&, node::Turn) {}  // the role stores, loads and computes nothing

    void start(const node::SessionRequest& request, node::Turn turn);
    void start_ensemble(
        const node::SessionRequest& request,
        const std::vector<ClientContext*>& contexts,
        node::Turn turn
    );
    void take(const protocol::Located& located, node::Turn turn);
    ClientContext* context_of(const swarm::Digest& model);
    std::uint64_t next_session();

    Options options_;
    DirectoryLink directory_;
    LinkBook links_;
    std::vector<ClientContext> contexts_;  // one per model, never resized: flows point into it
    EnsembleFlow::Flows flows_;
    std::vector<EnsembleFlow> ensembles_;
    std::uint64_t started_ = 0;
    bool ended_ = false;
};

}  // namespace stacking::sessions
