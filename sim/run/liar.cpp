#include "sim/run/liar.hpp"

#include "swarm/protocol/frame.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace sim {

namespace protocol = swarm::protocol;
using namespace std::chrono_literals;
using node::Lane;

namespace {

constexpr std::size_t kSeenMax = 96;
constexpr std::size_t kLateMax = 64;
constexpr swarm::Duration kHonestFirst = 15s;
constexpr swarm::Duration kLateByMax = 4s;
constexpr swarm::Duration kHabitMax = 6s;
/// Most lies are of a training run: its messages come first in Body.
constexpr std::size_t kRunKinds = 29;
constexpr std::uint64_t kFarEpoch = 1000;

/// The message as its receiver would decode it; nothing if a validator refuses it.
std::optional<protocol::Message> as_decoded(protocol::Message message) {
    const auto kind = static_cast<std::uint16_t>(message.body.index());
    swarm::Result<protocol::Message> decoded =
        protocol::decode_control(kind, protocol::encode_control(message));
    return decoded ? std::optional(std::move(*decoded)) : std::nullopt;
}

}  // namespace

const char* name_of(Lie lie) {
    constexpr std::array<const char*, kLies> kNames{
        "withheld",
        "delayed",
        "changed",
        "replayed",
        "replayed and changed",
        "invented",
        "hung up"};
    return kNames.at(static_cast<std::size_t>(lie));
}

void LieCounts::add(const LieCounts& other) {
    for (std::size_t i = 0; i < by_lie.size(); ++i) {
        by_lie[i] += other.by_lie[i];
    }
    for (std::size_t i = 0; i < by_message.size(); ++i) {
        by_message[i] += other.by_message[i];
    }
    spared += other.spared;
}

Liar::Liar(Options options, std::unique_ptr<node::Role> honest)
    : options_(std::move(options)),
      honest_(std::move(honest)),
      rng_(options_.seed, name_bits(options_.self, 0x11a5)) {
    constexpr std::array<std::uint64_t, 4> kChanges{0, 8, 64, 256};
    changes_in_1024_ = kChanges[rng_.below(kChanges.size())];
    between_lies_ = 20ms + up_to(1s);
    bent_.invents = rng_.below(kRunKinds);
    if (rng_.chance(1, 4)) {
        bent_.withholds = rng_.below(kRunKinds);
    }
    bent_.invents = options_.bent.invents ? options_.bent.invents : bent_.invents;
    bent_.withholds = options_.bent.withholds ? options_.bent.withholds : bent_.withholds;
    words_.peers.add(options_.self);
    words_.peers.add(options_.coordinator);
}

swarm::Duration Liar::up_to(swarm::Duration most) {
    return std::chrono::milliseconds(rng_.below(static_cast<std::uint64_t>(most / 1ms) + 1));
}

swarm::TimePoint Liar::next_deadline() const {
    swarm::TimePoint due = next_lie_;
    if (honest_) {
        due = std::min(due, honest_->next_deadline());
    }
    return late_.empty() ? due : std::min(due, late_.front().due);
}

void Liar::on(const node::Event& event, swarm::TimePoint now, node::Outbox& out) {
    const node::Turn turn{now, out};
    if (!std::exchange(started_, true)) {
        honest_until_ = now + up_to(kHonestFirst);
        next_lie_ = honest_until_;
    }
    note(event);
    const bool woke = std::holds_alternative<node::Woke>(event);
    if (honest_ && (!woke || honest_->next_deadline() <= now)) {
        node::Outbox honest;
        honest_->on(event, now, honest);
        for (node::Action& action : honest.actions) {
            pass_on(std::move(action), turn);
        }
    }
    const auto* const received = std::get_if<node::Received>(&event);
    const bool by_boss = received != nullptr && received->peer == options_.coordinator;
    if (by_boss && now >= honest_until_ && rng_.chance(1, 4) && options_.may_lie()) {
        invent(options_.coordinator, *bent_.invents, Names::Current, turn);
    }
    while (!late_.empty() && late_.front().due <= now) {
        out.add(std::move(late_.front().send));
        late_.pop_front();
    }
    if (next_lie_ <= now) {
        next_lie_ = now + 1ms + up_to(2 * between_lies_);
        if (options_.may_lie()) {
            tell_lie(turn);
        } else {
            ++options_.counts->spared;
        }
    }
}

void Liar::note(const node::Event& event) {
    if (const auto* const up = std::get_if<node::LinkUp>(&event)) {
        links_.insert({up->peer, up->lane});
        if (up->dialed) {
            dialing_.erase({up->peer, up->lane});
        }
    } else if (const auto* const down = std::get_if<node::LinkDown>(&event)) {
        links_.erase({down->peer, down->lane});
    } else if (const auto* const failed = std::get_if<node::DialFailed>(&event)) {
        dialing_.erase({failed->peer, failed->lane});
    } else if (const auto* const received = std::get_if<node::Received>(&event)) {
        const Body& body = received->message.body;
        words_.peers.add(received->peer);
        if (received->peer == options_.coordinator) {
            words_.believe(body);
        } else {
            words_.learn(body);
        }
        const auto* const roster = std::get_if<protocol::Roster>(&body);
        if (roster && received->peer == options_.coordinator) {
            const auto* const info = roster->slots.find_peer(options_.self);
            is_listed_ = info != nullptr;
            if (info) {
                own_slots_.insert(info->slot);
            }
        }
        remember({received->peer, body, received->payload, false});
    }
}

void Liar::remember(Seen seen) {
    if (seen_.size() < kSeenMax) {
        seen_.push_back(std::move(seen));
    } else {
        seen_[next_seen_++ % kSeenMax] = std::move(seen);
    }
}

void Liar::pass_on(node::Action&& action, node::Turn turn) {
    if (auto* const send = std::get_if<node::Send>(&action)) {
        pass_on(std::move(*send), turn);
    } else {
        turn.out.actions.push_back(std::move(action));
    }
}

void Liar::pass_on(node::Send&& send, node::Turn turn) {
    remember({send.peer, send.message.body, send.payload, true});
    const bool may_lie = turn.now >= honest_until_ && options_.may_lie();
    const bool habit = may_lie && withholds(send.message.body, turn.now);
    const bool changes = may_lie && bent_.invents == send.message.body.index() && rng_.chance(1, 4);
    if (!may_lie || (!habit && !changes && !rng_.chance(changes_in_1024_, 1024))) {
        turn.out.add(std::move(send));
        return;
    }
    const std::uint64_t which = habit ? 0 : changes ? 2 : rng_.below(3);
    const bool numbered = send.message.number != 0;
    if (which == 0 || (numbered && which == 1)) {
        count(Lie::Withheld, send.message.body);
        if (numbered) {  // the stream must not have a gap
            send.message.body = protocol::Acknowledge{};
            turn.out.add(std::move(send));
        }
    } else if (which == 1 && late_.size() < kLateMax) {
        count(Lie::Delayed, send.message.body);
        const swarm::TimePoint due = turn.now + up_to(kLateByMax);
        const auto place = std::find_if(late_.begin(), late_.end(), [&](const Late& late) {
            return late.due > due;
        });
        late_.insert(place, Late{due, std::move(send)});
    } else {
        protocol::Message changed = send.message;
        if (change_own(changed.body)) {
            if (auto decoded = as_decoded(std::move(changed))) {
                count(Lie::Changed, decoded->body);
                send.message = std::move(*decoded);
            }
        }
        turn.out.add(std::move(send));
    }
}

bool Liar::withholds(const Body& body, swarm::TimePoint now) {
    if (habit_.until <= now && rng_.chance(1, 256)) {
        habit_ = {body.index(), now + up_to(kHabitMax)};
    }
    return bent_.withholds == body.index() || (now < habit_.until && habit_.kind == body.index());
}

std::size_t Liar::draw_kind() {
    if (rng_.chance(1, 3)) {
        return *bent_.invents;
    }
    return rng_.below(rng_.chance(7, 8) ? kRunKinds : protocol::kMessageKinds);
}

/// Work for others keeps its numbers: only its names are changed, to some that are never right.
bool Liar::change_own(Body& body) {
    // The first epoch of each step has the same number, so the step alone would be right one day.
    const std::uint64_t ahead = rng_.below(2);
    if (auto* const forward = std::get_if<protocol::Forward>(&body)) {
        forward->attempt.value += kFarEpoch;
        forward->version.step += ahead;
    } else if (auto* const backward = std::get_if<protocol::Backward>(&body)) {
        backward->attempt.value += kFarEpoch;
        backward->version.step += ahead;
    } else if (auto* const part = std::get_if<protocol::Part>(&body)) {
        part->epoch.value += kFarEpoch;
        part->version.step += ahead;
    } else if (auto* const path = std::get_if<protocol::Path>(&body)) {
        path->attempt.value += kFarEpoch;
        path->version.step += ahead;
    } else if (!words_.change(body, rng_)) {
        return false;
    }
    return !is_wrong_work(body) || !std::holds_alternative<protocol::Held>(body);
}

bool Liar::is_own(const std::vector<swarm::SlotId>& path) const {
    return std::ranges::any_of(path, [&](swarm::SlotId slot) { return own_slots_.contains(slot); });
}

/// True where a receiver must take the numbers for those of a member that it has asked for them.
bool Liar::is_wrong_work(const Body& body) const {
    if (const auto* const forward = std::get_if<protocol::Forward>(&body)) {
        return is_own(forward->path);
    }
    if (const auto* const backward = std::get_if<protocol::Backward>(&body)) {
        return is_own(backward->path);
    }
    if (const auto* const path = std::get_if<protocol::Path>(&body)) {
        return is_own(path->path);
    }
    if (const auto* const held = std::get_if<protocol::Held>(&body)) {
        return !held->losses.empty();
    }
    return is_listed_ && std::holds_alternative<protocol::Part>(body);
}

std::optional<PeerId> Liar::pick_victim() {
    if (rng_.chance(2, 5) || (!honest_ && options_.victims.empty())) {
        return options_.coordinator;
    }
    if (!honest_) {
        return options_.victims[rng_.below(options_.victims.size())];
    }
    std::vector<PeerId> linked;
    for (const auto& [peer, lane] : links_) {
        if (lane == Lane::Control) {
            linked.push_back(peer);
        }
    }
    return linked.empty() ? std::nullopt : std::optional(linked[rng_.below(linked.size())]);
}

void Liar::meet(PeerId victim, node::Turn turn) {
    for (const Lane lane : {Lane::Control, Lane::Bulk}) {
        if (!links_.contains({victim, lane}) && dialing_.insert({victim, lane}).second) {
            turn.out.add(node::Dial{victim, lane, "sim:" + std::to_string(victim.words[0])});
        }
    }
}

void Liar::tell_lie(node::Turn turn) {
    const std::optional<PeerId> victim = pick_victim();
    if (!victim) {
        return;
    }
    if (!honest_ && !links_.contains({*victim, Lane::Control})) {
        return meet(*victim, turn);
    }
    if (rng_.chance(1, 64)) {
        const Lane lane = rng_.chance(1, 2) ? Lane::Control : Lane::Bulk;
        count(Lie::HungUp, Body{});
        turn.out.add(node::Close{*victim, lane});
        return;
    }
    const std::uint64_t which = rng_.below(3);
    if (which < 2 && !seen_.empty()) {
        Seen seen = seen_[rng_.below(seen_.size())];
        if (which == 0) {
            // Its own work goes to the peer that it was for: one attempt has one successor.
            const bool is_work = is_wrong_work(seen.body);
            if (!is_work || seen.own) {
                say(is_work ? seen.other : *victim,
                    std::move(seen.body),
                    std::move(seen.payload),
                    Lie::Replayed,
                    turn);
            }
        } else if (words_.change(seen.body, rng_) && !is_wrong_work(seen.body)) {
            say(*victim,
                std::move(seen.body),
                std::move(seen.payload),
                Lie::ReplayChanged,
                turn);
        }
        return;
    }
    invent(*victim, draw_kind(), Names::Any, turn);
}

void Liar::invent(PeerId to, std::size_t kind, Names names, node::Turn turn) {
    Body body = words_.invent(kind, names, rng_);
    if (is_wrong_work(body)) {
        return;
    }
    node::Payload payload;
    if (protocol::carries_tensor(static_cast<std::uint16_t>(body.index())) && !seen_.empty()) {
        payload = seen_[rng_.below(seen_.size())].payload;
    }
    say(to, std::move(body), std::move(payload), Lie::Invented, turn);
}

void Liar::say(PeerId to, Body body, node::Payload payload, Lie lie, node::Turn turn) {
    if (auto decoded = as_decoded({0, 0, std::move(body)})) {
        count(lie, decoded->body);
        turn.out.add(node::Send{to, std::move(*decoded), std::move(payload)});
    }
}

void Liar::count(Lie lie, const Body& body) {
    ++options_.counts->by_lie.at(static_cast<std::size_t>(lie));
    if (lie != Lie::HungUp) {
        ++options_.counts->by_message.at(body.index());
    }
}

}  // namespace sim
