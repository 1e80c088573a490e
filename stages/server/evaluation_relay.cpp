#include "stages/server/evaluation_relay.hpp"

#include <utility>

namespace stages {

bool EvaluationRelay::may_ask(PeerId from) const {
    if (context_.layout.has_embedding) {
        return from == context_.coordinator;
    }
    const protocol::SlotInfo* const info = context_.roster.find_peer(from);
    return info && info->standing != protocol::Standing::Observer &&
           info->stage.value + 1 == context_.stage().value;
}

bool EvaluationRelay::can_compute(const protocol::Evaluate& evaluate) const {
    const auto& config = context_.config;
    return context_.worker && context_.slot && context_.version == evaluate.version &&
           !context_.applying && !open_.is_full() &&
           evaluate.tokens.size() == std::size_t{config.batch} * (config.model.context + 1);
}

void EvaluationRelay::take(
    PeerId from,
    const protocol::Evaluate& evaluate,
    node::Payload input,
    std::optional<PeerId> next,
    node::Turn turn
) {
    if (!can_compute(evaluate) || !may_ask(from) || (!context_.is_tail() && !next)) {
        context_.answer(from, protocol::Evaluated{evaluate.request, true, 0}, turn);
        return;
    }
    const std::uint64_t own = open_.open({from, evaluate.request, next}, turn.now);
    if (context_.is_tail()) {
        compute_loss(own, evaluate, std::move(input), turn);
    } else {
        compute_forward(own, evaluate, std::move(input), turn);
    }
}

void EvaluationRelay::compute_loss(
    std::uint64_t own, const protocol::Evaluate& evaluate, node::Payload input, node::Turn turn
) {
    using Outcome = std::optional<swarm::Result<double>>;
    context_.device.submit_for<Outcome>(
        turn,
        context_.forward_units(),
        [worker = context_.worker, tokens = evaluate.tokens, input = std::move(input)](
            Outcome& outcome
        ) { outcome.emplace(worker->tail_loss(input, tokens)); },
        [this, own](Outcome& outcome, node::Turn later) {
            if (*outcome) {
                answer(own, {0, false, **outcome}, later);
            } else {
                refuse(own, later);
            }
        }
    );
}

void EvaluationRelay::compute_forward(
    std::uint64_t own, const protocol::Evaluate& evaluate, node::Payload input, node::Turn turn
) {
    using Outcome = std::optional<swarm::Result<node::Payload>>;
    context_.device.submit_for<Outcome>(
        turn,
        context_.forward_units(),
        [worker = context_.worker, tokens = evaluate.tokens, input = std::move(input)](
            Outcome& outcome
        ) { outcome.emplace(worker->forward_held_out(input, tokens)); },
        [this, own, evaluate](Outcome& outcome, node::Turn later) {
            if (*outcome) {
                pass_up(own, evaluate, std::move(**outcome), later);
            } else {
                refuse(own, later);
            }
        }
    );
}

void EvaluationRelay::pass_up(
    std::uint64_t own, const protocol::Evaluate& evaluate, node::Payload output, node::Turn turn
) {
    if (const OpenRequests::Request* const open = open_.find(own)) {
        const protocol::Evaluate onward{evaluate.version, own, evaluate.tokens};
        ServerContext::send(*open->next, onward, std::move(output), turn);
    }
}

void EvaluationRelay::on(PeerId from, const protocol::Evaluated& evaluated, node::Turn turn) {
    const OpenRequests::Request* const open = open_.find(evaluated.request);
    if (open && open->next == from) {
        answer(evaluated.request, evaluated, turn);
    }
}

void EvaluationRelay::answer(
    std::uint64_t own, protocol::Evaluated evaluated, node::Turn turn
) {
    if (const std::optional<OpenRequests::Request> closed = open_.close(own)) {
        evaluated.request = closed->number;
        context_.answer(closed->from, evaluated, turn);
    }
}

void EvaluationRelay::refuse(std::uint64_t own, node::Turn turn) {
    answer(own, {0, true, 0}, turn);
}

void EvaluationRelay::peer_lost(PeerId peer, node::Turn turn) {
    for (const std::uint64_t own : open_.passed_to(peer)) {
        refuse(own, turn);
    }
}

void EvaluationRelay::wake(node::Turn turn) {
    for (const std::uint64_t own : open_.overdue(turn.now)) {
        refuse(own, turn);
    }
}

TimePoint EvaluationRelay::next_deadline() const {
    return open_.next_deadline();
}

}  // namespace stages
