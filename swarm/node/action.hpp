// The actions: everything that a role can ask its host for. Actions are values, which the host
// carries out after the turn.
#pragma once

#include "swarm/base/ids.hpp"
#include "swarm/node/job.hpp"
#include "swarm/node/payload.hpp"
#include "swarm/node/report.hpp"
#include "swarm/protocol/frame.hpp"
#include "swarm/protocol/message.hpp"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace swarm::node {

using protocol::Lane;

/// Asks for a link. Exactly one LinkUp or DialFailed answers it. A role has at most one unanswered
/// Dial per peer and lane. With an empty address the host dials the address that it was told for
/// this peer.
struct Dial {
    PeerId peer;
    Lane lane = Lane::Control;
    std::string address;  // host:port
};

/// Ends the link once everything that was sent before has left. Without a link nothing happens.
struct Close {
    PeerId peer;
    Lane lane = Lane::Control;
};

/// Sends a message on the lane of its kind (protocol::lane_of).
struct Send {
    PeerId peer;
    protocol::Message message;
    Payload payload = {};
};

/// Runs a job on this peer's device, after all earlier jobs. Computed answers it when `answered` is
/// true.
struct Compute {
    JobId job;
    std::shared_ptr<Job> work;
    bool answered = true;
};

/// Appends a record to this peer's log. Stored answers a durable record, in order, after fsync. A
/// record that is not durable is written with the next durable record at the latest, and has no
/// answer.
struct Append {
    StoreId store;
    std::string record;
    bool durable = true;
};

/// Writes a file of this peer, whole or not at all: under a temporary name, with fsync, rename and
/// fsync of the folder. Stored answers it, in one order with the durable Appends. Names are
/// relative; '/' makes folders.
struct WriteFile {
    StoreId store;
    std::string name;
    std::vector<Payload> parts;
    /// Gives the last part, where it takes long to make. The host calls it once, where the file is
    /// written, after those of earlier files, so it must not touch what the role uses meanwhile.
    std::function<Payload()> late_part = {};
};

/// Asks for all records of this peer's log; Loaded answers it.
struct Load {};

/// Tells something to the people who run the peer; no role ever reads it.
struct Tell {
    Report report;
};

using AnyAction = std::variant<Dial, Close, Send, Compute, Append, WriteFile, Load, Tell>;

/// One request of a role to its host. Its copies and moves are compiled once, in action.cpp.
class Action : public AnyAction {
 public:
    using AnyAction::AnyAction;

    Action();
    Action(const Action& other);
    Action(Action&& other) noexcept;
    Action& operator=(const Action& other);
    Action& operator=(Action&& other) noexcept;
    ~Action();
};

struct Outbox {
    std::vector<Action> actions;

    /// Builds the action in place, because moving a variant costs time. The function is compiled
    /// once for each kind of action, in action.cpp.
    template <class Asked>
    void add(Asked asked);

    void log(LogLine::Level level, std::string text);
};

extern template void Outbox::add(Dial);
extern template void Outbox::add(Close);
extern template void Outbox::add(Send);
extern template void Outbox::add(Compute);
extern template void Outbox::add(Append);
extern template void Outbox::add(WriteFile);
extern template void Outbox::add(Load);
extern template void Outbox::add(Tell);

}  // namespace swarm::node
