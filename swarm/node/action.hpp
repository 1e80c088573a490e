// Everything a role can ask for. Actions are values: the host carries them out after the turn.
#pragma once

#include "swarm/base/ids.hpp"
#include "swarm/node/job.hpp"
#include "swarm/node/payload.hpp"
#include "swarm/node/report.hpp"
#include "swarm/protocol/frame.hpp"
#include "swarm/protocol/message.hpp"

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace swarm::node {

using protocol::Lane;

/// Answered by exactly one LinkUp or DialFailed. One Dial per peer and lane at a time.
/// An empty address: where the host was told that this peer lives.
struct Dial {
    PeerId peer;
    Lane lane = Lane::Control;
    std::string address;  // host:port
};

/// Ends the link after what was sent before has left. Without a link: nothing happens.
struct Close {
    PeerId peer;
    Lane lane = Lane::Control;
};

/// Travels on the lane of its kind (protocol::lane_of).
struct Send {
    PeerId peer;
    protocol::Message message;
    Payload payload = {};
};

/// Runs the job on this peer's device, after all earlier ones. Answered by Computed, if wanted.
struct Compute {
    JobId job;
    std::shared_ptr<Job> work;
    bool answered = true;
};

/// Appends a record to this peer's log. A durable one is answered by Stored, in order, after
/// fsync; another is written with the next durable one at the latest, and not answered.
struct Append {
    StoreId store;
    std::string record;
    bool durable = true;
};

/// Writes a file of this peer, whole or not at all: temporary name, fsync, rename, fsync of the
/// directory. Answered by Stored, in order with Append. Names are relative, '/' makes folders.
struct WriteFile {
    StoreId store;
    std::string name;
    std::vector<Payload> parts;
};

/// Answered by Loaded.
struct Load {};

/// Tells the people who run the peer; no role ever reads it.
struct Tell {
    Report report;
};

using Action = std::variant<Dial, Close, Send, Compute, Append, WriteFile, Load, Tell>;

struct Outbox {
    std::vector<Action> actions;

    /// Builds the action in place: moving a variant costs, and makes gcc 12 warn of members unset.
    template <class Asked>
    void add(Asked asked) {
        actions.emplace_back(std::in_place_type<Asked>, std::move(asked));
    }

    void log(LogLine::Level level, std::string text) { add(Tell{LogLine{level, std::move(text)}}); }
};

}  // namespace swarm::node
