// What a client sees of a run: its configuration and its roster, as the coordinator tells them.
// Dials the coordinator for ever, says JOIN on every new control link, and beats every 2 s: an
// answer to a beat brings the roster up to date when a message about it was lost with a link.
// Invariant: config and roster stay as last heard while the coordinator is away, so generating
// goes on without it. Threading: single strand. Source: step protocol, sections 3 and 7.
#pragma once

#include "swarm/node/role.hpp"
#include "swarm/run/config.hpp"
#include "swarm/run/control_stream.hpp"
#include "swarm/run/roster.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

namespace stacking {

namespace node = swarm::node;
namespace protocol = swarm::protocol;
using swarm::PeerId;
using swarm::TimePoint;

class RunView {
 public:
    /// An all-zero `coordinator`: whoever answers at the address.
    RunView(PeerId coordinator, std::string address)
        : expected_(coordinator), coordinator_(coordinator), address_(std::move(address)) {}

    /// False: the event is about another peer.
    bool on(const node::LinkUp& up, node::Turn turn);
    bool on(const node::LinkDown& down, node::Turn turn);
    bool on(const node::DialFailed& failed, node::Turn turn);
    bool on(const node::Received& received, node::Turn turn);
    void wake(node::Turn turn);

    [[nodiscard]] TimePoint next_deadline() const { return std::min(dial_at_, beat_at_); }

    /// Null until the coordinator has told it.
    [[nodiscard]] const swarm::run::RunConfig* config() const {
        return config_ ? &*config_ : nullptr;
    }

    [[nodiscard]] const swarm::run::Roster& roster() const { return roster_; }

    /// True once after each change.
    bool take_roster_changed() { return std::exchange(roster_changed_, false); }

    [[nodiscard]] bool was_reached() const { return incarnation_.has_value(); }

    /// The coordinator runs something that this program cannot read.
    [[nodiscard]] const std::optional<std::string>& fatal() const { return fatal_; }

    /// What is missing, for people.
    [[nodiscard]] std::string status() const;

 private:
    struct Wire {
        bool up = false;
        bool dialing = false;
    };

    [[nodiscard]] Wire& wire(node::Lane lane) { return wires_[static_cast<std::size_t>(lane)]; }

    void greet(swarm::Incarnation incarnation, node::Turn turn);
    void take(const protocol::Body& body);

    PeerId expected_;
    PeerId coordinator_;
    std::string address_;
    std::optional<swarm::Incarnation> incarnation_;  // of the coordinator heard last
    std::array<Wire, 2> wires_;                      // by node::Lane
    swarm::run::ControlStream stream_;
    std::optional<swarm::run::RunConfig> config_;
    swarm::run::Roster roster_{1};
    bool roster_changed_ = false;
    std::optional<std::string> fatal_;
    TimePoint dial_at_ = swarm::kAtOnce;
    TimePoint beat_at_ = swarm::kNever;
    swarm::Duration pause_{};
};

}  // namespace stacking
