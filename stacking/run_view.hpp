// A client's view of a run: the configuration and the roster that the coordinator has told it.
// RunView dials the coordinator without end, says JOIN on every new control link, and sends a beat
// every 2 s; the answer to a beat brings the roster up to date when a message about it was lost
// with a link. If wanted, it fetches the file of the run's tokenizer, too.
// Invariant: configuration and roster stay as last heard while the coordinator is away, so that
// generating goes on. Threading: single strand. Source: step protocol, sections 3 and 7.
#pragma once

#include "stacking/tokenizer_fetch.hpp"
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
    /// `coordinator`: all zero means any peer that answers at the address.
    RunView(PeerId coordinator, std::string address)
        : expected_(coordinator), coordinator_(coordinator), address_(std::move(address)) {}

    // on() returns false when the event is about another peer.
    bool on(const node::LinkUp& up, node::Turn turn);
    bool on(const node::LinkDown& down, node::Turn turn);
    bool on(const node::DialFailed& failed, node::Turn turn);
    bool on(const node::Received& received, node::Turn turn);
    void wake(node::Turn turn);

    /// Makes the next wake() send a beat, as soon as the coordinator has answered.
    void beat_at_once() { beat_at_ = wire(node::Lane::Control).up ? swarm::kAtOnce : beat_at_; }

    [[nodiscard]] TimePoint next_deadline() const {
        return std::min({dial_at_, beat_at_, ask_at_});
    }

    /// All zero until a coordinator whose id is not known has answered.
    [[nodiscard]] PeerId coordinator() const { return coordinator_; }

    /// Null until the coordinator has told the configuration.
    [[nodiscard]] const swarm::run::RunConfig* config() const {
        return config_ ? &*config_ : nullptr;
    }

    [[nodiscard]] const swarm::run::Roster& roster() const { return roster_; }

    /// Returns true once after each change of the roster.
    bool take_roster_changed() { return std::exchange(roster_changed_, false); }

    [[nodiscard]] bool was_reached() const { return incarnation_.has_value(); }

    [[nodiscard]] bool is_linked() const {
        return wires_[static_cast<std::size_t>(node::Lane::Control)].up;
    }

    /// The coordinator's last answer to a beat: version and losses. Nothing before the first one.
    [[nodiscard]] const std::optional<protocol::HeartbeatReply>& progress() const {
        return progress_;
    }

    /// The coordinator has said that the run is finished.
    [[nodiscard]] bool is_finished() const { return finished_; }

    /// Why the last dial of the coordinator led to no link; nothing before the first failure.
    [[nodiscard]] const std::optional<swarm::Error>& dial_trouble() const { return dial_trouble_; }

    /// Why this program cannot read the coordinator's run file; nothing while it can.
    [[nodiscard]] const std::optional<std::string>& fatal() const { return fatal_; }

    /// Makes the view fetch the file of the run's tokenizer, if the run has one.
    void want_tokenizer() { wants_tokenizer_ = true; }

    /// The tokenizer of the run; null while the run is not known, or has none.
    [[nodiscard]] const TokenizerFetch* tokenizer() const {
        return tokenizer_ ? &*tokenizer_ : nullptr;
    }

    /// One line for people: the part of the view that is missing.
    [[nodiscard]] std::string status() const;

 private:
    struct Wire {
        bool up = false;
        bool dialing = false;
    };

    [[nodiscard]] Wire& wire(node::Lane lane) { return wires_[static_cast<std::size_t>(lane)]; }

    void greet(swarm::Incarnation incarnation, node::Turn turn);
    void take(const node::Received& received);
    void ask_for_tokenizer(node::Turn turn);

    PeerId expected_;
    PeerId coordinator_;
    std::string address_;
    std::optional<swarm::Incarnation> incarnation_;  // last coordinator's
    std::array<Wire, 2> wires_;                      // by node::Lane
    swarm::run::ControlStream stream_;
    std::optional<swarm::run::RunConfig> config_;
    swarm::run::Roster roster_{1};
    bool roster_changed_ = false;
    std::optional<protocol::HeartbeatReply> progress_;
    bool finished_ = false;
    std::optional<std::string> fatal_;
    bool wants_tokenizer_ = false;
    std::optional<TokenizerFetch> tokenizer_;
    bool asked_ = false;                // a question for the tokenizer is open
    TimePoint ask_at_ = swarm::kNever;  // time of the next question for the tokenizer
    TimePoint dial_at_ = swarm::kAtOnce;
    TimePoint beat_at_ = swarm::kNever;
    swarm::Duration pause_{};
    std::optional<swarm::Error> dial_trouble_;
};

}  // namespace stacking
