#include "tests/conformance/probe.hpp"

#include "tests/describe_event.hpp"

#include <variant>

namespace swarm::test {
namespace {

std::string kind_of(const protocol::Message& message) {
    if (const auto* leave = std::get_if<protocol::Leave>(&message.body)) {
        return "Leave(" + leave->reason + ")";
    }
    return std::holds_alternative<protocol::Chunk>(message.body) ? "Chunk" : "other";
}

}  // namespace

std::string describe(const node::Event& event, const Names& names) {
    const auto where = [&](const PeerId& peer, node::Lane lane) {
        const auto found = names.find(peer);
        const std::string name = found == names.end() ? "stranger" : found->second;
        return name + (lane == node::Lane::Control ? " control" : " bulk");
    };
    return describe_event(event, where, kind_of);
}

void Probe::on(const node::Event& event, TimePoint now, node::Outbox& out) {
    diary_->re_entered = diary_->re_entered || std::exchange(in_turn_, true);
    const std::string what = describe(event, names_);
    diary_->events.push_back(what);
    diary_->times.push_back(now);
    if (const auto* received = std::get_if<node::Received>(&event)) {
        diary_->last_payload = received->payload;
    }
    if (const auto* up = std::get_if<node::LinkUp>(&event)) {
        diary_->incarnations.push_back(up->incarnation);
        diary_->dialed.push_back(up->dialed);
    }
    if (std::holds_alternative<node::Woke>(event)) {
        diary_->woken_early = diary_->woken_early || now < due_;
        due_ = kNever;
    }
    act(what, now, out);
    in_turn_ = false;
}

void Probe::act(const std::string& what, TimePoint now, node::Outbox& out) {
    for (Rule& rule : script_) {
        if (rule.when != what) {
            continue;
        }
        rule.when.clear();
        for (const node::Action& action : rule.actions) {
            out.actions.push_back(action);
        }
        if (rule.wake_after) {
            due_ = now + *rule.wake_after;
        }
    }
}

}  // namespace swarm::test
