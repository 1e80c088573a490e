// One message between peers: a variant of all messages of the step protocol and of sessions, and
// the Hello that opens a link. PROTOCOL.md says who sends which message, when, and how a receiver
// reacts; a test holds that document against messages.proto. frame.hpp turns messages into bytes
// and back, and is the one validator.
#pragma once

#include "swarm/base/ids.hpp"
#include "swarm/protocol/run_messages.hpp"
#include "swarm/protocol/session_messages.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace swarm::protocol {

/// Outcome of dialling a client at the port that it named: nobody listens there (Refused), nothing
/// answers in time (Silent), or the server has too many such dials under way (Busy).
enum class DialBack : std::uint8_t { Unasked, Reached, Refused, Silent, AnotherPeer, Busy };

/// The first frame of every link, in both directions. swarm/net sends and reads it; roles never see
/// one.
struct Hello {
    std::uint32_t protocol_version = 0;
    std::uint32_t lane = 0;
    Incarnation incarnation{};
    std::vector<std::byte> proof{};  // HMAC-SHA-256(swarm key, TLS exporter); empty for open runs
    bool key_in_use = false;         // the sender hangs up: another live process has the peer's key
    /// A client that asks whether it can be reached names its port here. The server dials that port
    /// at the address of the connection, answers with the outcome, and hangs up.
    std::uint16_t dial_back_port = 0;
    DialBack dial_back = DialBack::Unasked;
    std::string seen_from{};  // the answer's second half: that address

    friend bool operator==(const Hello&, const Hello&) = default;
};

using AnyMessage = std::variant<
    Acknowledge,
    Join,
    Assign,
    Roster,
    Leave,
    Heartbeat,
    HeartbeatReply,
    Forward,
    Backward,
    Accepted,
    Refused,
    Passed,
    Path,
    Fail,
    Recall,
    Held,
    Reduce,
    Part,
    Reduced,
    Mismatch,
    Stuck,
    Commit,
    Applied,
    Fetch,
    Chunk,
    ChunkRefused,
    Infer,
    Inferred,
    Finished,
    Register,
    Registered,
    Locate,
    Located,
    SessionOpen,
    SessionOpened,
    SessionResume,
    SessionRows,
    SessionToken,
    SessionTrouble,
    SessionClose,
    HostOffer,
    HostPlace,
    SessionTaken,
    Misdirected,
    Standby,
    FilesAsk,
    FilesTold,
    FileFetch,
    FileChunk,
    FileRefused,
    Evaluate,
    Evaluated,
    ExpertRows,
    ExpertOutputs,
    ExpertRefused,
    SessionLacks,
    SessionShare>;

/// The content of one frame. Its copies, moves and comparison are compiled once, in message.cpp:
/// those of a variant of so many alternatives would cost a second of compile time in each
/// translation unit that sees a message.
class Body : public AnyMessage {
 public:
    using AnyMessage::AnyMessage;

    Body();
    Body(const Body& other);
    Body(Body&& other) noexcept;
    Body& operator=(const Body& other);
    Body& operator=(Body&& other) noexcept;
    ~Body();

    friend bool operator==(const Body& a, const Body& b);
};

inline constexpr std::size_t kMessageKinds = std::variant_size_v<AnyMessage>;

/// One message as it travels. A `number` above 0 is its place in the control stream between a peer
/// and the coordinator: it is sent again after a reconnect until `acknowledged` of the other side
/// covers it (swarm/run/control_stream). All other messages have number 0.
struct Message {
    std::uint64_t number = 0;
    std::uint64_t acknowledged = 0;
    Body body;

    friend bool operator==(const Message&, const Message&) = default;
};

/// True for the messages with which peers and clients turn to a coordinator or a directory, and
/// which other roles answer with Misdirected.
bool is_meant_for_a_hub(const Body& body);

/// A kind of process with its article, for sentences.
const char* name_of(HubKind kind);

}  // namespace swarm::protocol
