#include "swarm/protocol/frame.hpp"
#include "swarm/protocol/limits.hpp"
#include "swarm/protocol/parts_from_wire.hpp"
#include "swarm/protocol/session_wire.hpp"
#include "swarm/protocol/validator.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace swarm::protocol {

namespace {

Acknowledge read(const wire::Acknowledge& /*in*/, Validator& /*check*/) {
    return {};
}

Join read(const wire::Join& in, Validator& check) {
    return {
        .client = in.client(),
        .stage = in.has_stage() ? std::optional(check.stage(in.stage())) : std::nullopt,
        .version = version_of(in, check),
        .state_hash = check.digest(in.state_hash(), "state_hash"),
        .address = check.text(in.address(), "address"),
        .compute_class = check.text(in.compute_class(), "compute_class"),
        .lent_memory_bytes = in.lent_memory_bytes()};
}

Assign read(const wire::Assign& in, Validator& check) {
    const bool fits = check.fits(in.run_file().size(), kRunFileBytesMax, "run_file");
    return {
        .stage = check.stage(in.stage()),
        .run_file = fits ? in.run_file() : std::string(),
        .version = version_of(in, check),
        .from_seed = in.from_seed(),
        .from_coordinator = in.from_coordinator()};
}

Roster read(const wire::Roster& in, Validator& check) {
    const auto slot = [&](const wire::SlotInfo& item) { return slot_of(item, check); };
    return {.number = in.number(), .slots = check.list(in.slots(), kRosterMax, "slots", slot)};
}

Leave read(const wire::Leave& in, Validator& check) {
    return {.reason = check.text(in.reason(), "reason")};
}

Heartbeat read(const wire::Heartbeat& in, Validator& check) {
    const auto rate = [&](const wire::ObservedRate& item) {
        return ObservedRate{
            .slot = {item.slot()},
            .units_per_s = check.finite_and_not_negative(item.units_per_s(), "rates.units_per_s"),
            .queued = check.finite_and_not_negative(item.queued(), "rates.queued")};
    };
    return {
        .version = version_of(in, check),
        .roster = in.roster(),
        .rates = check.list(in.rates(), kRosterMax, "rates", rate),
        .own = measured_of(in.own(), check)};
}

HeartbeatReply read(const wire::HeartbeatReply& in, Validator& check) {
    return {.version = version_of(in, check), .epoch = {in.epoch()}};
}

Forward read(const wire::Forward& in, Validator& check) {
    return {
        .version = version_of(in, check),
        .microbatch = check.microbatch(in.microbatch()),
        .attempt = {in.attempt()},
        .mask = check.mask(in.mask()),
        .path = path_of(in.path(), check),
        .tokens = tokens_of(in.tokens(), check),
        .codecs = codecs_of(in.codecs(), check)};
}

Backward read(const wire::Backward& in, Validator& check) {
    check.require(!in.path().empty(), "path", "is empty: a backward has a way back");
    return {
        .version = version_of(in, check),
        .microbatch = check.microbatch(in.microbatch()),
        .attempt = {in.attempt()},
        .mask = check.mask(in.mask()),
        .path = path_of(in.path(), check),
        .codecs = codecs_of(in.codecs(), check)};
}

Accepted read(const wire::Accepted& in, Validator& check) {
    return {.leg = leg_of(in, check)};
}

Refused read(const wire::Refused& in, Validator& check) {
    return {
        .leg = leg_of(in, check),
        .reason = check.choice(in.reason(), RefusedReason::Invalid, "reason")};
}

Passed read(const wire::Passed& in, Validator& check) {
    return {.leg = leg_of(in, check)};
}

Path read(const wire::Path& in, Validator& check) {
    check.require(!in.path().empty(), "path", "is empty: the tail is on it");
    return {
        .version = version_of(in, check),
        .microbatch = check.microbatch(in.microbatch()),
        .attempt = {in.attempt()},
        .path = path_of(in.path(), check),
        .loss = check.finite(in.loss(), "loss")};
}

Fail read(const wire::Fail& in, Validator& check) {
    const auto item = [&](const wire::FailedItem& failed) {
        return FailedItem{
            .microbatch = check.microbatch(failed.microbatch()),
            .attempt = {failed.attempt()},
            .passed = failed.passed()};
    };
    return {
        .version = version_of(in, check),
        .about = {in.about()},
        .reason = check.choice(in.reason(), FailReason::NotFinite, "reason"),
        .items = check.list(in.items(), kMicrobatchesMax, "items", item)};
}

Recall read(const wire::Recall& in, Validator& check) {
    return {
        .version = version_of(in, check),
        .epoch = {in.epoch()},
        .ids = ids_of(in.ids(), check),
        .void_all = in.void_all()};
}

Held read(const wire::Held& in, Validator& check) {
    const bool paired = in.losses().empty() || in.losses_size() == in.ids_size();
    check.require(paired, "losses", "are neither absent nor one per id");
    const auto loss = [&](double value) { return check.finite(value, "losses"); };
    return {
        .version = version_of(in, check),
        .epoch = {in.epoch()},
        .ids = ids_of(in.ids(), check),
        .losses = check.list(in.losses(), kMicrobatchesMax, "losses", loss)};
}

Reduce read(const wire::Reduce& in, Validator& check) {
    const auto share = [&](const wire::Trained& item) {
        const std::uint64_t count = item.microbatches();
        check.require(count > 0 && count <= kTrainedMax, "shares", "are of no microbatch, or many");
        return Trained{.slot = {item.slot()}, .microbatches = count};
    };
    return {
        .version = version_of(in, check),
        .epoch = {in.epoch()},
        .ids = ids_of(in.ids(), check),
        .group = slots_of(in.group(), kRosterMax, "group", check),
        .observers = slots_of(in.observers(), kRosterMax, "observers", check),
        .tied_group = slots_of(in.tied_group(), kRosterMax, "tied_group", check),
        .shares = check.list(in.shares(), kRosterMax, "shares", share)};
}

Part read(const wire::Part& in, Validator& check) {
    check.require(!in.gathered() || !in.has_tied_into(), "tied_into", "is set beside gathered");
    return {
        .version = version_of(in, check),
        .epoch = {in.epoch()},
        .slice = check.below(in.slice(), kSlicesMax, "slice"),
        .gathered = in.gathered(),
        .tied_into = in.has_tied_into()
                         ? std::optional(check.below(in.tied_into(), kSlicesMax, "tied_into"))
                         : std::nullopt};
}

Reduced read(const wire::Reduced& in, Validator& check) {
    const auto sum = [&](double value) {
        return check.finite_and_not_negative(value, "sums_of_squares");
    };
    return {
        .version = version_of(in, check),
        .epoch = {in.epoch()},
        .sums_of_squares = check.list(in.sums_of_squares(), kTensorsMax, "sums_of_squares", sum),
        .result_hash = check.digest(in.result_hash(), "result_hash"),
        .counted_once = check.below(in.counted_once(), kMicrobatchesMax + 1, "counted_once"),
        .counted_wrong = check.below(in.counted_wrong(), kMicrobatchesMax + 1, "counted_wrong"),
        .wire_bytes = in.wire_bytes()};
}

Mismatch read(const wire::Mismatch& in, Validator& check) {
    return {
        .version = version_of(in, check), .epoch = {in.epoch()}, .ids = ids_of(in.ids(), check)};
}

Stuck read(const wire::Stuck& in, Validator& check) {
    return {
        .version = version_of(in, check),
        .epoch = {in.epoch()},
        .waits_for = slots_of(in.waits_for(), kRosterMax, "waits_for", check)};
}

StepScalars scalars_of(const wire::Commit& in, Validator& check) {
    check.require(in.has_scalars(), "scalars", "are missing");
    const wire::StepScalars& scalars = in.scalars();
    return {
        .clip_factor = check.finite_and_not_negative(scalars.clip_factor(), "clip_factor"),
        .learning_rate = check.finite(scalars.learning_rate(), "learning_rate"),
        .bias_correction1 = check.finite(scalars.bias_correction1(), "bias_correction1"),
        .bias_correction2 = check.finite(scalars.bias_correction2(), "bias_correction2")};
}

Commit read(const wire::Commit& in, Validator& check) {
    const auto hash = [&](const std::string& bytes) {
        return check.digest(bytes, "result_hashes");
    };
    const auto order = [&](const wire::SnapshotOrder& item) {
        return SnapshotOrder{
            .donor = {item.donor()}, .receiver = check.peer(item.receiver(), "snapshots.receiver")};
    };
    return {
        .version = version_of(in, check),
        .epoch = {in.epoch()},
        .scalars = scalars_of(in, check),
        .result_hashes = check.list(in.result_hashes(), kStagesMax, "result_hashes", hash),
        .snapshots = check.list(in.snapshots(), kRosterMax, "snapshots", order)};
}

Applied read(const wire::Applied& in, Validator& check) {
    return {
        .version = version_of(in, check),
        .state_hash = check.digest(in.state_hash(), "state_hash")};
}

template <class Wire>
std::optional<std::uint32_t> chunk_of(const Wire& in, Validator& check) {
    return in.has_chunk() ? std::optional(check.below(in.chunk(), kChunksMax, "chunk"))
                          : std::nullopt;
}

/// Fetch and Chunk: one chunk of one stage's state.
template <class Body, class Wire>
Body read_chunk(const Wire& in, Validator& check) {
    return {
        .version = version_of(in, check),
        .stage = check.stage(in.stage()),
        .chunk = chunk_of(in, check)};
}

Fetch read(const wire::Fetch& in, Validator& check) {
    return read_chunk<Fetch>(in, check);
}

Chunk read(const wire::Chunk& in, Validator& check) {
    return read_chunk<Chunk>(in, check);
}

ChunkRefused read(const wire::ChunkRefused& in, Validator& check) {
    return {
        .version = version_of(in, check),
        .stage = check.stage(in.stage()),
        .chunk = chunk_of(in, check),
        .busy = in.busy()};
}

Infer read(const wire::Infer& in, Validator& check) {
    return {
        .request = in.request(),
        .tokens = tokens_of(in.tokens(), check),
        .top = check.below(in.top(), kTopTokensMax + 1, "top")};
}

Inferred read(const wire::Inferred& in, Validator& check) {
    const auto score = [&](const wire::TokenScore& item) {
        return TokenScore{
            .token = item.token(),
            .log_probability = check.finite(item.log_probability(), "top.log_probability")};
    };
    return {
        .request = in.request(),
        .refused = in.refused(),
        .top = check.list(in.top(), kTopTokensMax, "top", score)};
}

Finished read(const wire::Finished& in, Validator& check) {
    return {.version = version_of(in, check)};
}

/// The order of the oneof is the order of Body (static_assert in frame.cpp).
// NOLINTNEXTLINE(readability-function-size): one line per kind
Body read_body(const wire::Message& in, Validator& check) {
    using Case = wire::Message::BodyCase;
    switch (in.body_case()) {
        case Case::kAcknowledge:
            return read(in.acknowledge(), check);
        case Case::kJoin:
            return read(in.join(), check);
        case Case::kAssign:
            return read(in.assign(), check);
        case Case::kRoster:
            return read(in.roster(), check);
        case Case::kLeave:
            return read(in.leave(), check);
        case Case::kHeartbeat:
            return read(in.heartbeat(), check);
        case Case::kHeartbeatReply:
            return read(in.heartbeat_reply(), check);
        case Case::kForward:
            return read(in.forward(), check);
        case Case::kBackward:
            return read(in.backward(), check);
        case Case::kAccepted:
            return read(in.accepted(), check);
        case Case::kRefused:
            return read(in.refused(), check);
        case Case::kPassed:
            return read(in.passed(), check);
        case Case::kPath:
            return read(in.path(), check);
        case Case::kFail:
            return read(in.fail(), check);
        case Case::kRecall:
            return read(in.recall(), check);
        case Case::kHeld:
            return read(in.held(), check);
        case Case::kReduce:
            return read(in.reduce(), check);
        case Case::kPart:
            return read(in.part(), check);
        case Case::kReduced:
            return read(in.reduced(), check);
        case Case::kMismatch:
            return read(in.mismatch(), check);
        case Case::kStuck:
            return read(in.stuck(), check);
        case Case::kCommit:
            return read(in.commit(), check);
        case Case::kApplied:
            return read(in.applied(), check);
        case Case::kFetch:
            return read(in.fetch(), check);
        case Case::kChunk:
            return read(in.chunk(), check);
        case Case::kChunkRefused:
            return read(in.chunk_refused(), check);
        case Case::kInfer:
            return read(in.infer(), check);
        case Case::kInferred:
            return read(in.inferred(), check);
        case Case::kFinished:
            return read(in.finished(), check);
        default:
            return read_session_body(in, check);
    }
}

}  // namespace

Result<Message> from_wire(const wire::Message& in) {
    Validator check;
    Message message{
        .number = in.number(), .acknowledged = in.acknowledged(), .body = read_body(in, check)};
    const std::string kind = std::to_string(message.body.index());
    if (auto error = check.error("message of kind " + kind)) {
        return std::move(*error);
    }
    return message;
}

Result<Hello> from_wire(const wire::Hello& in) {
    if (in.protocol_version() != kProtocolVersion) {
        return Error{
            ErrorCode::Mismatch,
            Reaction::Reject,
            "hello: protocol version " + std::to_string(in.protocol_version()) + ", here " +
                std::to_string(kProtocolVersion) + "; run the same release on both sides"};
    }
    Validator check;
    constexpr std::size_t kProofBytes = 32;
    const bool sized = in.proof().empty() || in.proof().size() == kProofBytes;
    check.require(sized, "proof", "is neither empty nor 32 bytes");
    check.require(in.lane() <= static_cast<std::uint32_t>(Lane::Bulk), "lane", "is unknown");
    if (auto error = check.error("hello")) {
        return std::move(*error);
    }
    const auto proof = std::as_bytes(std::span(in.proof()));
    return Hello{
        .protocol_version = in.protocol_version(),
        .lane = in.lane(),
        .incarnation = {in.incarnation()},
        .proof = {proof.begin(), proof.end()}};
}

}  // namespace swarm::protocol
