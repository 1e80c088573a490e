// The part of StageServer that tells people what it does and why it ends, and the host whom it
// knows.
#include "stages/server/stage_server.hpp"
#include "swarm/node/dial_advice.hpp"
#include "swarm/node/wrong_place.hpp"
#include "swarm/protocol/limits.hpp"
#include "swarm/run/training/batch_growth.hpp"

#include <utility>

namespace stages {

void StageServer::note_progress(const protocol::Commit& commit, node::Turn turn) {
    const bool counts = context_.slot && !commit.scalars.skips();
    added_up_ += counts ? listed_ : 0;
    const std::uint64_t step =
        swarm::run::steps_before(context_.config, commit.version.step);
    const std::uint32_t microbatches = swarm::run::microbatches_of(context_.config, step);
    share_ = counts ? double(listed_) / microbatches : 0;
    tell_status(turn);
}

void StageServer::say_state(node::Turn turn) {
    if (leave_at_ != swarm::kNever) {
        const auto left = std::chrono::ceil<std::chrono::seconds>(leave_at_ - turn.now).count();
        say_status(
            "leaving at the next commit, in " + std::to_string(left) + " s at the latest", turn
        );
    } else if (coordinator_gone_since_ != swarm::kNever) {
        say_status("the coordinator is gone; keeps its work and waits", turn);
    } else {
        say_status(context_.slot ? "working" : joining_.status(turn.now), turn);
    }
}

void StageServer::say_status(std::string text, node::Turn turn) {
    if (text != status_) {
        status_ = std::move(text);
        tell_status(turn);
    }
}

void StageServer::tell_status(node::Turn turn) {
    const bool waits = coordinator_gone_since_ != swarm::kNever;
    turn.out.add(node::Tell{node::ServerStatus{
        status_,
        context_.stage(),
        context_.version.value_or(ParameterVersion{}),
        waits ? turn.now - coordinator_gone_since_ : swarm::Duration{},
        added_up_,
        share_,
        loss_}});
}

std::string StageServer::no_coordinator() const {
    const std::string where = "no coordinator at " + options_.coordinator_address + " in time: ";
    if (coordinator_up_[0] || coordinator_up_[1]) {
        return where + "the process there takes the connection and does not answer; is it frozen?";
    }
    if (!dial_trouble_) {
        return where + "no answer";
    }
    return where + dial_trouble_->detail + node::dial_advice(dial_trouble_->code, "swarm train");
}

void StageServer::leave_wrong_place(protocol::HubKind here, node::Turn turn) {
    const auto wanted = protocol::HubKind::Coordinator;
    if (here != wanted && !std::exchange(ended_, true)) {
        turn.out.add(node::Tell{node::wrong_place(options_.coordinator_address, here, wanted)});
    }
}

void StageServer::end(std::string reason, node::Turn turn) {
    if (!std::exchange(ended_, true)) {
        turn.out.add(node::Tell{node::ServerDone{std::move(reason)}});
    }
}

node::Allowance StageServer::allowance(const PeerId& peer) const {
    node::Allowance allowed = node::Allowance::without_tensors(node::Acquaintance::Stranger);
    if (peer == context_.coordinator) {
        allowed = {node::Acquaintance::Partner, protocol::kRosterBytesMax};
        allowed.tensor_bytes = protocol::kChunkTensorBytesMax;
    } else if (context_.roster.find_peer(peer) || links_.knows(peer)) {
        allowed.acquaintance = node::Acquaintance::Partner;
        allowed.tensor_bytes = context_.tensor_bytes_max();
    }
    return allowed;
}

}  // namespace stages
