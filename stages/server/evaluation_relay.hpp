// A stage server's part in an evaluation of the run: it computes the forward of its layers on
// held-out tokens and passes the activation up. The tail answers with the mean loss, and answers
// walk back the way the request came. Nothing here enters a ledger, a sum or a kept graph.
// Invariants: every request that was taken is answered once, by a loss or by a refusal. A loss is
// that of the version that the request names, uncoded and in fp32, whoever computes it.
// Threading: single strand. Bounds: kEvaluationsMax requests at once, 30 s for each.
// Shapes: tokens B x (T + 1); activations (B, T, C) fp32. Errors: a refusal; the coordinator asks
// again. Source: step protocol, section 4.
#pragma once

#include "stages/server/open_requests.hpp"
#include "stages/server/server_context.hpp"
#include "swarm/protocol/limits.hpp"

#include <optional>

namespace stages {

class EvaluationRelay {
 public:
    explicit EvaluationRelay(ServerContext& context) : context_(context) {}

    /// Takes a request of the coordinator, or at a later stage that of a peer of the stage below,
    /// or refuses it. `next` is the peer above that is to go on; the tail ignores it.
    void take(
        PeerId from,
        const protocol::Evaluate& evaluate,
        node::Payload input,
        std::optional<PeerId> next,
        node::Turn turn
    );
    /// Passes an answer of the peer above on to the peer that asked.
    void on(PeerId from, const protocol::Evaluated& evaluated, node::Turn turn);
    /// Refuses all requests that were passed up to this peer.
    void peer_lost(PeerId peer, node::Turn turn);
    /// Refuses all requests that are overdue.
    void wake(node::Turn turn);
    [[nodiscard]] TimePoint next_deadline() const;

 private:
    [[nodiscard]] bool may_ask(PeerId from) const;
    [[nodiscard]] bool can_compute(const protocol::Evaluate& evaluate) const;
    void compute_loss(
        std::uint64_t own, const protocol::Evaluate& evaluate, node::Payload input, node::Turn turn
    );
    void compute_forward(
        std::uint64_t own, const protocol::Evaluate& evaluate, node::Payload input, node::Turn turn
    );
    void pass_up(
        std::uint64_t own,
        const protocol::Evaluate& evaluate,
        node::Payload output,
        node::Turn turn
    );
    void answer(std::uint64_t own, protocol::Evaluated evaluated, node::Turn turn);
    void refuse(std::uint64_t own, node::Turn turn);

    ServerContext& context_;
    OpenRequests open_{protocol::kEvaluationsMax};
};

}  // namespace stages
