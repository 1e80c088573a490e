// Gives legs to the device, and goes on with their outcomes.
#include "stages/server/wave.hpp"

#include <utility>

namespace stages {

using protocol::Leg;

namespace {

/// Makes the worker's leg, which takes the input out of `input`.
StageWorker::Leg worker_leg(
    const LegId& id,
    std::vector<std::uint32_t> tokens,
    node::Payload& input,
    const swarm::run::LegCodecs& codecs
) {
    return {
        id.version.step,
        GraphKey{id.microbatch, id.attempt},
        std::move(tokens),
        std::exchange(input, {}),
        codecs};
}

}  // namespace

void Wave::pump(node::Turn turn) {
    place_forwards(turn);
    while (on_device_ < kDeviceLegsMax && !queue_.empty()) {
        const LegKey key = queue_.begin()->second.second;
        queue_.erase(queue_.begin());
        LegState& leg = *legs_.at(key);
        leg.phase = LegPhase::Computing;
        ++on_device_;
        compute(leg, turn);
    }
}

void Wave::compute(LegState& leg, node::Turn turn) {
    if (leg.id.leg == Leg::Backward) {
        compute_backward(leg, turn);
    } else if (context_.is_tail()) {
        compute_tail(leg, turn);
    } else {
        compute_forward(leg, turn);
    }
}

void Wave::compute_forward(LegState& leg, node::Turn turn) {
    const bool keeps = leg.mask.has(context_.stage()) || leg.mask.has_below(context_.stage());
    if (keeps) {
        rows_[leg.id.microbatch.value].graph = leg.id.attempt;
    }
    using Outcome = std::optional<swarm::Result<node::Payload>>;
    context_.device.submit_for<Outcome>(
        turn,
        context_.forward_units(),
        [worker = context_.worker,
         graph = keeps ? Graph::Keep : Graph::Drop,
         work = worker_leg(leg.id, leg.tokens, leg.input, leg.codecs)](Outcome& outcome) {
            outcome.emplace(worker->forward(work, graph));
        },
        [this, id = leg.id, given = turn.now](Outcome& outcome, node::Turn later) {
            --on_device_;
            speeds_.computed(id.leg, given, later.now);
            computed({id.microbatch, id.leg}, id, std::move(*outcome), later);
        }
    );
}

void Wave::compute_tail(LegState& leg, node::Turn turn) {
    using Outcome = std::optional<swarm::Result<StageWorker::TailOutcome>>;
    context_.device.submit_for<Outcome>(
        turn,
        3 * context_.forward_units(),
        [worker = context_.worker,
         work = worker_leg(leg.id, leg.tokens, leg.input, leg.codecs)](Outcome& outcome) {
            outcome.emplace(worker->forward_tail(work));
        },
        [this, id = leg.id, given = turn.now](Outcome& outcome, node::Turn later) {
            --on_device_;
            speeds_.computed(id.leg, given, later.now);
            const auto found = legs_.find({id.microbatch, id.leg});
            const bool current = found != legs_.end() && found->second->id == id && context_.slot;
            if (*outcome && current) {
                std::vector<SlotId> path = found->second->path;
                path.push_back(*context_.slot);
                const double loss = (*outcome)->loss;
                rows_[id.microbatch.value].loss = loss;
                context_.tell_coordinator(
                    protocol::Path{id.version, id.microbatch, id.attempt, std::move(path), loss},
                    later
                );
            }
            swarm::Result<node::Payload> output =
                *outcome ? swarm::Result<node::Payload>((*outcome)->gradient_below)
                         : swarm::Result<node::Payload>(outcome->error());
            computed({id.microbatch, id.leg}, id, std::move(output), later);
        }
    );
}

void Wave::compute_backward(LegState& leg, node::Turn turn) {
    rows_[leg.id.microbatch.value].graph = {};  // the backward uses it up
    using Outcome = std::optional<swarm::Result<node::Payload>>;
    context_.device.submit_for<Outcome>(
        turn,
        2 * context_.forward_units(),
        [worker = context_.worker,
         work = worker_leg(leg.id, {}, leg.input, leg.codecs)](Outcome& outcome) {
            outcome.emplace(worker->backward(work));
        },
        [this, id = leg.id, given = turn.now](Outcome& outcome, node::Turn later) {
            --on_device_;
            speeds_.computed(id.leg, given, later.now);
            computed({id.microbatch, id.leg}, id, std::move(*outcome), later);
        }
    );
}

void Wave::computed(
    const LegKey& key, const LegId& id, swarm::Result<node::Payload> output, node::Turn turn
) {
    const bool has_gradient = id.leg == Leg::Backward || context_.is_tail();
    const GraphKey graph{id.microbatch, id.attempt};
    const auto found = legs_.find(key);
    if (found == legs_.end() || found->second->id != id || !context_.slot) {
        // The leg was recalled, or its step is over. A graph that was kept went with the recall.
        context_.device.submit(turn, 0, [worker = context_.worker, has_gradient, graph] {
            if (has_gradient) {
                worker->discard_pending(graph);
            } else {
                worker->drop_graph(graph);
            }
        });
        return;
    }
    LegState& leg = *found->second;
    if (!output) {
        // The sender passed on a tensor that must not be counted. It is never passed further; the
        // coordinator replays the microbatch elsewhere.
        const auto* const sender = context_.roster.find_peer(leg.from);
        fail(
            sender ? sender->slot : *context_.slot,
            protocol::FailReason::NotFinite,
            {{id.microbatch, id.attempt, false}},
            turn
        );
        turn.out.log(
            node::LogLine::Level::Warning, "dropped a microbatch: " + output.error().detail
        );
        leg.phase = LegPhase::Done;
        return;
    }
    if (has_gradient) {
        add_gradient(leg, turn);
    }
    leg.output = std::move(*output);
    if (is_last_leg(leg)) {
        finish_leg(leg, turn);
    } else if (has_gradient) {
        offer(leg, leg.path[context_.stage().value - 1], turn);
    } else {
        leg.phase = LegPhase::Placing;
        placing_.insert(key);
    }
}

void Wave::add_gradient(const LegState& leg, node::Turn turn) {
    const MicrobatchId id = leg.id.microbatch;
    const bool promised = leg.id.attempt >= rows_[id.value].floor || context_.bugs.floors_off;
    const bool add = leg.mask.has(context_.stage()) && promised && !held_.contains(id) &&
                     !sealed_ && leg.id.version == *context_.version;
    const GraphKey key{id, leg.id.attempt};
    if (add) {
        held_.insert(id);
    }
    context_.device.submit(turn, 0, [worker = context_.worker, key, add] {
        if (add) {
            worker->accumulate(key);
        } else {
            worker->discard_pending(key);
        }
    });
}

}  // namespace stages
