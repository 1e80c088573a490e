// What a role tells the people who run its peer. No role ever reads one; the program prints it,
// counts it into --json, or draws the status line from it.
#pragma once

#include "swarm/base/digest.hpp"
#include "swarm/base/ids.hpp"
#include "swarm/base/units.hpp"
#include "swarm/protocol/session_messages.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace swarm::node {

/// One line for the log on stderr.
struct LogLine {
    enum class Level : std::uint8_t { Debug, Info, Warning, Error };

    Level level = Level::Info;
    std::string text;
};

/// The coordinator has committed a step.
struct StepCommitted {
    std::uint64_t step = 0;  // the committed one, from 0
    double loss = 0;         // mean over the microbatches in id order
    double gradient_norm = 0;
    Duration took{};
    std::uint32_t expected = 0;  // microbatches of the step
    std::uint32_t counted = 0;   // smallest count of "exactly once" over the stages' results
    std::uint32_t replayed = 0;  // attempts beyond the first
    std::uint32_t fenced = 0;    // slots fenced since the last commit
    /// Frames of activations and their gradients between stage servers, as those who are still
    /// there say; nothing is known of a run in one process.
    std::optional<std::uint64_t> wire_bytes{};
    std::string codecs{};  // "int4/int8,none/none" where the run chooses them
};

/// The coordinator has committed that a step changes nothing: it cannot be computed.
struct StepSkipped {
    std::uint64_t step = 0;
    std::string reason;
    Duration took{};
};

/// Whom the microbatches of a committed step went through: one per (slot, stage).
struct ShareCounted {
    std::uint64_t step = 0;
    PeerId peer;
    StageIndex stage;
    std::uint32_t microbatches = 0;
    double units_per_s = 0;  // the slot's speed as its senders measured it; 0: not yet
};

/// Mode sparse: the run goes on without what a replica has trained on since the last exchange.
struct ShareLost {
    PeerId peer;
    StageIndex stage;
    std::uint64_t microbatches = 0;
};

enum class PeerChange : std::uint8_t {
    Admitted,
    Suspect,
    Fenced,
    Left,
    Observing,
    StageEmpty,
    Moved,
};

/// Membership as the coordinator sees it.
struct PeerChanged {
    PeerId peer;
    StageIndex stage;
    PeerChange change = PeerChange::Admitted;
    std::string reason;
    std::vector<std::uint32_t> peers_per_stage;
};

/// SHA-256 over the states of all stages, once the last step is applied everywhere.
struct RunFinished {
    ParameterVersion version;
    Digest weights_sha256;
};

/// A checkpoint of this version is on disk.
struct CheckpointWritten {
    ParameterVersion version;
    std::string where;
};

/// The run cannot go on: the program ends with `exit_code` and this line.
struct RunFailed {
    int exit_code = 1;
    std::string text;
};

/// A server of a stage: what it is doing now.
struct ServerStatus {
    std::string text;
    StageIndex stage;
    ParameterVersion version;
};

/// The server may end: its drain is over or the run is finished.
struct ServerDone {
    std::string reason;
};

struct TokenGenerated {
    std::uint64_t request = 0;
    std::uint32_t token = 0;
    Duration took{};
    bool last = false;
};

/// A token of a session; `top`: the likeliest ones, best first.
struct TokenStreamed {
    std::uint64_t request = 0;
    std::uint32_t position = 0;  // counted from the start of the prompt
    std::uint32_t token = 0;
    std::vector<protocol::TokenScore> top;
    Duration took{};
    bool last = false;
    std::vector<std::uint32_t> hop_us;  // how long each hop says that it kept its rows
    std::uint32_t hop = 0;  // which of them said it: not the last one of its path if early
};

/// Whom a session goes through from now on.
struct SessionRouted {
    std::uint64_t request = 0;
    std::uint32_t route = 0;  // 1: the first
    std::vector<PeerId> peers;
    std::vector<protocol::CodecId> codecs;  // of the rows between them; the same on all routes
    std::uint32_t member = 0;               // of a stack
};

/// A session goes on with other peers.
struct SessionMoved {
    std::uint64_t request = 0;
    std::uint32_t position = 0;  // of the token that was waited for
    std::string reason;
    Duration detected{};       // since the last sign that all was well
    Duration resumed{};        // from there to the next token
    std::uint32_t member = 0;  // of a stack
};

/// A stack goes on without a member; the others count for more.
struct MemberDropped {
    std::uint64_t request = 0;
    std::uint32_t member = 0;
    std::uint32_t position = 0;  // of the first token without it
    std::string reason;
};

/// A directory lists a peer from now on, or no longer.
struct HostListed {
    PeerId peer;
    Digest model;
    protocol::LayerRange hosted;
    bool listed = true;
    std::size_t hosts = 0;  // of these layers, now
};

struct GenerationFailed {
    std::uint64_t request = 0;
    std::string reason;
};

using Report = std::variant<
    LogLine,
    StepCommitted,
    StepSkipped,
    ShareCounted,
    ShareLost,
    PeerChanged,
    RunFinished,
    CheckpointWritten,
    RunFailed,
    ServerStatus,
    ServerDone,
    TokenGenerated,
    TokenStreamed,
    SessionRouted,
    SessionMoved,
    MemberDropped,
    HostListed,
    GenerationFailed>;

}  // namespace swarm::node
