#include "stacking/run_view.hpp"

#include <algorithm>
#include <variant>

namespace stacking {

using node::Lane;

namespace {

constexpr swarm::Duration kPauseFirst = std::chrono::milliseconds(100);
constexpr swarm::Duration kPauseMax = std::chrono::seconds(1);
constexpr swarm::Duration kBeatEvery = std::chrono::seconds(2);
constexpr swarm::Duration kAskAgainAfter = std::chrono::seconds(5);

}  // namespace

bool RunView::on(const node::LinkUp& up, node::Turn turn) {
    // A stranger may dial this peer before the coordinator has answered: that is no answer.
    const bool answers = up.dialed && coordinator_ == PeerId{} && wire(up.lane).dialing;
    if (!answers && up.peer != coordinator_) {
        return false;
    }
    coordinator_ = up.peer;
    wire(up.lane) = {.up = true, .dialing = false};
    pause_ = kPauseFirst;
    if (up.lane == Lane::Control) {
        greet(up.incarnation, turn);
    }
    ask_for_tokenizer(turn);
    return true;
}

void RunView::greet(swarm::Incarnation incarnation, node::Turn turn) {
    beat_at_ = turn.now + kBeatEvery;
    if (incarnation_ != incarnation) {
        // Another coordinator process: its stream and its roster numbers start from the beginning.
        incarnation_ = incarnation;
        stream_.reset();
        roster_ = swarm::run::Roster(config_ ? config_->stages : 1);
    }
    bool joins = false;
    for (protocol::Message& message : stream_.unacknowledged()) {
        joins = joins || std::holds_alternative<protocol::Join>(message.body);
        turn.out.add(node::Send{coordinator_, std::move(message)});
    }
    if (!joins) {
        protocol::Join join;
        join.client = true;
        turn.out.add(node::Send{coordinator_, stream_.number(std::move(join))});
    }
}

bool RunView::on(const node::LinkDown& down, node::Turn turn) {
    if (down.peer != coordinator_) {
        return false;
    }
    wire(down.lane).up = false;
    if (down.lane == Lane::Control) {
        beat_at_ = swarm::kNever;
    }
    dial_at_ = turn.now + pause_;
    return true;
}

bool RunView::on(const node::DialFailed& failed, node::Turn turn) {
    if (failed.peer != coordinator_ && failed.peer != PeerId{}) {
        return false;
    }
    wire(failed.lane).dialing = false;
    dial_trouble_ = failed.error;
    pause_ = std::clamp(2 * pause_, kPauseFirst, kPauseMax);
    dial_at_ = turn.now + pause_;
    const bool alone = std::none_of(wires_.begin(), wires_.end(), [](const Wire& line) {
        return line.up || line.dialing;
    });
    if (alone) {
        coordinator_ = expected_;  // a restarted coordinator may have another identity
    }
    return true;
}

bool RunView::on(const node::Received& received, node::Turn turn) {
    if (received.peer != coordinator_) {
        return false;
    }
    using Verdict = swarm::run::ControlStream::Verdict;
    const Verdict verdict = stream_.receive(received.message);
    if (verdict == Verdict::Broken) {
        turn.out.add(node::Close{received.peer, Lane::Control});
    } else if (verdict == Verdict::Deliver) {
        take(received);
        ask_for_tokenizer(turn);
    }
    if (stream_.owes_acknowledgement()) {
        turn.out.add(node::Send{received.peer, stream_.unnumbered(protocol::Acknowledge{})});
    }
    return true;
}

/// Asks when a question is due and both links are up: the answer comes on the bulk lane.
void RunView::ask_for_tokenizer(node::Turn turn) {
    const bool asks = tokenizer_ && !tokenizer_->is_whole() && tokenizer_->failure().empty();
    const bool is_up = wire(Lane::Control).up && wire(Lane::Bulk).up;
    if (!asks || !is_up) {
        ask_at_ = swarm::kNever;
        asked_ = false;
        return;
    }
    if (!asked_ || ask_at_ <= turn.now) {
        asked_ = true;
        ask_at_ = turn.now + kAskAgainAfter;
        turn.out.add(node::Send{coordinator_, stream_.unnumbered(tokenizer_->question())});
    }
}

void RunView::take(const node::Received& received) {
    const protocol::Body& body = received.message.body;
    if (const auto* chunk = std::get_if<protocol::Chunk>(&body)) {
        asked_ = asked_ && !(tokenizer_ && tokenizer_->take(*chunk, received.payload.bytes()));
    } else if (const auto* refused = std::get_if<protocol::ChunkRefused>(&body)) {
        asked_ = asked_ && !(tokenizer_ && tokenizer_->take(*refused));
    } else if (const auto* assign = std::get_if<protocol::Assign>(&body)) {
        auto config = swarm::run::parse_run(assign->run_file, "run file of the coordinator");
        if (config) {
            config_ = std::move(*config);
            const std::string& digest = config_->tokenizer_sha256;
            if (wants_tokenizer_ && !digest.empty() &&
                !(tokenizer_ && tokenizer_->sha256() == digest)) {
                tokenizer_.emplace(digest);
                asked_ = false;
            }
        } else {
            fatal_ = config.error().detail;
        }
    } else if (const auto* roster = std::get_if<protocol::Roster>(&body)) {
        roster_changed_ = roster_.replace(*roster) || roster_changed_;
    } else if (const auto* reply = std::get_if<protocol::HeartbeatReply>(&body)) {
        progress_ = *reply;
    } else if (const auto* finished = std::get_if<protocol::Finished>(&body)) {
        finished_ = true;
        if (progress_) {
            progress_->version = finished->version;
        }
    }
}

void RunView::wake(node::Turn turn) {
    if (dial_at_ <= turn.now) {
        dial_at_ = swarm::kNever;
        for (const Lane lane : {Lane::Control, Lane::Bulk}) {
            if (!wire(lane).up && !wire(lane).dialing) {
                wire(lane).dialing = true;
                turn.out.add(node::Dial{coordinator_, lane, address_});
            }
        }
    }
    if (beat_at_ <= turn.now) {
        beat_at_ = turn.now + kBeatEvery;
        const protocol::Heartbeat beat{{}, roster_.number(), {}};
        turn.out.add(node::Send{coordinator_, stream_.unnumbered(beat)});
    }
    ask_for_tokenizer(turn);
}

std::string RunView::status() const {
    if (!was_reached()) {
        return "no coordinator at " + address_;
    }
    return config_ ? "no member of the first stage answers"
                   : "the coordinator has not told the run yet";
}

}  // namespace stacking
