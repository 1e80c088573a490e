// The part of Coordinator that judges a version by held-out texts, between its commit and the first
// launch of the step that follows.
#include "swarm/coordinator/coordinator.hpp"
#include "swarm/run/versions.hpp"

#include <utility>

namespace swarm::coordinator {

using Level = node::LogLine::Level;

void Coordinator::begin_evaluation(node::Turn turn) {
    const bool lives = phase_ == Phase::Open || phase_ == Phase::Finishing;
    // A process that is about to cut the stages anew ends soon; the next evaluation is that of
    // another process.
    if (!lives || !evaluation_.has_texts() || cut_by_ != kNever ||
        !run::is_evaluation_due(context_.config, context_.version.step)) {
        return;
    }
    step_.wait_before_launch();
    evaluation_.begin(turn);
}

void Coordinator::advance_evaluation(node::Turn turn) {
    evaluation_.advance(turn);
    const std::optional<Evaluation::Outcome> outcome = evaluation_.take_outcome();
    if (!outcome) {
        return;
    }
    step_.go_on();
    step_began_ = turn.now;  // the next step begins now
    const std::uint64_t step = context_.version.step;
    if (*outcome) {
        take_held_out(
            run::mean_held_out(context_.config, options_.held_out, **outcome, step), turn
        );
    } else {
        turn.out.log(
            Level::Warning,
            "no held-out loss after step " + std::to_string(step) +
                ": the peers did not compute all of it in time"
        );
    }
}

void Coordinator::take_held_out(run::HeldOutLosses losses, node::Turn turn) {
    held_out_watch_.note(losses);
    held_out_loss_ = losses.loss;
    if (options_.on_held_out) {
        options_.on_held_out(losses);
    }
    if (phase_ != Phase::Open) {
        return;
    }
    if (held_out_watch_.is_over()) {
        if (options_.on_patience_over) {
            options_.on_patience_over(context_.version.step, held_out_watch_.reason());
        }
        context_.config.steps = context_.version.step;  // nothing is left to train
        phase_ = Phase::Finishing;
        step_.finish();
    } else if (losses.is_best && context_.config.checkpoint_every > 0) {
        keep_best(turn);
    }
}

void Coordinator::keep_best(node::Turn turn) {
    if (checkpointer_.version() != context_.version && !checkpointer_.under_way()) {
        repeat_commit(checkpointer_.order(context_, context_.version), turn);
        begin_checkpoint(turn);
    }
}

}  // namespace swarm::coordinator
