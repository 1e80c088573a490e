// Reports are what a role tells the people who run its peer. No role ever reads a report; the
// program prints it, counts it into --json, or draws the status line from it.
#pragma once

#include "swarm/base/digest.hpp"
#include "swarm/base/ids.hpp"
#include "swarm/base/units.hpp"
#include "swarm/node/web.hpp"
#include "swarm/protocol/session_messages.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace swarm::node {

/// A line for the log on stderr.
struct LogLine {
    enum class Level : std::uint8_t { Debug, Info, Warning, Error };

    Level level = Level::Info;
    std::string text;
};

/// The coordinator has committed a step.
struct StepCommitted {
    std::uint64_t step = 0;  // the committed step, counted from 0
    double loss = 0;         // mean over the microbatches, added in id order
    double gradient_norm = 0;
    Duration took{};
    std::uint32_t expected = 0;  // microbatches of the step
    std::uint32_t counted = 0;   // microbatches counted exactly once; the stages' smallest number
    std::uint32_t replayed = 0;  // attempts beyond the first
    std::uint32_t fenced = 0;    // slots fenced since the last commit
    /// Bytes of the frames of activations and their gradients between stage servers, as reported by
    /// the servers that are still there; empty for a run in one process.
    std::optional<std::uint64_t> wire_bytes{};
    std::string codecs{};  // such as "int4/int8,none/none", when the run chooses its codecs
};

/// The coordinator has committed that a step changes nothing, because the step cannot be computed.
struct StepSkipped {
    std::uint64_t step = 0;
    std::string reason;
    Duration took{};
};

/// The work of one slot of a stage in a committed step; there is one report per (slot, stage).
struct WorkCounted {
    std::uint64_t step = 0;
    PeerId peer;
    StageIndex stage;
    std::uint32_t microbatches = 0;
    double units_per_s = 0;  // the slot's speed as its senders measured it; 0 means not known yet
};

/// Mode sparse: a replica is gone, and the run goes on without the microbatches that the replica
/// has trained on since the last exchange.
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

/// A change of membership as the coordinator sees it.
struct PeerChanged {
    PeerId peer;
    StageIndex stage;
    PeerChange change = PeerChange::Admitted;
    std::string reason;
    std::vector<std::uint32_t> peers_per_stage;
};

/// Every stage has applied the last step. The digest is over the states of all stages.
struct RunFinished {
    ParameterVersion version;
    Digest weights_sha256;
};

/// A checkpoint of this version is on disk.
struct CheckpointWritten {
    ParameterVersion version;
    std::string where;
};

/// The run cannot go on: the program prints this line and ends with `exit_code`.
struct RunFailed {
    int exit_code = 1;
    std::string text;
};

/// The doings of a server of a stage, and what has come of them. There is one for each change of
/// the text, for each commit, and for each failed dial of a coordinator that is gone.
struct ServerStatus {
    std::string text;
    StageIndex stage;
    ParameterVersion version;
    Duration lasts{};  // how long a wait that the text names lasts already; 0: no wait
    std::uint64_t microbatches = 0;  // number in committed steps that this process has added up
    double share = 0;                // part of the stage's microbatches of the last step
    std::optional<double> loss{};    // the last committed step's, as far as it is known
};

/// The server may end: its drain is over or the run is finished.
struct ServerDone {
    std::string reason;
};

/// A token of a GenerateRequest.
struct TokenGenerated {
    std::uint64_t request = 0;
    std::uint32_t token = 0;
    Duration took{};
    bool last = false;
};

/// A client has learned the tokenizer of a run.
struct TokenizerKnown {
    std::string file;  // bytes of tokenizer.model; empty: a token is a byte
};

/// A token of a session; `top` has the likeliest candidates, best first.
struct TokenStreamed {
    std::uint64_t request = 0;
    std::uint32_t position = 0;  // counted from the start of the prompt
    std::uint32_t token = 0;
    std::vector<protocol::TokenScore> top;
    Duration took{};
    bool last = false;
    std::vector<std::uint32_t> hop_us;  // microseconds that each hop says it kept its rows
    std::uint32_t hop = 0;  // the hop that sampled the token; an early exit is not at the last hop
    std::uint32_t guessed = 0;  // the first token of a frame: guesses that went with it
    bool was_guessed = false;   // the token came with the one before it
};

/// A session has a route: its rows go through these peers.
struct SessionRouted {
    std::uint64_t request = 0;
    std::uint32_t route = 0;  // number of the route; the first has number 1
    std::vector<PeerId> peers;
    std::vector<protocol::CodecId>
        codecs;                // codecs of the rows between the peers; all routes share them
    std::uint32_t member = 0;  // the stack's member that the session belongs to
    std::uint32_t reused = 0;  // the prompt's first positions, which all hops had read before
    // On routes after the first, added up over the hops:
    std::uint64_t refilled = 0;  // rows that hops read for this session, although they were read
    std::uint64_t found = 0;     // rows that another session of the client had left at a new peer
};

/// The peers of a session read its prompt, or the text so far after a loss.
struct PromptRead {
    std::uint64_t request = 0;
    std::uint32_t read = 0;    // tokens that all hops have read
    std::uint32_t tokens = 0;  // tokens that they have to read
    std::uint32_t member = 0;  // the stack's member that the session belongs to
};

/// A session goes on with other peers.
struct SessionMoved {
    std::uint64_t request = 0;
    std::uint32_t position = 0;  // position of the token that the session waited for
    std::string reason;
    Duration detected{};       // from the last sign that all was well to the detection
    Duration resumed{};        // from the detection to the next token
    std::uint32_t member = 0;  // the stack's member that the session belongs to
};

/// A stack goes on without a member; the other members count for more.
struct MemberDropped {
    std::uint64_t request = 0;
    std::uint32_t member = 0;
    std::uint32_t position = 0;  // position of the first token without the member
    std::string reason;
};

/// A directory has begun to list a peer, or has stopped to.
struct HostListed {
    PeerId peer;
    Digest model;
    protocol::LayerRange hosted;
    bool listed = true;
    std::size_t hosts = 0;  // peers that serve these layers with these weights after the change
    Digest weights{};
    std::vector<std::uint32_t> experts{};  // the peer serves only these experts; empty: all
};

/// A request for a text has failed.
struct GenerationFailed {
    std::uint64_t request = 0;
    std::string reason;
    std::optional<Duration> retry_after{};  // it lacked room, and may find it after this time
};

using AnyReport = std::variant<
    LogLine,
    StepCommitted,
    StepSkipped,
    WorkCounted,
    ShareLost,
    PeerChanged,
    RunFinished,
    CheckpointWritten,
    RunFailed,
    ServerStatus,
    ServerDone,
    TokenGenerated,
    TokenizerKnown,
    TokenStreamed,
    SessionRouted,
    PromptRead,
    SessionMoved,
    MemberDropped,
    HostListed,
    GenerationFailed,
    WebReply,
    WebPiece>;

/// One report. Its copies and moves are compiled once, in report.cpp.
class Report : public AnyReport {
 public:
    using AnyReport::AnyReport;

    Report();
    Report(const Report& other);
    Report(Report&& other) noexcept;
    Report& operator=(const Report& other);
    Report& operator=(Report&& other) noexcept;
    ~Report();
};

}  // namespace swarm::node
