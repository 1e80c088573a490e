// The ways back to a checkpoint: a stage without a peer, another split of the layers, other
// settings. For a split the run is held at a commit until the checkpoint of that version is
// written; then another process begins from there, and the log says so. A state of the old split or
// of old settings is of an older generation and counts for nothing.
#include "swarm/coordinator/coordinator.hpp"
#include "swarm/run/layer_split.hpp"
#include "swarm/run/versions.hpp"

#include <algorithm>
#include <string>

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
    if (turn.now < lost_since_ + lost_stage_patience() || !claims_due_.empty()) {
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
    } else if (context_.version.step > 0 || (restarted_ && !begins_with_weights())) {
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
    return options_.resume && !wrote_checkpoint_ && rolled_back_to_ != context_.version &&
           (context_.version != ParameterVersion{} || !begins_with_weights());
}

bool Coordinator::begins_with_weights() const {
    return options_.resume && options_.resume->version == ParameterVersion{};
}

void Coordinator::go_back_to_checkpoint(node::Turn turn) {
    const ParameterVersion to{context_.version.gen + 1, options_.resume->version.step};
    const RollbackRecord record{to};
    append(record, Sync::Now, turn);
    history_.apply(record);
    context_.version = to;
    rolled_back_to_ = to;
    votes_.clear();
    claims_due_.clear();
    holders_.clear();
    left_at_commit_.clear();
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

bool Coordinator::leave_old_split(node::Turn turn) {
    const std::vector<std::uint32_t> layers = run::layers_of(context_.layouts);
    if (history_.splits.empty() || history_.splits.back().layers_per_stage == layers) {
        return true;
    }
    const std::string before = run::to_text(history_.splits.back().layers_per_stage);
    if (!options_.resume) {
        fail(
            3,
            "the run was begun with stages of " + before + " layers, not " + run::to_text(layers) +
                ", and there is no checkpoint that could be cut anew; resume it as it was begun",
            turn
        );
        return false;
    }
    const std::uint64_t to = options_.resume->version.step;
    const bool loses_steps = to != context_.version.step;
    turn.out.log(
        loses_steps ? Level::Warning : Level::Info,
        "stages of " + run::to_text(layers) + " layers instead of " + before +
            ": all peers download " + (loses_steps ? "an older state, " : "") +
            "the checkpoint of step " + std::to_string(to)
    );
    go_back_to_checkpoint(turn);
    was_cut_ = history_.splits.back().layers_per_stage.size() == layers.size();
    return true;
}

bool Coordinator::leave_old_settings(node::Turn turn) {
    const bool changed =
        options_.settings && history_.settings && *history_.settings != *options_.settings;
    if (!changed || rolled_back_to_ == context_.version) {
        return true;  // peers that were sent back for another split get these settings, too
    }
    if (context_.version == ParameterVersion{}) {
        settings_changed_ = true;
        return true;
    }
    if (!options_.resume) {
        fail(
            3,
            "the settings with which peers compute have changed, and there is no checkpoint from "
            "which they could begin; resume the run as it was begun",
            turn
        );
        return false;
    }
    turn.out.log(
        Level::Warning,
        "other settings than before: all peers download the checkpoint of step " +
            std::to_string(run::steps_before(context_.config, options_.resume->version.step))
    );
    go_back_to_checkpoint(turn);
    return true;
}

bool Coordinator::has_old_settings(PeerId peer) const {
    return settings_changed_ && context_.version == ParameterVersion{} &&
           !has_settings_.contains(peer);
}

bool Coordinator::keeps_stage(const protocol::Join& join) const {
    return was_cut_ && rolled_back_to_ == context_.version && join.stage &&
           join.stage->value < context_.config.stages;
}

void Coordinator::hold_for_cut(node::Turn turn) {
    const bool ordered = checkpointer_.under_way() && checkpointer_.version() == context_.version;
    if (cut_to_.empty() || !ordered) {
        cut_to_.clear();  // it will be chosen again at another commit
        return;
    }
    step_.hold();
    cut_by_ = turn.now + kCutWithin;
    turn.out.log(
        Level::Info,
        "the stages have drifted apart: they get " + run::to_text(cut_to_) +
            " layers, once the checkpoint of step " + std::to_string(context_.version.step) +
            " is written"
    );
}

void Coordinator::watch_cut(node::Turn turn) {
    if (cut_by_ == kNever || !cut_anew_.empty()) {
        return;
    }
    const bool writes = checkpointer_.under_way() || checkpoint_files_ || checkpoint_stored_;
    if (writes && turn.now < cut_by_) {
        return;
    }
    turn.out.log(Level::Warning, "no checkpoint came about: the stages stay as they are");
    cut_to_.clear();
    cut_by_ = kNever;
    split_chooser_.forget();
    step_.release();
    step_.advance(turn);
}

}  // namespace swarm::coordinator
