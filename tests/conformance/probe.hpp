// A role that writes down its events and acts by a script: a rule names an event and the actions
// that follow it. Each rule fires once. A probe asks for one Woke at its start, unless told
// otherwise.
#pragma once

#include "swarm/node/role.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace swarm::test {

/// Names for PeerIds, which differ from bed to bed.
using Names = std::map<PeerId, std::string>;

/// Returns one word for the event, then the details that matter: "Received bert control Leave(why)
/// 0" is a Leave without a payload, "Computed 7" the end of job 7.
std::string describe(const node::Event& event, const Names& names);

struct Rule {
    std::string when;
    std::vector<node::Action> actions;
    std::optional<Duration> wake_after = {};
};

/// The events that a probe saw; it outlives the probe, so that a crash can be examined.
struct Diary {
    std::vector<std::string> events;
    std::vector<TimePoint> times;
    std::vector<Incarnation> incarnations;  // from each LinkUp
    std::vector<bool> dialed;               // from each LinkUp
    node::Payload last_payload;
    bool woken_early = false;
    bool re_entered = false;
};

class Probe final : public node::Role {
 public:
    Probe(
        std::vector<Rule> script,
        std::shared_ptr<Diary> diary,
        Names names,
        TimePoint first_deadline
    )
        : script_(std::move(script)),
          diary_(std::move(diary)),
          names_(std::move(names)),
          due_(first_deadline) {}

    void on(const node::Event& event, TimePoint now, node::Outbox& out) override;

    [[nodiscard]] TimePoint next_deadline() const override { return due_; }

 private:
    void act(const std::string& what, TimePoint now, node::Outbox& out);

    std::vector<Rule> script_;
    std::shared_ptr<Diary> diary_;
    Names names_;
    TimePoint due_;
    bool in_turn_ = false;
};

}  // namespace swarm::test
