// A stage without a peer: the coordinator waits, goes back to a checkpoint, or ends the run.
#include "swarm/coordinator/coordinator.hpp"

#include <algorithm>

namespace swarm::coordinator {

using protocol::SlotInfo;
using protocol::Standing;
using Level = node::LogLine::Level;

bool Coordinator::has_lost_stage() const {
    std::vector<bool> answers(context_.config.stages, false);
    for (const protocol::SlotInfo& info : context_.roster.slots()) {
        if (info.standing == Standing::Member || info.standing == Standing::Draining) {
            answers[info.stage.value] = true;
        }
    }
    return std::find(answers.begin(), answers.end(), false) != answers.end();
}

Duration Coordinator::lost_stage_patience() const {
    // A silent last member may return with a state newer than any checkpoint, so it gets more time.
    const std::vector<std::uint32_t> peers = context_.roster.peers_per_stage();
    const bool nobody = std::find(peers.begin(), peers.end(), 0) != peers.end();
    return nobody && can_roll_back() ? options_.resume_after : options_.stage_lost_after;
}

void Coordinator::watch_lost_stage(node::Turn turn) {
    if (phase_ != Phase::Open || !has_lost_stage()) {
        lost_since_ = kNever;
        return;
    }
    if (lost_since_ == kNever) {
        lost_since_ = turn.now;
        turn.out.log(
            Level::Warning, "a stage has no peer that answers: the run is paused until one does"
        );
    }
    if (turn.now < lost_since_ + lost_stage_patience()) {
        return;
    }
    if (can_roll_back()) {
        roll_back(turn);
    } else if (rolled_back_to_ == context_.version) {
        // The checkpoint is the only state, and it does not get older. The next peer gets it.
        lost_since_ = turn.now;
        turn.out.log(
            Level::Warning,
            "still no peer for a stage; start one with `swarm serve`, or stop and --resume later"
        );
    } else if (context_.version.step > 0 || restarted_) {
        lost_stage_ = true;
        fail(
            1,
            "a stage had no peer for too long; start one with `swarm serve`, then go on "
            "from the last checkpoint with `swarm train --resume`",
            turn
        );
    } else {
        fail(4, "not enough peers: start one per stage with `swarm serve --join`", turn);
    }
}

bool Coordinator::can_roll_back() const {
    // A checkpoint that this process wrote lies on disk only; the next process reads it.
    return options_.resume && !wrote_checkpoint_ && rolled_back_to_ != context_.version;
}

void Coordinator::go_back_to_checkpoint(node::Turn turn) {
    const ParameterVersion to{context_.version.gen + 1, options_.resume->version.step};
    const RollbackRecord record{to};
    append(record, Sync::Now, turn);
    history_.apply(record);
    context_.version = to;
    rolled_back_to_ = to;
}

void Coordinator::roll_back(node::Turn turn) {
    turn.out.log(
        Level::Warning,
        "no peer has the state of step " + std::to_string(context_.version.step) +
            ": going back to the checkpoint of step " +
            std::to_string(options_.resume->version.step)
    );
    go_back_to_checkpoint(turn);
    lost_since_ = turn.now;
    std::vector<SlotInfo> slots;
    for (const protocol::SlotInfo& info : context_.roster.slots()) {
        slots.push_back(info);
    }
    for (const SlotInfo& info : slots) {
        context_.roster.remove(info.slot);
    }
    needs_snapshot_.clear();
    for (const SlotInfo& info : slots) {
        protocol::Join join;
        join.address = info.address;
        assign(info.peer, join, turn);
    }
    step_.open(StartWith::Recall, turn);
}

}  // namespace swarm::coordinator
