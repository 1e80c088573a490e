// A stage server's part in inference on a run that trains: it computes the forward of its layers
// and passes the activation up. The tail answers with the likeliest next tokens, and answers walk
// back the way the request came. No session is kept: each request carries the whole window.
// Invariant: every request that was taken is answered once, by tokens or by a refusal.
// Threading: single strand. Bounds: kInferencesMax requests at once, 30 s for each.
// Shapes: logits (1, 1, V) and activations (1, T, C) fp32. Errors: a refusal; the asker tries
// again.
#pragma once

#include "stages/server/open_requests.hpp"
#include "stages/server/server_context.hpp"
#include "swarm/protocol/limits.hpp"

#include <optional>

namespace stages {

class InferenceRelay {
 public:
    explicit InferenceRelay(ServerContext& context) : context_(context) {}

    /// Takes a request, or refuses it. `next` is the peer above that is to go on; the tail ignores
    /// it.
    void take(
        PeerId from,
        const protocol::Infer& infer,
        node::Payload input,
        std::optional<PeerId> next,
        node::Turn turn
    );
    /// Passes an answer of the peer above on to the peer that asked.
    void on(PeerId from, const protocol::Inferred& inferred, node::Turn turn);
    /// Refuses all requests that were passed up to this peer.
    void peer_lost(PeerId peer, node::Turn turn);
    /// Refuses all requests that are overdue.
    void wake(node::Turn turn);
    [[nodiscard]] TimePoint next_deadline() const;

 private:
    void pass_up(
        std::uint64_t own, const protocol::Infer& infer, node::Payload output, node::Turn turn
    );
    void answer(std::uint64_t own, protocol::Inferred inferred, node::Turn turn);
    void refuse(std::uint64_t own, node::Turn turn);

    ServerContext& context_;
    OpenRequests open_{protocol::kInferencesMax};
};

}  // namespace stages
