// The events: everything that can happen to a role. role.hpp has the rules for their order and
// number.
#pragma once

#include "swarm/base/ids.hpp"
#include "swarm/base/result.hpp"
#include "swarm/base/units.hpp"
#include "swarm/node/payload.hpp"
#include "swarm/node/web.hpp"
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
    Incarnation incarnation;  // identifies the peer's process
    bool dialed = false;      // true: this event answers a Dial of the role
    /// The network from which the link comes, as a quota counts it: the first 24 bits of an IPv4
    /// address, the first 48 bits of an IPv6 address. A simulated peer has one of its own.
    std::uint64_t network = 0;
};

/// The link is gone, whichever side ended it; messages that were on their way may be lost.
struct LinkDown {
    PeerId peer;
    Lane lane = Lane::Control;
};

/// Answers a Dial that led to no link.
struct DialFailed {
    PeerId peer;
    Lane lane = Lane::Control;
    Error error;
};

/// A message came in from the peer.
struct Received {
    PeerId peer;
    Lane lane = Lane::Control;
    protocol::Message message;
    Payload payload;
};

/// The job of a Compute has run; the role holds the object with its outcome.
struct Computed {
    JobId job;
    Duration took{};
};

/// The record or file of an Append or WriteFile is on disk: it survives a power cut.
struct Stored {
    StoreId store;
};

/// Answers Load with all records that this peer ever appended, oldest first.
struct Loaded {
    std::vector<std::string> records;
};

/// The role's next_deadline() has passed.
struct Woke {};

/// Asks a server to finish the work that it holds and then to leave (first SIGINT or SIGTERM).
struct DrainRequest {};

/// Asks for a continuation of the prompt.
struct GenerateRequest {
    std::uint64_t request = 0;
    std::vector<std::uint32_t> prompt;
    std::uint32_t tokens = 0;  // number of tokens to add
    double temperature = 0;    // 0 takes the likeliest token
    std::uint64_t seed = 0;
    double top_p = 0;  // bounds of the draw (protocol::Sampling); 0 sets none
    std::uint32_t top_k = 0;
};

/// A member of a stack whose members are averaged.
struct StackMember {
    Digest model;
    double prior = 1;  // positive; relative to the priors of the other members
};

/// A member of a stack whose members follow each other: a text goes through these layers of it.
struct ChainMember {
    Digest model;
    std::optional<protocol::LayerRange> layers{};  // all layers when empty
    /// A bridged member reads its own embedding of the token, and over a bridge the rows of the
    /// member before it. The bridge is a part of the file or checkpoint that `model` names.
    bool bridged = false;
};

/// Asks for a continuation of the prompt in a session of its own (stacking/sessions).
struct SessionRequest {
    std::uint64_t request = 0;
    std::vector<std::uint32_t> prompt;
    std::uint32_t tokens = 0;  // number of tokens to add
    protocol::Sampling sampling;
    std::vector<std::uint32_t> path;  // stages in the order of the text's way; empty: each once
    double exit_threshold = 2;        // probability of a token; above 1 there is no early exit
    bool exact = true;                // after a loss of a hop the same calls are repeated
    /// Empty for one model. Else each of these members reads the text, and their mean gives the
    /// next token.
    std::vector<StackMember> members{};
    /// Empty for one model. Else the layers of these members, one after the other, are the path.
    std::vector<ChainMember> chain{};
    /// Codecs of the rows between hops, link by link; the last codec holds for all further links.
    std::vector<protocol::RowCodec> codecs{};
    /// The stack goes on without a member that answers later than this after the first member's
    /// answer.
    Duration late_after = std::chrono::seconds(10);
    /// Guesses of the next tokens that travel with a token, at most: where they are right, a round
    /// trip brings several tokens. The text is the same with any number.
    std::uint32_t guesses_max = 0;
    /// Requests with the same number may use what hops have read for each other; nothing: this
    /// session is forgotten at its end.
    std::optional<std::uint64_t> keeps_for{};
};

/// Gives up the request; the role tells nothing more of it.
struct CancelRequest {
    std::uint64_t request = 0;
};

/// Allows the run to end: the coordinator then tells the servers to end (protocol::Finished).
struct ReleaseRequest {};

/// A request of the process itself, not of a peer.
struct Asked {
    std::variant<
        DrainRequest,
        GenerateRequest,
        ReleaseRequest,
        SessionRequest,
        CancelRequest,
        WebRequest,
        WebGone>
        request;
};

/// The process is about to end; the actions of this turn are the role's last ones.
struct Stop {};

using Event = std::
    variant<LinkUp, LinkDown, DialFailed, Received, Computed, Stored, Loaded, Woke, Asked, Stop>;

}  // namespace swarm::node
