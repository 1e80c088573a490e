// The part of StageServer that answers questions about the model: inference and evaluation, which
// train nothing.
#include "stages/server/stage_server.hpp"

namespace stages {

bool StageServer::take_question(const node::Received& received, node::Turn turn) {
    const PeerId from = received.peer;
    const auto& body = received.message.body;
    if (const auto* infer = std::get_if<protocol::Infer>(&body)) {
        const auto next = context_.worker ? wave_.any_next_hop(0) : std::nullopt;
        inference_.take(from, *infer, received.payload, next, turn);
    } else if (const auto* inferred = std::get_if<protocol::Inferred>(&body)) {
        inference_.on(from, *inferred, turn);
    } else if (const auto* evaluate = std::get_if<protocol::Evaluate>(&body)) {
        take_evaluate(*evaluate, received, turn);
    } else if (const auto* evaluated = std::get_if<protocol::Evaluated>(&body)) {
        evaluation_.on(from, *evaluated, turn);
    } else {
        return false;
    }
    return true;
}

// The coordinator asks as soon as its commit is out, so the question waits for the device, as legs
// do, and for no longer than these.
void StageServer::take_evaluate(
    const protocol::Evaluate& evaluate, const node::Received& received, node::Turn turn
) {
    const bool is_early = context_.slot && context_.version &&
                          (context_.applying || evaluate.version > *context_.version);
    if (is_early) {
        defer(received, turn);
        return;
    }
    const auto next = context_.worker ? wave_.any_next_hop(evaluate.request) : std::nullopt;
    evaluation_.take(received.peer, evaluate, received.payload, next, turn);
}

}  // namespace stages
