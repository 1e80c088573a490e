#include "tests/conformance/probe.hpp"

#include <variant>

namespace swarm::test {
namespace {

class Describer {
 public:
    explicit Describer(const Names& names) : names_(names) {}

    std::string operator()(const node::LinkUp& up) const { return "LinkUp " + where(up); }

    std::string operator()(const node::LinkDown& down) const { return "LinkDown " + where(down); }

    std::string operator()(const node::DialFailed& failed) const {
        return "DialFailed " + where(failed);
    }

    std::string operator()(const node::Received& received) const {
        return "Received " + where(received) + " " + kind(received.message.body) + " " +
               std::to_string(received.payload.bytes().size());
    }

    std::string operator()(const node::Computed& computed) const {
        return "Computed " + std::to_string(computed.job.value);
    }

    std::string operator()(const node::Stored& stored) const {
        return "Stored " + std::to_string(stored.store.value);
    }

    std::string operator()(const node::Loaded& loaded) const {
        std::string all = "Loaded";
        for (const std::string& record : loaded.records) {
            all += " [" + record + "]";
        }
        return all;
    }

    std::string operator()(const node::Woke&) const { return "Woke"; }

    std::string operator()(const node::Asked& asked) const {
        return "Asked " + std::to_string(asked.request.index());
    }

    std::string operator()(const node::Stop&) const { return "Stop"; }

 private:
    template <class AboutLink>
    [[nodiscard]] std::string where(const AboutLink& event) const {
        const auto found = names_.find(event.peer);
        const std::string name = found == names_.end() ? "stranger" : found->second;
        return name + (event.lane == node::Lane::Control ? " control" : " bulk");
    }

    static std::string kind(const protocol::Body& body) {
        if (const auto* leave = std::get_if<protocol::Leave>(&body)) {
            return "Leave(" + leave->reason + ")";
        }
        return std::holds_alternative<protocol::Chunk>(body) ? "Chunk" : "other";
    }

    const Names& names_;
};

}  // namespace

std::string describe(const node::Event& event, const Names& names) {
    return std::visit(Describer(names), event);
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
