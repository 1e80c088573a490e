// What peers say to each other to continue texts: one window at a time (Infer), or as sessions
// whose KV pages stay at the peers. Part of message.hpp, in the same style; who sends what, when,
// and how a receiver reacts: PROTOCOL.md. Session ids are drawn by the client's process, so no two
// starts of it share one. A hop is a place on a session's path, counted from 0: one peer may be
// several. A route is one assignment of peers to hops; a higher number replaces a lower one.
#pragma once

#include "swarm/base/digest.hpp"
#include "swarm/base/ids.hpp"
#include "swarm/protocol/tensor_envelope.hpp"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace swarm::protocol {

/// A forward without training, hop by hop; payload as for Forward. Answered along the same way.
struct Infer {
    std::uint64_t request = 0;
    std::vector<std::uint32_t> tokens;  // B = 1
    std::uint32_t top = 1;              // candidates wanted for the token after the last

    friend bool operator==(const Infer&, const Infer&) = default;
};

/// Of the rows of a link. None: what the hop that sends them finds best for it, as far as the link
/// was measured; it says which in SessionOpened.
using RowCodec = std::optional<CodecId>;

struct TokenScore {
    std::uint32_t token = 0;
    double log_probability = 0;

    friend bool operator==(const TokenScore&, const TokenScore&) = default;
};

struct Inferred {
    std::uint64_t request = 0;
    bool refused = false;
    std::vector<TokenScore> top;  // best first

    friend bool operator==(const Inferred&, const Inferred&) = default;
};

/// Layers [first, end) of a model.
struct LayerRange {
    std::uint32_t first = 0;
    std::uint32_t end = 0;

    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 misreads the 0 inside a defaulted <=>
    friend auto operator<=>(const LayerRange&, const LayerRange&) = default;
};

/// Peer -> directory, until it knows its place: I would serve one part of this split; which one?
struct HostOffer {
    Digest model;                   // as in Register
    std::uint32_t layers = 0;       // of the whole model
    std::vector<LayerRange> split;  // parts that follow each other and are all of it

    friend bool operator==(const HostOffer&, const HostOffer&) = default;
};

/// Directory -> peer: these layers need you most. A part of the split that the model has here,
/// which is that of whoever offered first.
struct HostPlace {
    Digest model;
    LayerRange hosted;

    friend bool operator==(const HostPlace&, const HostPlace&) = default;
};

/// What a peer says of itself: rows a second through all layers that it hosts, while it computes.
struct RowRates {
    double prefill_per_s = 0;  // 0: not known yet
    double decode_per_s = 0;

    friend bool operator==(const RowRates&, const RowRates&) = default;
};

/// Peer -> directory, on every link and then every 2 s: these layers can be asked for here.
struct Register {
    Digest model;              // of the model's file or checkpoint
    std::uint32_t layers = 0;  // of the whole model
    LayerRange hosted;
    Digest weights;  // of the hosted layers
    std::string address;
    RowRates rates{};

    friend bool operator==(const Register&, const Register&) = default;
};

/// Directory -> peer.
struct Registered {
    std::string refusal;  // empty: listed

    friend bool operator==(const Registered&, const Registered&) = default;
};

/// Client -> directory.
struct Locate {
    Digest model;

    friend bool operator==(const Locate&, const Locate&) = default;
};

struct HostInfo {
    PeerId peer;
    LayerRange hosted;
    std::string address;
    RowRates rates{};

    friend bool operator==(const HostInfo&, const HostInfo&) = default;
};

/// Directory -> client: everybody who serves the model now, in order of (layers, peer).
struct Located {
    Digest model;
    std::uint32_t layers = 0;  // 0: nobody serves it
    std::vector<HostInfo> hosts;

    friend bool operator==(const Located&, const Located&) = default;
};

/// Names one hop of one route of one session.
struct HopId {
    std::uint64_t session = 0;
    std::uint32_t route = 0;
    std::uint32_t hop = 0;

    // NOLINTNEXTLINE(modernize-use-nullptr): as above
    friend auto operator<=>(const HopId&, const HopId&) = default;
};

/// A neighbour on the path; the client itself is the one before the first hop.
struct PathPeer {
    PeerId peer;
    std::string address;

    friend bool operator==(const PathPeer&, const PathPeer&) = default;
};

struct Sampling {
    double temperature = 0;  // 0: the likeliest token
    std::uint64_t seed = 0;  // with the token's position: the only randomness
    std::uint32_t top = 1;   // candidates reported with each token

    friend bool operator==(const Sampling&, const Sampling&) = default;
};

/// Client -> each hop. Opens the session there, or gives it a new route; its cache stays.
struct SessionOpen {
    HopId id;
    std::uint32_t hops = 1;  // of the path; the last one samples
    Digest model;
    LayerRange layers;
    std::uint32_t positions = 0;  // in all: prompt and what is to be generated
    PathPeer previous;
    PathPeer next;              // no meaning at the last hop
    bool exact = true;          // replay the calls as they were; else in large ones
    double exit_threshold = 2;  // probability above which a hop with a head ends the token's path
    Sampling sampling;
    /// Tokens at positions [text_from, text_from + size) whose probability, each after those
    /// before it, the last hop is to tell. Empty: none.
    std::uint32_t text_from = 0;
    std::vector<std::uint32_t> text{};
    std::uint32_t tokens_upto = 0;   // the last hop that reads tokens: a bridge's, or the first
    RowCodec codec = CodecId::None;  // of the rows to the next hop, each coded for itself

    friend bool operator==(const SessionOpen&, const SessionOpen&) = default;
};

/// Hop -> client, once its way to the next hop is up.
struct SessionOpened {
    HopId id;
    std::uint32_t filled_upto = 0;  // positions in its cache
    std::uint32_t kept_from = 0;    // it still has the rows [kept_from, filled_upto) it sent
    CodecId codec = CodecId::None;  // of the rows that it sends

    friend bool operator==(const SessionOpened&, const SessionOpened&) = default;
};

/// Client -> each hop, once all have opened: your next rows begin at `from`, the next hop needs
/// yours from `next_from` on.
struct SessionResume {
    HopId id;
    std::uint32_t from = 0;
    std::uint32_t next_from = 0;

    friend bool operator==(const SessionResume&, const SessionResume&) = default;
};

/// Client -> first hop with tokens; hop -> next hop with the payload (rows, C), each row coded for
/// itself, and with the tokens, too, as far as SessionOpen's tokens_upto. To fill positions
/// [position, position + rows) of the receiver's cache; history and position are one.
struct SessionRows {
    HopId id;  // of the receiver
    std::uint32_t position = 0;
    std::uint32_t rows = 0;
    bool wanted = false;  // sample the token after the last row
    std::vector<std::uint32_t> tokens;
    std::vector<std::uint32_t> hop_us;  // wanted rows: how long each hop so far kept them

    friend bool operator==(const SessionRows&, const SessionRows&) = default;
};

/// Sampling hop -> client.
struct SessionToken {
    HopId id;
    std::uint32_t position = 0;  // of the new token
    std::uint32_t token = 0;
    std::vector<TokenScore> top;        // best first
    std::vector<std::uint32_t> hop_us;  // how long each hop kept its rows; for people
    /// Natural logarithm, of as much of SessionOpen's text as was read so far. The first token of
    /// a session has no probability.
    double text_log_probability = 0;

    friend bool operator==(const SessionToken&, const SessionToken&) = default;
};

enum class SessionReason : std::uint8_t {
    Full,          // no KV pages for so many positions; ask another peer, or later
    Unknown,       // no such session here: it ended, or never began
    Mismatch,      // another model, other layers, or a place on the path they cannot take
    Gap,           // rows that do not continue the cache
    Invalid,       // rows of another shape, tokens out of range, numbers that are not finite
    NextLost,      // the next hop cannot be reached
    PreviousLost,  // the hop before cannot be reached
    Failed,        // the device did not compute
};

/// Hop -> client, or -> the hop whose rows it refuses, which passes it on.
struct SessionTrouble {
    HopId id;  // of the hop that says so
    SessionReason reason = SessionReason::Failed;
    std::uint32_t wait_ms = 0;  // Full: when there may be room

    friend bool operator==(const SessionTrouble&, const SessionTrouble&) = default;
};

/// Receiver -> hop before it: so many rows in one frame are here. The sender measures its line by
/// it; single rows, which say nothing of a line, are not answered.
struct SessionTaken {
    HopId id;                    // of the receiver
    std::uint32_t position = 0;  // of the first row

    friend bool operator==(const SessionTaken&, const SessionTaken&) = default;
};

/// Client -> each hop: the session is over, free its pages now.
struct SessionClose {
    std::uint64_t session = 0;

    friend bool operator==(const SessionClose&, const SessionClose&) = default;
};

}  // namespace swarm::protocol
