// A stage server's part in inference: computes the forward of its layers and passes it up; the tail
// answers with the likeliest next tokens, and answers walk back the way the request came.
// No session state yet: each request carries the whole window.
// Invariant: every request that was taken is answered once, by tokens or by a refusal.
// Threading: single strand. Bounds: kInferencesMax requests at once, 30 s each.
#pragma once

#include "stages/server_context.hpp"

#include <map>
#include <optional>

namespace stages {

class InferenceRelay {
 public:
    explicit InferenceRelay(ServerContext& context) : context_(context) {}

    /// `next`: the peer above that is to go on; ignored by the tail.
    void take(
        PeerId from,
        const protocol::Infer& infer,
        node::Payload input,
        std::optional<PeerId> next,
        node::Turn turn
    );
    void on(PeerId from, const protocol::Inferred& inferred, node::Turn turn);
    void peer_lost(PeerId peer, node::Turn turn);
    void wake(node::Turn turn);
    [[nodiscard]] TimePoint next_deadline() const;

 private:
    static constexpr swarm::Duration kAnswerWithin = std::chrono::seconds(30);

    struct Open {
        PeerId from;
        std::uint64_t request = 0;  // as the sender calls it
        std::optional<PeerId> next;
        TimePoint due;
    };

    void pass_up(
        std::uint64_t own, const protocol::Infer& infer, node::Payload output, node::Turn turn
    );
    void answer(std::uint64_t own, protocol::Inferred inferred, node::Turn turn);
    void refuse(std::uint64_t own, node::Turn turn);

    ServerContext& context_;
    std::uint64_t next_request_ = 1;
    std::map<std::uint64_t, Open> open_;  // by our own number for it
};

}  // namespace stages
