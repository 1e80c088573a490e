// What peers say to each other: one struct per message of the step protocol, and one variant.
// Who sends what, when, and how a receiver reacts: PROTOCOL.md, held against messages.proto by a
// test. Bytes: frame.hpp, which is also the one validator. A tensor travels beside the message, as
// node::Payload; token ids travel inside it.
#pragma once

#include "swarm/base/digest.hpp"
#include "swarm/base/ids.hpp"
#include "swarm/protocol/session_messages.hpp"
#include "swarm/protocol/slot_table.hpp"
#include "swarm/protocol/tensor_envelope.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace swarm::protocol {

/// First frame of every link, both ways; below the roles (swarm/net).
struct Hello {
    std::uint32_t protocol_version = 0;
    std::uint32_t lane = 0;
    Incarnation incarnation;
    std::vector<std::byte> proof;  // HMAC-SHA-256(swarm key, TLS exporter), empty for open runs

    friend bool operator==(const Hello&, const Hello&) = default;
};

/// Peer -> coordinator. Without a stage: "what shall I do?"; answered by Assign. With a stage, a
/// version and its state hash: "admit me"; answered by a Roster that lists the slot, then a Recall.
struct Join {
    bool client = false;  // wants the roster only: a generator, no stage server
    std::optional<StageIndex> stage;
    ParameterVersion version;
    Digest state_hash;
    std::string address;                  // where others dial it; empty: nowhere
    std::string compute_class;            // device kind, ISA level, threads, LibTorch version
    std::uint64_t lent_memory_bytes = 0;  // 0: no bound

    friend bool operator==(const Join&, const Join&) = default;
};

/// Coordinator -> peer. `run_file` is the run's TOML: model, data shape, seed. When `from_seed` the
/// state is a function of the seed; else fetch `snapshot` from a donor once a Commit names it.
struct Assign {
    StageIndex stage;
    std::string run_file;
    ParameterVersion version;
    bool from_seed = true;
    bool from_coordinator = false;  // fetch `version` from the coordinator: a resumed checkpoint

    friend bool operator==(const Assign&, const Assign&) = default;
};

/// Coordinator -> all. Replaces the last one; what is not listed is not there.
struct Roster {
    std::uint64_t number = 0;
    SlotTable slots;

    friend bool operator==(const Roster&, const Roster&) = default;
};

struct Leave {
    std::string reason;

    friend bool operator==(const Leave&, const Leave&) = default;
};

struct ObservedRate {
    SlotId slot;
    double units_per_s = 0;  // 0: not known yet
    double queued = 0;       // this peer's offers that wait there

    friend bool operator==(const ObservedRate&, const ObservedRate&) = default;
};

/// What a peer has measured of itself; 0: not known yet.
struct SelfMeasured {
    double microbatch_s = 0;             // of its device, forward and backward
    double to_next_bytes_per_s = 0;      // of its line, while it sends activations
    double to_previous_bytes_per_s = 0;  // and gradients

    friend bool operator==(const SelfMeasured&, const SelfMeasured&) = default;
};

/// Peer -> coordinator, every 2 s.
struct Heartbeat {
    ParameterVersion version;
    std::uint64_t roster = 0;
    std::vector<ObservedRate> rates;  // what this peer saw of others, never of itself
    SelfMeasured own{};

    friend bool operator==(const Heartbeat&, const Heartbeat&) = default;
};

/// Coordinator -> peer, the reply. A newer Roster or a missed Commit follows as messages.
struct HeartbeatReply {
    ParameterVersion version;
    Epoch epoch;

    friend bool operator==(const HeartbeatReply&, const HeartbeatReply&) = default;
};

/// One leg of an attempt down the pipeline. Payload: the activation (B, T, C), none to stage 0.
struct Forward {
    ParameterVersion version;
    MicrobatchId microbatch;
    Attempt attempt;
    StageMask mask;
    std::vector<SlotId> path;           // hops so far, stage 0 first
    std::vector<std::uint32_t> tokens;  // B x (T + 1): inputs and targets
    std::vector<CodecId> codecs{};      // by boundary: forward, backward; empty: the run file's

    friend bool operator==(const Forward&, const Forward&) = default;
};

/// Payload: the gradient of the loss by this stage's output (B, T, C).
struct Backward {
    ParameterVersion version;
    MicrobatchId microbatch;
    Attempt attempt;
    StageMask mask;
    std::vector<SlotId> path;       // of the whole forward, stage 0 first
    std::vector<CodecId> codecs{};  // as the forward's

    friend bool operator==(const Backward&, const Backward&) = default;
};

enum class Leg : std::uint8_t { Forward, Backward };

/// Names one leg of one attempt.
struct LegId {
    ParameterVersion version;
    MicrobatchId microbatch;
    Attempt attempt;
    Leg leg = Leg::Forward;

    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 misreads the 0 inside a defaulted <=>
    friend auto operator<=>(const LegId&, const LegId&) = default;
};

struct Accepted {
    LegId leg;

    friend bool operator==(const Accepted&, const Accepted&) = default;
};

enum class RefusedReason : std::uint8_t {
    Busy,         // work queue full: back off
    Behind,       // my version is older and its Commit did not come in time
    Stale,        // the attempt or version is older than what I accept
    NotAdmitted,  // my slot is in no Roster I know
    NoGraph,      // a backward whose forward I do not hold
    Invalid,      // wrong shape, dtype or token id, or not finite
};

/// Final: that offer will never be processed.
struct Refused {
    LegId leg;
    RefusedReason reason = RefusedReason::Busy;

    friend bool operator==(const Refused&, const Refused&) = default;
};

/// What came out of the leg was accepted one hop further, or nothing had to be passed on.
struct Passed {
    LegId leg;

    friend bool operator==(const Passed&, const Passed&) = default;
};

/// Tail -> coordinator, once per attempt: which slots its forward took.
struct Path {
    ParameterVersion version;
    MicrobatchId microbatch;
    Attempt attempt;
    std::vector<SlotId> path;
    double loss = 0;  // mean over the microbatch's tokens

    friend bool operator==(const Path&, const Path&) = default;
};

struct FailedItem {
    MicrobatchId microbatch;
    Attempt attempt;
    bool passed = false;

    friend bool operator==(const FailedItem&, const FailedItem&) = default;
};

enum class FailReason : std::uint8_t { Lost, Refused, NotFinite };

/// Any hop -> coordinator: attempts of this step that depend on a peer that is gone or refused.
struct Fail {
    ParameterVersion version;
    SlotId about;
    FailReason reason = FailReason::Lost;
    std::vector<FailedItem> items;

    friend bool operator==(const Fail&, const Fail&) = default;
};

/// Coordinator -> members: which of these do you hold? And accept no older attempt of them.
struct Recall {
    ParameterVersion version;
    Epoch epoch;
    std::vector<MicrobatchId> ids;
    bool void_all = false;  // forget everything of this step: a new, empty slot

    friend bool operator==(const Recall&, const Recall&) = default;
};

struct Held {
    ParameterVersion version;
    Epoch epoch;
    std::vector<MicrobatchId> ids;
    std::vector<double> losses;  // from the tail: one per id, so that a restarted ledger knows them

    friend bool operator==(const Held&, const Held&) = default;
};

/// On how many microbatches a replica of mode sparse has trained since the last exchange.
struct Trained {
    SlotId slot;
    std::uint64_t microbatches = 1;

    friend bool operator==(const Trained&, const Trained&) = default;
};

/// Coordinator -> members and observers: contribute when, and only when, you hold exactly these.
struct Reduce {
    ParameterVersion version;
    Epoch epoch;
    std::vector<MicrobatchId> ids;
    std::vector<SlotId> group;            // the stage's members, in slot order; [i] owns share i
    std::vector<SlotId> observers;        // get the gathered slices
    std::vector<SlotId> tied_group = {};  // as `group`, of the stage a tied matrix is in, too
    std::vector<Trained> shares = {};     // of an exchange, in slot order: who gives one

    friend bool operator==(const Reduce&, const Reduce&) = default;
};

/// Member -> member. Scatter: int64 sums of slice `slice` for its owner. Gather: fp32 values.
/// Tied: the stage's int64 sums over what `slice` of the sender's stage and `tied_into` of the
/// receiver's have in common of a tied matrix.
struct Part {
    ParameterVersion version;
    Epoch epoch;
    std::uint32_t slice = 0;
    bool gathered = false;
    std::optional<std::uint32_t> tied_into = {};

    friend bool operator==(const Part&, const Part&) = default;
};

/// Member -> coordinator: I hold the complete result of this epoch.
struct Reduced {
    ParameterVersion version;
    Epoch epoch;
    std::vector<double> sums_of_squares;  // one per tensor, in the stage's global order
    Digest result_hash;
    std::uint32_t counted_once = 0;   // microbatches whose counter in the result is exactly 1
    std::uint32_t counted_wrong = 0;  // counters that are neither 0 nor 1
    std::uint64_t wire_bytes = 0;     // its legs to other stage servers in this step, framed

    friend bool operator==(const Reduced&, const Reduced&) = default;
};

struct Mismatch {
    ParameterVersion version;
    Epoch epoch;
    std::vector<MicrobatchId> ids;

    friend bool operator==(const Mismatch&, const Mismatch&) = default;
};

struct Stuck {
    ParameterVersion version;
    Epoch epoch;
    std::vector<SlotId> waits_for;

    friend bool operator==(const Stuck&, const Stuck&) = default;
};

/// The scalars of one optimizer step, decided once and applied everywhere bit for bit.
struct StepScalars {
    double clip_factor = 1;
    double learning_rate = 0;
    double bias_correction1 = 1;  // 1 - beta1^t
    double bias_correction2 = 1;  // 1 - beta2^t

    /// The batch is consumed, the parameters stay as they are: nothing of a result is needed.
    [[nodiscard]] bool skips() const { return clip_factor == 0; }

    friend bool operator==(const StepScalars&, const StepScalars&) = default;
};

/// "Freeze your state of the version this commit makes and serve it." For a joiner or a checkpoint.
struct SnapshotOrder {
    SlotId donor;
    PeerId receiver;

    friend bool operator==(const SnapshotOrder&, const SnapshotOrder&) = default;
};

/// Coordinator -> all: version (gen, t) becomes (gen, t + 1) by the result of exactly this epoch,
/// or without one where the scalars skip the step.
struct Commit {
    ParameterVersion version;
    Epoch epoch;
    StepScalars scalars;
    std::vector<Digest> result_hashes;  // one per stage; none of a skip
    std::vector<SnapshotOrder> snapshots;

    /// Else it may be an exchange: its scalars skip, too, as there is no gradient.
    [[nodiscard]] bool skips() const { return scalars.skips() && result_hashes.empty(); }

    friend bool operator==(const Commit&, const Commit&) = default;
};

/// Peer -> coordinator: `version` is the one it has now.
struct Applied {
    ParameterVersion version;
    Digest state_hash;

    friend bool operator==(const Applied&, const Applied&) = default;
};

/// Joiner -> donor. `chunk` without a value: the manifest.
struct Fetch {
    ParameterVersion version;
    StageIndex stage;
    std::optional<std::uint32_t> chunk;

    friend bool operator==(const Fetch&, const Fetch&) = default;
};

/// Payload: the chunk's bytes, or the manifest (32 bytes per chunk).
struct Chunk {
    ParameterVersion version;
    StageIndex stage;
    std::optional<std::uint32_t> chunk;

    friend bool operator==(const Chunk&, const Chunk&) = default;
};

struct ChunkRefused {
    ParameterVersion version;
    StageIndex stage;
    std::optional<std::uint32_t> chunk;
    bool busy = false;  // ask again later; else: ask another donor

    friend bool operator==(const ChunkRefused&, const ChunkRefused&) = default;
};

/// Nothing but the acknowledgement that every numbered message carries.
struct Acknowledge {
    friend bool operator==(const Acknowledge&, const Acknowledge&) = default;
};

/// Coordinator -> all: the last step is committed; servers may go.
struct Finished {
    ParameterVersion version;

    friend bool operator==(const Finished&, const Finished&) = default;
};

using Body = std::variant<
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
    SessionTaken>;

/// `number` 0: not numbered (everything between peers). Else the place in the control stream with
/// the coordinator, repeated after a reconnect until `acknowledged` covers it (run/control_stream).
struct Message {
    std::uint64_t number = 0;
    std::uint64_t acknowledged = 0;
    Body body;

    friend bool operator==(const Message&, const Message&) = default;
};

}  // namespace swarm::protocol
