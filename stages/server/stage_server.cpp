#include "stages/server/stage_server.hpp"

#include "swarm/protocol/limits.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace stages {

using node::Lane;
using Level = node::LogLine::Level;

namespace {

constexpr swarm::Duration kDialPauseFirst = std::chrono::milliseconds(100);
constexpr swarm::Duration kDialPauseMax = std::chrono::seconds(1);
constexpr swarm::Duration kDrainMax = std::chrono::seconds(60);

bool is_decision(const protocol::Body& body) {
    return std::holds_alternative<protocol::Recall>(body) ||
           std::holds_alternative<protocol::Reduce>(body) ||
           std::holds_alternative<protocol::Assign>(body) ||
           std::holds_alternative<protocol::Commit>(body);
}

}  // namespace

StageServer::StageServer(Options options)
    : options_(std::move(options)),
      links_(context_),
      wave_(context_, links_),
      reduction_(context_, [this] { return wave_.owing_gradients(); }),
      exchange_(context_),
      joining_(
          context_,
          options_.make_compute,
          options_.own_address,
          std::exchange(options_.cached, std::nullopt),
          std::exchange(options_.unsent, std::nullopt)
      ),
      snapshots_(context_),
      cache_(context_, options_.keeps_state ? StateCache::Mode::On : StateCache::Mode::Off),
      inference_(context_),
      evaluation_(context_) {
    context_.self = options_.self;
    context_.coordinator = options_.coordinator;
    context_.incarnation = options_.incarnation;
    context_.lent_memory_bytes = options_.memory_bytes;
    context_.machine_bytes = options_.machine_bytes;
    context_.bugs = options_.bugs;
    context_.slice_bytes_max = options_.slice_bytes_max;
}

void StageServer::on(const node::Event& event, TimePoint now, node::Outbox& out) {
    const node::Turn turn{now, out};
    std::visit([&](const auto& occurred) { handle(occurred, turn); }, event);
    for (const PeerId peer : links_.take_lost()) {
        peer_lost(peer, turn);
    }
    if (joining_.take_changed()) {
        after_state_change(turn);
    }
    if (joining_.fatal() && !ended_) {
        ended_ = true;
        out.add(node::Tell{node::RunFailed{3, *joining_.fatal()}});
    }
    if (context_.slot && context_.version) {
        wave_.pump(turn);
    }
    if (links_.take_newly_cut_off() && context_.control_up) {
        heartbeat(turn);
    }
}

TimePoint StageServer::next_deadline() const {
    if (ended_) {
        return swarm::kNever;
    }
    TimePoint due = std::min({dial_at_, beat_at_, give_up_at_, leave_at_});
    due = std::min({due, links_.next_deadline(), wave_.next_deadline()});
    due = std::min({due, reduction_.next_deadline(), exchange_.next_deadline()});
    due = std::min(due, joining_.next_deadline());
    due = std::min({due, inference_.next_deadline(), evaluation_.next_deadline()});
    due = std::min(due, cache_.next_deadline());
    for (const Deferred& deferred : deferred_) {
        due = std::min(due, deferred.until);
    }
    return due;
}

void StageServer::handle(const node::Woke&, node::Turn turn) {
    if (!started_) {
        started_ = true;
        if (options_.first_contact_within > swarm::Duration{}) {
            give_up_at_ = turn.now + options_.first_contact_within;
        }
    }
    if (give_up_at_ <= turn.now) {
        give_up_at_ = swarm::kNever;
        ended_ = true;
        turn.out.add(node::Tell{node::RunFailed{4, no_coordinator()}});
        return;
    }
    if (leave_at_ <= turn.now) {
        end("left without a commit: its part of the step is replayed", turn);
        return;
    }
    if (dial_at_ <= turn.now) {
        dial_coordinator(turn);
    }
    if (beat_at_ <= turn.now) {
        heartbeat(turn);
        say_state(turn);
    }
    links_.wake(turn);
    wave_.wake(turn.now);
    reduction_.wake(turn);
    exchange_.wake(turn);
    joining_.wake(turn);
    inference_.wake(turn);
    evaluation_.wake(turn);
    if (cache_.next_deadline() <= turn.now) {
        cache_.look(joining_.run_file(), turn);
    }
    refuse_overdue(turn);
}

void StageServer::dial_coordinator(node::Turn turn) {
    dial_at_ = swarm::kNever;
    for (const Lane lane : {Lane::Control, Lane::Bulk}) {
        const auto index = static_cast<std::size_t>(lane);
        if (!coordinator_up_[index] && !coordinator_dialing_[index]) {
            coordinator_dialing_[index] = true;
            turn.out.add(node::Dial{context_.coordinator, lane, options_.coordinator_address});
        }
    }
}

void StageServer::handle(const node::LinkUp& up, node::Turn turn) {
    // A stranger may dial this peer before the coordinator has answered: that is no answer.
    const bool answers = up.dialed && context_.coordinator == PeerId{} && coordinator_dialing_[0];
    if (answers || up.peer == context_.coordinator) {
        const auto index = static_cast<std::size_t>(up.lane);
        context_.coordinator = up.peer;
        coordinator_dialing_[index] = false;
        coordinator_up_[index] = true;
        dial_pause_ = kDialPauseFirst;
        dial_trouble_.reset();
        if (coordinator_up_[0] && coordinator_up_[1]) {
            joining_.link_up(up.peer, turn);
        }
        if (up.lane == Lane::Bulk) {
            return;
        }
        context_.control_up = true;
        coordinator_gone_since_ = swarm::kNever;
        say_state(turn);
        beat_at_ = turn.now + kHeartbeatEvery;
        const bool same = coordinator_incarnation_ == up.incarnation;
        coordinator_incarnation_ = up.incarnation;
        if (same) {
            for (protocol::Message& message : context_.control.unacknowledged()) {
                turn.out.add(node::Send{up.peer, std::move(message)});
            }
        } else {
            // Another coordinator process knows nothing of this peer, and its roster starts anew.
            context_.control.reset();
            decisions_.clear();
            context_.roster = swarm::run::Roster(context_.config.stages);
            context_.slot.reset();
            joining_.greet(turn);
        }
        return;
    }
    if (links_.on(up, turn)) {
        joining_.link_up(up.peer, turn);
        wave_.link_changed(up.peer, turn.now);
        wave_.resend(up.peer, turn);
        reduction_.resend(up.peer, turn);
        exchange_.resend(up.peer, turn);
    }
}

void StageServer::handle(const node::LinkDown& down, node::Turn turn) {
    joining_.link_down(down.peer, turn);
    if (down.peer == context_.coordinator) {
        coordinator_up_[static_cast<std::size_t>(down.lane)] = false;
        if (down.lane == Lane::Control) {
            context_.control_up = false;
            beat_at_ = swarm::kNever;
            coordinator_gone_since_ = turn.now;
        }
        dial_at_ = ended_ ? swarm::kNever : turn.now + dial_pause_;
        return;
    }
    links_.on(down, turn);
    inference_.peer_lost(down.peer, turn);
    evaluation_.peer_lost(down.peer, turn);
    wave_.link_changed(down.peer, turn.now);
}

void StageServer::handle(const node::DialFailed& failed, node::Turn turn) {
    if (failed.peer == context_.coordinator || failed.peer == PeerId{}) {
        coordinator_dialing_[static_cast<std::size_t>(failed.lane)] = false;
        dial_pause_ = std::min(2 * dial_pause_, kDialPauseMax);
        dial_at_ = turn.now + dial_pause_;
        dial_trouble_ = failed.error;
        if (failed.error.reaction == swarm::Reaction::Fatal && !std::exchange(ended_, true)) {
            turn.out.add(node::Tell{
                node::RunFailed{2, "the coordinator refuses this peer: " + failed.error.detail}});
        } else if (coordinator_gone_since_ != swarm::kNever && !ended_) {
            say_state(turn);
            tell_status(turn);
        }
    } else {
        links_.on(failed, turn);
    }
}

void StageServer::handle(const node::Computed& computed, node::Turn turn) {
    const auto held_before = wave_.held().size();
    context_.device.done(computed.job, turn);
    if (wave_.held().size() != held_before && reduction_.ids_changed(wave_.held(), turn)) {
        wave_.seal();
    }
}

void StageServer::handle(const node::Received& received, node::Turn turn) {
    if (received.peer == context_.coordinator) {
        using Verdict = swarm::run::ControlStream::Verdict;
        const Verdict verdict = context_.control.receive(received.message);
        if (verdict == Verdict::Broken) {
            turn.out.add(node::Close{received.peer, Lane::Control});
        }
        if (verdict == Verdict::Deliver) {
            take_from_coordinator(received, turn);
        }
        if (context_.control.owes_acknowledgement() && context_.control_up) {
            turn.out.add(node::Send{
                received.peer, context_.control.unnumbered(protocol::Acknowledge{})});
        }
    } else if (context_.bugs.decision_of_anyone && is_decision(received.message.body)) {
        take_from_coordinator(received, turn);
    } else {
        take_from_peer(received, turn);
    }
}

void StageServer::take_from_coordinator(const node::Received& received, node::Turn turn) {
    const auto& body = received.message.body;
    if (const auto* forward = std::get_if<protocol::Forward>(&body)) {
        take_leg(*forward, protocol::Leg::Forward, received, turn);
    } else if (const auto* evaluate = std::get_if<protocol::Evaluate>(&body)) {
        take_evaluate(*evaluate, received, turn);
    } else if (const auto* roster = std::get_if<protocol::Roster>(&body)) {
        give_up_at_ = swarm::kNever;
        on_roster(*roster, turn);
    } else if (is_decision(body)) {
        if (context_.applying) {
            decisions_.push_back(received);  // it is about the version that is being made
        } else {
            take_decision(body, turn);
        }
    } else if (const auto* reply = std::get_if<protocol::HeartbeatReply>(&body)) {
        loss_ = reply->loss;
    } else if (const auto* fetch = std::get_if<protocol::Fetch>(&body)) {
        donate(received.peer, *fetch, turn);
    } else if (const auto* chunk = std::get_if<protocol::Chunk>(&body)) {
        joining_.on(received.peer, *chunk, received.payload, turn);
    } else if (const auto* refused = std::get_if<protocol::ChunkRefused>(&body)) {
        joining_.on(received.peer, *refused, turn);
    } else if (const auto* standby = std::get_if<protocol::Standby>(&body)) {
        give_up_at_ = swarm::kNever;
        joining_.on(*standby, turn);
        say_state(turn);
    } else if (const auto* misdirected = std::get_if<protocol::Misdirected>(&body)) {
        leave_wrong_place(misdirected->here, turn);
    } else if (std::holds_alternative<protocol::Finished>(body)) {
        end(draining_ ? "left the run" : "the run is finished", turn);
    }
}

void StageServer::donate(PeerId to, const protocol::Fetch& fetch, node::Turn turn) {
    if (to != context_.coordinator && !context_.roster.find_peer(to)) {
        // A newcomer may be ahead of the roster that names it; it asks again.
        const protocol::ChunkRefused later{fetch.version, fetch.stage, fetch.chunk, true};
        return context_.answer(to, later, turn);
    }
    using Pace = Snapshots::Pace;
    const bool reduces = reduction_.is_active() || exchange_.is_active();
    snapshots_.on(to, fetch, reduces ? Pace::BesideReduction : Pace::Full, turn);
}

void StageServer::take_decision(const protocol::Body& body, node::Turn turn) {
    if (const auto* assign = std::get_if<protocol::Assign>(&body)) {
        give_up_at_ = swarm::kNever;
        joining_.on(*assign, turn);
    } else if (const auto* recall = std::get_if<protocol::Recall>(&body)) {
        on_recall(*recall, turn);
    } else if (const auto* reduce = std::get_if<protocol::Reduce>(&body)) {
        on_reduce(*reduce, turn);
    } else if (const auto* commit = std::get_if<protocol::Commit>(&body)) {
        on_commit(*commit, turn);
    }
}

void StageServer::take_from_peer(const node::Received& received, node::Turn turn) {
    const PeerId from = received.peer;
    const auto& body = received.message.body;
    if (const auto* forward = std::get_if<protocol::Forward>(&body)) {
        take_leg(*forward, protocol::Leg::Forward, received, turn);
    } else if (const auto* backward = std::get_if<protocol::Backward>(&body)) {
        take_leg(*backward, protocol::Leg::Backward, received, turn);
    } else if (const auto* accepted = std::get_if<protocol::Accepted>(&body)) {
        wave_.on(from, *accepted, turn);
    } else if (const auto* refused = std::get_if<protocol::Refused>(&body)) {
        wave_.on(from, *refused, turn);
    } else if (const auto* passed = std::get_if<protocol::Passed>(&body)) {
        wave_.on(from, *passed, turn);
    } else if (const auto* part = std::get_if<protocol::Part>(&body)) {
        const bool newer = context_.version && part->version > *context_.version;
        if (!context_.slot) {
            joining_.follow(from, *part, received.payload, turn);
        } else if (newer || context_.applying) {
            defer(received, turn);
        } else if (context_.version == part->version && context_.is_exchange(part->version)) {
            exchange_.on(from, *part, received.payload, turn);
        } else if (context_.version == part->version) {
            reduction_.on(from, *part, received.payload, turn);
        }
    } else if (const auto* fetch = std::get_if<protocol::Fetch>(&body)) {
        donate(from, *fetch, turn);
    } else if (const auto* chunk = std::get_if<protocol::Chunk>(&body)) {
        joining_.on(from, *chunk, received.payload, turn);
    } else if (const auto* refused_chunk = std::get_if<protocol::ChunkRefused>(&body)) {
        joining_.on(from, *refused_chunk, turn);
    } else if (!take_question(received, turn) && protocol::is_meant_for_a_hub(body)) {
        turn.out.add(node::Send{from, {0, 0, protocol::Misdirected{protocol::HubKind::StageServer}}}
        );
    }
}

template <class Message>
void StageServer::take_leg(
    const Message& leg, protocol::Leg direction, const node::Received& received, node::Turn turn
) {
    const protocol::LegId id{leg.version, leg.microbatch, leg.attempt, direction};
    if (!context_.slot || !context_.version) {
        context_.answer(
            received.peer, protocol::Refused{id, protocol::RefusedReason::NotAdmitted}, turn
        );
    } else if (context_.applying || leg.version > *context_.version) {
        defer(received, turn);
    } else if (leg.version < *context_.version) {
        context_.answer(received.peer, protocol::Refused{id, protocol::RefusedReason::Stale}, turn);
    } else {
        wave_.take(received.peer, leg, received.payload, turn);
    }
}

void StageServer::defer(const node::Received& received, node::Turn turn) {
    if (deferred_.size() >= protocol::kHeldForVersionMax) {
        // Strangers must not push out the frames of the run. The oldest of these is sent again, or
        // recalled.
        const auto stranger = std::ranges::find_if(deferred_, [&](const Deferred& deferred) {
            const PeerId from = deferred.received.peer;
            return from != context_.coordinator && !context_.roster.find_peer(from);
        });
        deferred_.erase(stranger == deferred_.end() ? deferred_.begin() : stranger);
    }
    deferred_.push_back({received, turn.now + kHoldNewerFor});
}

void StageServer::redeliver(node::Turn turn) {
    while (!decisions_.empty() && !context_.applying) {
        const node::Received decision = std::move(decisions_.front());
        decisions_.pop_front();
        take_decision(decision.message.body, turn);
    }
    for (const Deferred& deferred : std::exchange(deferred_, {})) {
        if (deferred.received.peer == context_.coordinator) {
            take_from_coordinator(deferred.received, turn);
        } else {
            take_from_peer(deferred.received, turn);
        }
    }
}

void StageServer::refuse_overdue(node::Turn turn) {
    while (!deferred_.empty() && deferred_.front().until <= turn.now) {
        const node::Received received = std::move(deferred_.front().received);
        deferred_.pop_front();
        const auto refuse = [&](const auto& leg, protocol::Leg direction) {
            const protocol::LegId id{leg.version, leg.microbatch, leg.attempt, direction};
            context_.answer(
                received.peer, protocol::Refused{id, protocol::RefusedReason::Behind}, turn
            );
        };
        if (const auto* forward = std::get_if<protocol::Forward>(&received.message.body)) {
            refuse(*forward, protocol::Leg::Forward);
        } else if (const auto* back = std::get_if<protocol::Backward>(&received.message.body)) {
            refuse(*back, protocol::Leg::Backward);
        } else if (const auto* held = std::get_if<protocol::Evaluate>(&received.message.body)) {
            context_.answer(received.peer, protocol::Evaluated{held->request, true, 0}, turn);
        }
    }
}

void StageServer::heartbeat(node::Turn turn) {
    beat_at_ = turn.now + kHeartbeatEvery;
    const protocol::Heartbeat beat{
        context_.version.value_or(ParameterVersion{}),
        context_.roster.number(),
        wave_.observed_rates(turn.now),
        context_.worker ? wave_.own_speeds(turn.now) : protocol::SelfMeasured{},
        links_.cut_off()};
    turn.out.add(node::Send{context_.coordinator, context_.control.unnumbered(beat)});
}

void StageServer::handle(const node::Asked& asked, node::Turn turn) {
    if (std::holds_alternative<node::DrainRequest>(asked.request) && !draining_) {
        draining_ = true;
        if (!context_.worker || (!context_.control_up && !context_.slot)) {
            end("left; nothing of the run was here", turn);
            return;
        }
        if (!context_.control_up) {
            end("left; the coordinator is gone, so no commit can come to wait for", turn);
            return;
        }
        leave_at_ = turn.now + kDrainMax;
        say_state(turn);
        ask_to_leave(turn);
    }
}

void StageServer::ask_to_leave(node::Turn turn) {
    context_.tell_coordinator(protocol::Leave{"asked to leave"}, turn);
}

void StageServer::handle(const node::Stop&, node::Turn turn) {
    if (context_.control_up && context_.slot && !draining_) {
        context_.tell_coordinator(protocol::Leave{"the process ends"}, turn);
    }
}

}  // namespace stages
