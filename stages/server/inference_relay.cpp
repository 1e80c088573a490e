#include "stages/server/inference_relay.hpp"

#include "stages/compute/top_tokens.hpp"

#include <cstring>
#include <utility>
#include <vector>

namespace stages {
namespace {

std::vector<float> numbers_of(const node::Payload& logits) {
    std::vector<float> values(logits.bytes().size() / sizeof(float));
    std::memcpy(values.data(), logits.bytes().data(), values.size() * sizeof(float));
    return values;
}

}  // namespace

void InferenceRelay::take(
    PeerId from,
    const protocol::Infer& infer,
    node::Payload input,
    std::optional<PeerId> next,
    node::Turn turn
) {
    const bool can = context_.worker && context_.version && !infer.tokens.empty() &&
                     infer.tokens.size() <= context_.config.model.context &&
                     (context_.is_tail() || next) && !open_.is_full();
    if (!can) {
        ServerContext::send(from, protocol::Inferred{infer.request, true, {}}, {}, turn);
        return;
    }
    const std::uint64_t own = open_.open({from, infer.request, next}, turn.now);
    using Outcome = std::optional<swarm::Result<node::Payload>>;
    const double fraction =
        static_cast<double>(infer.tokens.size()) / context_.config.model.context;
    context_.device.submit_for<Outcome>(
        turn,
        context_.forward_units() * fraction / context_.config.batch,
        [worker = context_.worker, tokens = infer.tokens, input = std::move(input)](Outcome& outcome
        ) { outcome.emplace(worker->infer(input, tokens)); },
        // The server may have another stage once the device has answered.
        [this, own, infer, was_tail = context_.is_tail()](Outcome& outcome, node::Turn later) {
            if (!*outcome) {
                refuse(own, later);
            } else if (was_tail) {
                auto top = top_tokens(numbers_of(**outcome), infer.top);
                const bool refused = top.empty();
                answer(own, {0, refused, std::move(top)}, later);
            } else {
                pass_up(own, infer, std::move(**outcome), later);
            }
        }
    );
}

void InferenceRelay::pass_up(
    std::uint64_t own, const protocol::Infer& infer, node::Payload output, node::Turn turn
) {
    if (const OpenRequests::Request* const open = open_.find(own)) {
        const protocol::Infer onward{own, infer.tokens, infer.top};
        ServerContext::send(*open->next, onward, std::move(output), turn);
    }
}

void InferenceRelay::on(PeerId from, const protocol::Inferred& inferred, node::Turn turn) {
    const OpenRequests::Request* const open = open_.find(inferred.request);
    if (open && open->next == from) {
        answer(inferred.request, inferred, turn);
    }
}

void InferenceRelay::answer(std::uint64_t own, protocol::Inferred inferred, node::Turn turn) {
    if (const std::optional<OpenRequests::Request> closed = open_.close(own)) {
        inferred.request = closed->number;
        ServerContext::send(closed->from, std::move(inferred), {}, turn);
    }
}

void InferenceRelay::refuse(std::uint64_t own, node::Turn turn) {
    answer(own, {0, true, {}}, turn);
}

void InferenceRelay::peer_lost(PeerId peer, node::Turn turn) {
    for (const std::uint64_t own : open_.passed_to(peer)) {
        refuse(own, turn);
    }
}

void InferenceRelay::wake(node::Turn turn) {
    for (const std::uint64_t own : open_.overdue(turn.now)) {
        refuse(own, turn);
    }
}

TimePoint InferenceRelay::next_deadline() const {
    return open_.next_deadline();
}

}  // namespace stages
