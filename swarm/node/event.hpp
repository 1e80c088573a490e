// Everything that can happen to a role. The rules of order and number are in role.hpp.
#pragma once

#include "swarm/base/ids.hpp"
#include "swarm/base/result.hpp"
#include "swarm/base/units.hpp"
#include "swarm/node/payload.hpp"
#include "swarm/protocol/frame.hpp"
#include "swarm/protocol/message.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace swarm::node {

using protocol::Lane;

/// A link to the peer carries messages of this lane from now on.
struct LinkUp {
    PeerId peer;
    Lane lane = Lane::Control;
    Incarnation incarnation;  // of the other side
    bool dialed = false;      // the answer to a Dial of ours
};

/// The link is gone, whoever ended it; what was on its way may be lost.
struct LinkDown {
    PeerId peer;
    Lane lane = Lane::Control;
};

/// The answer to a Dial that brought no link.
struct DialFailed {
    PeerId peer;
    Lane lane = Lane::Control;
    Error error;
};

struct Received {
    PeerId peer;
    Lane lane = Lane::Control;
    protocol::Message message;
    Payload payload;
};

/// The job of this Compute has run; the role holds the object with its outcome.
struct Computed {
    JobId job;
    Duration took{};
};

/// What this Append or WriteFile wrote survives a power cut.
struct Stored {
    StoreId store;
};

/// All records ever appended by this peer, oldest first.
struct Loaded {
    std::vector<std::string> records;
};

/// next_deadline() has passed.
struct Woke {};

/// Finish what is held, then leave (first SIGINT or SIGTERM).
struct DrainRequest {};

/// Continue this prompt.
struct GenerateRequest {
    std::uint64_t request = 0;
    std::vector<std::uint32_t> prompt;
    std::uint32_t tokens = 0;  // how many to add
    double temperature = 0;    // 0: the most likely token
    std::uint64_t seed = 0;
};

/// One of the models whose mean is asked.
struct StackMember {
    Digest model;
    double prior = 1;  // positive; in proportion to those of the others
};

/// Layers that a text goes through, of one of several models.
struct ChainMember {
    Digest model;
    std::optional<protocol::LayerRange> layers{};  // none: all
    /// It reads its own embedding of the token, and the rows of the member before it over a bridge,
    /// which is a part of what `model` names.
    bool bridged = false;
};

/// Continue this prompt in a session of its own (stacking/sessions).
struct SessionRequest {
    std::uint64_t request = 0;
    std::vector<std::uint32_t> prompt;
    std::uint32_t tokens = 0;  // how many to add
    protocol::Sampling sampling;
    std::vector<std::uint32_t> path;  // stages in the order they are gone through; empty: each once
    double exit_threshold = 2;        // of a token's probability; above 1: never exit early
    bool exact = true;                // after a loss, repeat the calls as they were
    /// None: one model. Else each of these reads the text, and their mean gives the next token.
    std::vector<StackMember> members{};
    /// None: one model. Else the layers of these, one after the other, are the path.
    std::vector<ChainMember> chain{};
    /// Of the rows between hops, link by link; the last one is that of all further links.
    std::vector<protocol::RowCodec> codecs{};
    /// From the first member's answer to the last: who is later is left out from there on.
    Duration late_after = std::chrono::seconds(10);
};

/// Give up this request; nothing more is told of it.
struct CancelRequest {
    std::uint64_t request = 0;
};

/// The run may end: servers may go (see protocol::Finished).
struct ReleaseRequest {};

/// A request of the process itself, not of a peer.
struct Asked {
    std::variant<DrainRequest, GenerateRequest, ReleaseRequest, SessionRequest, CancelRequest>
        request;
};

/// The process is about to end; the actions of this turn are the role's last.
struct Stop {};

using Event = std::
    variant<LinkUp, LinkDown, DialFailed, Received, Computed, Stored, Loaded, Woke, Asked, Stop>;

}  // namespace swarm::node
