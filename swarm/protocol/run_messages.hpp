// The messages of a training run, one struct each. This is a part of message.hpp; PROTOCOL.md says
// who sends which message, when, and how a receiver reacts. A tensor travels beside its message, as
// node::Payload; token ids travel inside the message.
#pragma once

#include "swarm/base/digest.hpp"
#include "swarm/base/ids.hpp"
#include "swarm/protocol/slot_table.hpp"
#include "swarm/protocol/tensor_envelope.hpp"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace swarm::protocol {

/// Peer -> coordinator. Without a stage it asks "what shall I do?", and Assign is the answer. With
/// a stage, a version and the hash of its state it asks "admit me"; the answer is a Roster that
/// lists the slot, then a Recall.
struct Join {
    bool client = false;  // the sender is a generator, which wants the roster and no stage
    std::optional<StageIndex> stage;
    ParameterVersion version;
    Digest state_hash;
    std::string address;                  // where others dial the sender; empty: nowhere
    std::string compute_class;            // device kind, ISA level, threads, LibTorch version
    std::uint64_t lent_memory_bytes = 0;  // 0 means no bound

    friend bool operator==(const Join&, const Join&) = default;
};

/// Coordinator -> peer. `run_file` is the run's TOML: model, data shape, seed. With `from_seed` the
/// state is a function of the seed; else the peer fetches its state from the donor that a Commit
/// names to it.
struct Assign {
    StageIndex stage;
    std::string run_file;
    ParameterVersion version;
    bool from_seed = true;
    bool from_coordinator = false;  // a resumed run: the coordinator serves the state of `version`

    friend bool operator==(const Assign&, const Assign&) = default;
};

/// Coordinator -> all. A Roster replaces the one before it; a slot that it does not list is gone.
struct Roster {
    std::uint64_t number = 0;
    SlotTable slots;

    friend bool operator==(const Roster&, const Roster&) = default;
};

/// Peer -> coordinator: the sender drains, and wants to leave the run.
struct Leave {
    std::string reason;

    friend bool operator==(const Leave&, const Leave&) = default;
};

/// The speed of another peer, as the sender of a Heartbeat sees it.
struct ObservedRate {
    SlotId slot;
    double units_per_s = 0;  // 0 means not known yet
    double queued = 0;       // offers of the sender that wait at the slot

    friend bool operator==(const ObservedRate&, const ObservedRate&) = default;
};

/// Speeds that a peer has measured of itself; 0 means not known yet.
struct SelfMeasured {
    double microbatch_s = 0;             // seconds of its device: forward and backward
    double to_next_bytes_per_s = 0;      // speed of its line while it sends activations
    double to_previous_bytes_per_s = 0;  // speed of its line while it sends gradients

    friend bool operator==(const SelfMeasured&, const SelfMeasured&) = default;
};

/// Peer -> coordinator, every 2 s.
struct Heartbeat {
    ParameterVersion version;
    std::uint64_t roster = 0;
    std::vector<ObservedRate> rates;  // rates of peers that the sender sends to, never of itself
    SelfMeasured own{};
    /// Neighbours to which the sender has no link, and to which none of its dials has led for 5 s.
    std::vector<SlotId> cut_off{};

    friend bool operator==(const Heartbeat&, const Heartbeat&) = default;
};

/// Coordinator -> peer: the answer to a Heartbeat. A newer Roster or a missed Commit follows as a
/// message of its own.
struct HeartbeatReply {
    ParameterVersion version;
    Epoch epoch;
    std::optional<double> loss{};  // the last committed step's, for the people behind the peer
    std::optional<double> held_out_loss{};  // mean of the last evaluation, for them, too

    friend bool operator==(const HeartbeatReply&, const HeartbeatReply&) = default;
};

/// Coordinator -> stage 0, and hop -> hop of the next stage: one leg of an attempt. The payload is
/// the activation (B, T, C); a Forward to stage 0 has none.
struct Forward {
    ParameterVersion version;
    MicrobatchId microbatch;
    Attempt attempt;
    StageMask mask;
    std::vector<SlotId> path;           // hops so far, stage 0 first
    std::vector<std::uint32_t> tokens;  // B x (T + 1): inputs and targets
    std::vector<CodecId> codecs{};      // two per boundary: forward, backward; empty: run file's

    friend bool operator==(const Forward&, const Forward&) = default;
};

/// Hop -> the hop before it on the path. The payload is the gradient of the loss by the output of
/// the receiver's stage (B, T, C).
struct Backward {
    ParameterVersion version;
    MicrobatchId microbatch;
    Attempt attempt;
    StageMask mask;
    std::vector<SlotId> path;       // all hops of the forward, stage 0 first
    std::vector<CodecId> codecs{};  // the forward's

    friend bool operator==(const Backward&, const Backward&) = default;
};

enum class Leg : std::uint8_t { Forward, Backward };

/// Names one leg of one attempt; Accepted, Refused and Passed answer the leg.
struct LegId {
    ParameterVersion version;
    MicrobatchId microbatch;
    Attempt attempt;
    Leg leg = Leg::Forward;

    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 misreads the 0 inside a defaulted <=>
    friend auto operator<=>(const LegId&, const LegId&) = default;
};

/// Receiver -> sender of a leg: the leg is queued.
struct Accepted {
    LegId leg;

    friend bool operator==(const Accepted&, const Accepted&) = default;
};

enum class RefusedReason : std::uint8_t {
    Busy,         // the work queue is full: back off
    Behind,       // the receiver's version is older, and its Commit did not come in time
    Stale,        // the attempt or version is older than the receiver accepts
    NotAdmitted,  // the receiver's slot is in no Roster that it knows
    NoGraph,      // a backward, and the receiver does not hold the forward's graph
    Invalid,      // wrong shape, dtype or token id, or a number that is not finite
};

/// Receiver -> sender of a leg: the leg will never be processed. A refusal is final.
struct Refused {
    LegId leg;
    RefusedReason reason = RefusedReason::Busy;

    friend bool operator==(const Refused&, const Refused&) = default;
};

/// Receiver -> sender of a leg: the output of the leg was accepted one hop further, or nothing had
/// to be passed on.
struct Passed {
    LegId leg;

    friend bool operator==(const Passed&, const Passed&) = default;
};

/// Tail -> coordinator, once per attempt: the slots that the forward went through.
struct Path {
    ParameterVersion version;
    MicrobatchId microbatch;
    Attempt attempt;
    std::vector<SlotId> path;
    double loss = 0;  // mean over the microbatch's tokens

    friend bool operator==(const Path&, const Path&) = default;
};

/// One attempt at a microbatch that a Fail reports.
struct FailedItem {
    MicrobatchId microbatch;
    Attempt attempt;
    bool passed = false;

    friend bool operator==(const FailedItem&, const FailedItem&) = default;
};

enum class FailReason : std::uint8_t { Lost, Refused, NotFinite };

/// Any hop -> coordinator: attempts of this step that depend on the slot `about`, whose peer is
/// gone or has refused.
struct Fail {
    ParameterVersion version;
    SlotId about;
    FailReason reason = FailReason::Lost;
    std::vector<FailedItem> items;

    friend bool operator==(const Fail&, const Fail&) = default;
};

/// Coordinator -> members: "which of these microbatches do you hold? Accept no older attempt of
/// them."
struct Recall {
    ParameterVersion version;
    Epoch epoch;
    std::vector<MicrobatchId> ids;
    bool void_all = false;  // the receiver forgets all of this step: its slot is new and empty

    friend bool operator==(const Recall&, const Recall&) = default;
};

/// Member -> coordinator: the answer to a Recall.
struct Held {
    ParameterVersion version;
    Epoch epoch;
    std::vector<MicrobatchId> ids;
    std::vector<double> losses;  // one per id, from a tail only; a restarted ledger needs them

    friend bool operator==(const Held&, const Held&) = default;
};

/// The number of microbatches that a replica of mode sparse has trained on since the last exchange.
struct Trained {
    SlotId slot;
    std::uint64_t microbatches = 1;

    friend bool operator==(const Trained&, const Trained&) = default;
};

/// Coordinator -> members and observers: "contribute when, and only when, you hold exactly these
/// microbatches."
struct Reduce {
    ParameterVersion version;
    Epoch epoch;
    std::vector<MicrobatchId> ids;
    std::vector<SlotId> group;            // the stage's members, in slot order; [i] owns share i
    std::vector<SlotId> observers;        // slots that get the gathered slices
    std::vector<SlotId> tied_group = {};  // the `group` of the stage that shares a tied matrix
    std::vector<Trained> shares = {};     // an exchange: the slots that give one, in slot order

    friend bool operator==(const Reduce&, const Reduce&) = default;
};

/// Member -> member. A scattered part holds int64 sums of slice `slice`, for the slice's owner. A
/// gathered part holds the fp32 values of the slice. A tied part holds int64 sums of the sender's
/// stage over the range of a tied matrix that slice `slice` of the sender's stage and slice
/// `tied_into` of the receiver's stage have in common.
struct Part {
    ParameterVersion version;
    Epoch epoch;
    std::uint32_t slice = 0;
    bool gathered = false;
    std::optional<std::uint32_t> tied_into = {};

    friend bool operator==(const Part&, const Part&) = default;
};

/// Member -> coordinator: the sender holds the complete result of this epoch.
struct Reduced {
    ParameterVersion version;
    Epoch epoch;
    std::vector<double> sums_of_squares;  // one per tensor, in the stage's global order
    Digest result_hash;
    std::uint32_t counted_once = 0;   // microbatches whose counter in the result is exactly 1
    std::uint32_t counted_wrong = 0;  // counters that are neither 0 nor 1
    std::uint64_t wire_bytes = 0;     // frames of the legs that it sent to stage servers this step

    friend bool operator==(const Reduced&, const Reduced&) = default;
};

/// Member -> coordinator: the sender cannot hold exactly the microbatches of the Reduce.
struct Mismatch {
    ParameterVersion version;
    Epoch epoch;
    std::vector<MicrobatchId> ids;           // all that it holds, some of which are not listed
    std::vector<MicrobatchId> never_came{};  // listed ones of which it has seen no attempt

    friend bool operator==(const Mismatch&, const Mismatch&) = default;
};

/// The needs of a member of a reduction in their order: whoever lacks one owes the next.
enum class Owed : std::uint8_t {
    Gradients,  // gradients of the stage above, for its own sums
    Sums,       // its replicas' sums of its slices; in an exchange their shares
    TiedSums,   // sums of the stage with the other copy of a tied matrix
    Values,     // the values of all other slices
};

/// Member -> coordinator: these slots owe the sender something, which is overdue.
struct Stuck {
    ParameterVersion version;
    Epoch epoch;
    std::vector<SlotId> waits_for;
    Owed owed = Owed::Gradients;

    friend bool operator==(const Stuck&, const Stuck&) = default;
};

/// The scalars of one optimizer step, decided once and applied everywhere bit for bit.
struct StepScalars {
    double clip_factor = 1;
    double learning_rate = 0;
    double bias_correction1 = 1;  // 1 - beta1^t
    double bias_correction2 = 1;  // 1 - beta2^t

    /// Tells whether the step consumes its batch and leaves the parameters as they are; no result
    /// is needed then.
    [[nodiscard]] bool skips() const { return clip_factor == 0; }

    friend bool operator==(const StepScalars&, const StepScalars&) = default;
};

/// An order to the slot `donor`: freeze the state of the version that this commit makes, and serve
/// it to `receiver`, which is a joiner, or the coordinator for a checkpoint.
struct SnapshotOrder {
    SlotId donor;
    PeerId receiver;

    friend bool operator==(const SnapshotOrder&, const SnapshotOrder&) = default;
};

/// Coordinator -> all: version (gen, t) becomes (gen, t + 1) by the result of exactly this epoch,
/// or without a result when the scalars skip the step.
struct Commit {
    ParameterVersion version;
    Epoch epoch;
    StepScalars scalars;
    std::vector<Digest> result_hashes;  // one per stage; empty for a skipped step
    std::vector<SnapshotOrder> snapshots;

    /// Tells whether the step is skipped. The scalars of an exchange skip, too, because an exchange
    /// has no gradient; an exchange has result hashes.
    [[nodiscard]] bool skips() const { return scalars.skips() && result_hashes.empty(); }

    friend bool operator==(const Commit&, const Commit&) = default;
};

/// Peer -> coordinator: the sender's state is now that of `version`.
struct Applied {
    ParameterVersion version;
    Digest state_hash;

    friend bool operator==(const Applied&, const Applied&) = default;
};

/// Joiner -> donor: asks for a chunk of a stage's state, or for the manifest when `chunk` has no
/// value. With `tokenizer` a client asks the coordinator for a chunk of the file of the run's
/// tokenizer instead; the file ends with the first chunk below kChunkBytes.
struct Fetch {
    ParameterVersion version;
    StageIndex stage;
    std::optional<std::uint32_t> chunk;
    bool tokenizer = false;

    friend bool operator==(const Fetch&, const Fetch&) = default;
};

/// Donor -> joiner. The payload is the chunk's bytes, or the manifest (32 bytes per chunk).
struct Chunk {
    ParameterVersion version;
    StageIndex stage;
    std::optional<std::uint32_t> chunk;

    friend bool operator==(const Chunk&, const Chunk&) = default;
};

/// Donor -> joiner: the donor does not serve the chunk.
struct ChunkRefused {
    ParameterVersion version;
    StageIndex stage;
    std::optional<std::uint32_t> chunk;
    bool busy = false;  // true: ask again later; false: ask another donor

    friend bool operator==(const ChunkRefused&, const ChunkRefused&) = default;
};

/// A message without content: it carries only the acknowledgement that every message has.
struct Acknowledge {
    friend bool operator==(const Acknowledge&, const Acknowledge&) = default;
};

/// Coordinator -> all: every stage has applied the last step; servers may end.
struct Finished {
    ParameterVersion version;

    friend bool operator==(const Finished&, const Finished&) = default;
};

/// Coordinator -> stage 0, and hop -> hop of the next stage: a forward of held-out text, which
/// trains nothing and enters no ledger. The payload is the activation (B, T, C) as fp32; to stage 0
/// there is none. Evaluated answers it and travels back hop by hop.
struct Evaluate {
    ParameterVersion version;  // version of the weights that are to be judged
    std::uint64_t request = 0;
    std::vector<std::uint32_t> tokens;  // B x (T + 1): inputs and targets

    friend bool operator==(const Evaluate&, const Evaluate&) = default;
};

/// Hop -> the hop that its Evaluate came from, and finally the coordinator.
struct Evaluated {
    std::uint64_t request = 0;
    bool refused = false;  // not computed: the coordinator asks again
    double loss = 0;       // mean over the microbatch's tokens

    friend bool operator==(const Evaluated&, const Evaluated&) = default;
};

/// The kinds of processes that others are told to join or dial.
enum class HubKind : std::uint8_t { Coordinator, Directory, StageServer, SessionServer };

/// Any role -> peer: the answer to a first message that is meant for a process of another kind.
struct Misdirected {
    HubKind here = HubKind::Coordinator;

    friend bool operator==(const Misdirected&, const Misdirected&) = default;
};

/// Coordinator -> peer: there is no stage for the peer now, because it and `unreached` cannot reach
/// each other, and every stage would make them neighbours. An Assign follows when that changes.
struct Standby {
    PeerId unreached;

    friend bool operator==(const Standby&, const Standby&) = default;
};

}  // namespace swarm::protocol
