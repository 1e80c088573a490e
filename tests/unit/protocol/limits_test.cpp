// Tests each bound of limits.hpp and each rule on a field: the last value that fits is taken, and
// the first value that does not fit is refused with the right code.
#include "swarm/protocol/limits.hpp"

#include "tests/unit/protocol/field_rules.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>

namespace swarm::protocol {

namespace {

template <class Change>
Body changed_slot(Change change) {
    return changed<Roster>([&](Roster& body) {
        std::vector<SlotInfo> slots(body.slots.begin(), body.slots.end());
        change(slots.back());
        body.slots = std::move(slots);
    });
}

std::vector<SlotId> slots(std::size_t count) {
    std::vector<SlotId> slots;
    for (std::uint64_t i = 0; i < count; ++i) {
        slots.push_back({i % 128});
    }
    return slots;
}

std::vector<MicrobatchId> ids_up_to(std::uint32_t count) {
    std::vector<MicrobatchId> ids;
    for (std::uint32_t id = 0; id < count; ++id) {
        ids.push_back({id});
    }
    return ids;
}

/// Checks the rules on `ids` of one kind of message.
template <class Kind>
void check_ids() {
    const auto with = [](std::vector<MicrobatchId> ids) {
        return changed<Kind>([&](Kind& body) {
            body = Kind{};
            body.ids = std::move(ids);
        });
    };
    expect_taken(with({}));
    expect_taken(with(ids_up_to(kMicrobatchesMax)));
    expect_refused(with(ids_up_to(kMicrobatchesMax + 1)), ErrorCode::TooLarge, "ids");
    expect_refused(with({{kMicrobatchesMax}}), ErrorCode::TooLarge, "microbatch");
    expect_refused(with({{4}, {4}}), ErrorCode::Malformed, "ids");
    expect_refused(with({{5}, {4}}), ErrorCode::Malformed, "ids");
}

template <class Kind>
void check_stage() {
    const auto with = [](std::uint32_t stage) {
        return changed<Kind>([&](Kind& body) { body.stage = StageIndex{stage}; });
    };
    expect_taken(with(kStagesMax - 1));
    expect_refused(with(kStagesMax), ErrorCode::TooLarge, "stage");
}

template <class Kind>
void check_chunk() {
    const auto with = [](std::uint32_t chunk) {
        return changed<Kind>([&](Kind& body) { body.chunk = chunk; });
    };
    expect_taken(with(kChunksMax - 1));
    expect_refused(with(kChunksMax), ErrorCode::TooLarge, "chunk");
}

template <class Kind>
void check_path() {
    const auto with = [](std::size_t hops) {
        return changed<Kind>([&](Kind& body) { body.path = slots(hops); });
    };
    expect_taken(with(kStagesMax));
    expect_refused(with(kStagesMax + 1), ErrorCode::TooLarge, "path");
}

template <class Kind>
void check_microbatch() {
    const auto with = [](std::uint32_t id) {
        return changed<Kind>([&](Kind& body) { body.microbatch = {id}; });
    };
    expect_taken(with(kMicrobatchesMax - 1));
    expect_refused(with(kMicrobatchesMax), ErrorCode::TooLarge, "microbatch");
}

template <class Kind>
void check_leg() {
    const auto with = [](auto change) {
        return changed<Kind>([&](Kind& body) { change(body.leg); });
    };
    const auto far = with([](LegId& leg) { leg.microbatch = {kMicrobatchesMax}; });
    expect_refused(far, ErrorCode::TooLarge, "microbatch");
    const auto third = with([](LegId& leg) { leg.leg = static_cast<Leg>(2); });
    expect_refused(third, ErrorCode::Malformed, "leg");
}

}  // namespace

TEST(Limits, BoundMicrobatches) {
    check_microbatch<Forward>();
    check_microbatch<Backward>();
    check_microbatch<Path>();
    check_leg<Accepted>();
    check_leg<Refused>();
    check_leg<Passed>();
}

TEST(Limits, BoundIdSets) {
    check_ids<Recall>();
    check_ids<Held>();
    check_ids<Reduce>();
    check_ids<Mismatch>();
}

TEST(Limits, HeldHasALossForEachIdOrNone) {
    const auto held = [](std::vector<double> losses) {
        return changed<Held>([&](Held& body) {
            body.ids = {{3}, {4}};
            body.losses = std::move(losses);
        });
    };
    expect_taken(held({}));
    expect_taken(held({1.5, 2.5}));
    expect_refused(held({1.5}), ErrorCode::Malformed, "losses");
    expect_refused(held({1.5, 2.5, 3.5}), ErrorCode::Malformed, "losses");
    expect_refused(held({1.5, kNan}), ErrorCode::Malformed, "losses");
}

TEST(Limits, BoundPaths) {
    check_path<Forward>();
    check_path<Backward>();
    check_path<Path>();
    expect_taken(changed<Forward>([](Forward& body) { body.path.clear(); }));
    const auto no_way_back = changed<Backward>([](Backward& body) { body.path.clear(); });
    expect_refused(no_way_back, ErrorCode::Malformed, "path");
    const auto nowhere = changed<Path>([](Path& body) { body.path.clear(); });
    expect_refused(nowhere, ErrorCode::Malformed, "path");
}

TEST(Limits, MaskNamesAStage) {
    const auto forward = changed<Forward>([](Forward& body) { body.mask = {}; });
    expect_refused(forward, ErrorCode::Malformed, "mask");
    const auto backward = changed<Backward>([](Backward& body) { body.mask = {}; });
    expect_refused(backward, ErrorCode::Malformed, "mask");
}

TEST(Limits, BoundStages) {
    check_stage<Join>();
    check_stage<Assign>();
    check_stage<Fetch>();
    check_stage<Chunk>();
    check_stage<ChunkRefused>();
    const auto slot = changed_slot([](SlotInfo& info) { info.stage = {kStagesMax}; });
    expect_refused(slot, ErrorCode::TooLarge, "stage");
}

TEST(Limits, BoundChunks) {
    check_chunk<Fetch>();
    check_chunk<Chunk>();
    check_chunk<ChunkRefused>();
}

TEST(Limits, BoundTokens) {
    const auto forward = [](std::size_t count) {
        return changed<Forward>([&](Forward& body) { body.tokens.assign(count, 50256); });
    };
    expect_taken(forward(kTokensMax));
    expect_refused(forward(kTokensMax + 1), ErrorCode::TooLarge, "tokens");
    const auto infer = [](std::size_t count) {
        return changed<Infer>([&](Infer& body) { body.tokens.assign(count, 50256); });
    };
    expect_taken(infer(kTokensMax));
    expect_refused(infer(kTokensMax + 1), ErrorCode::TooLarge, "tokens");
    const auto evaluate = [](std::size_t count) {
        return changed<Evaluate>([&](Evaluate& body) { body.tokens.assign(count, 50256); });
    };
    expect_taken(evaluate(kTokensMax));
    expect_refused(evaluate(kTokensMax + 1), ErrorCode::TooLarge, "tokens");
}

TEST(Limits, BoundCodecs) {
    const auto forward = [](std::size_t count) {
        return changed<Forward>([&](Forward& body) { body.codecs.assign(count, CodecId::Int8); });
    };
    expect_taken(forward(kLegCodecsMax));
    expect_refused(forward(kLegCodecsMax + 1), ErrorCode::TooLarge, "codecs");
    const auto backward = [](std::size_t count) {
        return changed<Backward>([&](Backward& body) { body.codecs.assign(count, CodecId::Int8); });
    };
    expect_taken(backward(kLegCodecsMax));
    expect_refused(backward(kLegCodecsMax + 1), ErrorCode::TooLarge, "codecs");
}

TEST(Limits, LargestTokenIdsFitInAControlFrame) {
    expect_taken(changed<Forward>([](Forward& body) { body.tokens.assign(kTokensMax, 0xffff'ffff); }
    ));
}

TEST(Limits, BoundCandidates) {
    const auto infer = [](std::uint32_t top) {
        return changed<Infer>([&](Infer& body) { body.top = top; });
    };
    expect_taken(infer(kTopTokensMax));
    expect_refused(infer(kTopTokensMax + 1), ErrorCode::TooLarge, "top");
    const auto inferred = [](std::size_t count) {
        return changed<Inferred>([&](Inferred& body) { body.top.resize(count); });
    };
    expect_taken(inferred(kTopTokensMax));
    expect_refused(inferred(kTopTokensMax + 1), ErrorCode::TooLarge, "top");
}

TEST(Limits, BoundTheRoster) {
    const auto roster = [](std::size_t count) {
        std::vector<SlotInfo> slots(
            count, *std::get<Roster>(sample_of<Roster>().body).slots.begin()
        );
        for (std::size_t i = 0; i < count; ++i) {
            slots[i].slot.value += i;
        }
        return Body(Roster{.number = 1, .slots = std::move(slots)});
    };
    expect_taken(roster(kRosterMax));
    expect_refused(roster(kRosterMax + 1), ErrorCode::TooLarge, "slots");
}

TEST(Limits, BoundListsOfSlots) {
    const auto stuck = changed<Stuck>([](Stuck& body) { body.waits_for = slots(kRosterMax); });
    expect_taken(stuck);
    const auto more = changed<Stuck>([](Stuck& body) { body.waits_for = slots(kRosterMax + 1); });
    expect_refused(more, ErrorCode::TooLarge, "waits_for");
    const auto group = changed<Reduce>([](Reduce& body) { body.group = slots(kRosterMax + 1); });
    expect_refused(group, ErrorCode::TooLarge, "group");
    const auto observers =
        changed<Reduce>([](Reduce& body) { body.observers = slots(kRosterMax + 1); });
    expect_refused(observers, ErrorCode::TooLarge, "observers");
    const auto slice = changed<Part>([](Part& body) { body.slice = kSlicesMax; });
    expect_refused(slice, ErrorCode::TooLarge, "slice");
    const auto tied =
        changed<Reduce>([](Reduce& body) { body.tied_group = slots(kRosterMax + 1); });
    expect_refused(tied, ErrorCode::TooLarge, "tied_group");
    const auto into = changed<Part>([](Part& body) {
        body.gathered = false;
        body.tied_into = kSlicesMax;
    });
    expect_refused(into, ErrorCode::TooLarge, "tied_into");
}

TEST(Limits, APartIsGatheredOrTied) {
    const auto part = [](bool gathered, std::optional<std::uint32_t> tied_into) {
        return changed<Part>([&](Part& body) {
            body.gathered = gathered;
            body.tied_into = tied_into;
        });
    };
    expect_taken(part(false, std::nullopt));
    expect_taken(part(true, std::nullopt));
    expect_taken(part(false, kSlicesMax - 1));
    expect_refused(part(true, 0), ErrorCode::Malformed, "tied_into");
}

TEST(Limits, AShareIsOfAMicrobatchAndNotOfTooMany) {
    const auto share_of = [](std::uint64_t microbatches) {
        return changed<Reduce>([&](Reduce& body) { body.shares = {{{7}, microbatches}}; });
    };
    expect_taken(share_of(1));
    expect_taken(share_of(kTrainedMax));
    expect_refused(share_of(0), ErrorCode::Malformed, "shares");
    expect_refused(share_of(kTrainedMax + 1), ErrorCode::Malformed, "shares");
    const auto many = changed<Reduce>([](Reduce& body) {
        body.shares.resize(kRosterMax + 1, {{7}, 1});
    });
    expect_refused(many, ErrorCode::TooLarge, "message");
}

TEST(Limits, BoundFailedItems) {
    const auto fail = [](std::size_t count) {
        return changed<Fail>([&](Fail& body) { body.items.resize(count); });
    };
    expect_taken(fail(kMicrobatchesMax));
    expect_refused(fail(kMicrobatchesMax + 1), ErrorCode::TooLarge, "items");
    const auto far = changed<Fail>([](Fail& b) { b.items[0].microbatch = {kMicrobatchesMax}; });
    expect_refused(far, ErrorCode::TooLarge, "microbatch");
}

TEST(Limits, BoundTensorsOfAStage) {
    const auto reduced = [](std::size_t count) {
        return changed<Reduced>([&](Reduced& body) { body.sums_of_squares.assign(count, 1.5); });
    };
    expect_taken(reduced(kTensorsMax));
    expect_refused(reduced(kTensorsMax + 1), ErrorCode::TooLarge, "sums_of_squares");
}

TEST(Limits, BoundCounters) {
    const auto once = changed<Reduced>([](Reduced& b) { b.counted_once = kMicrobatchesMax + 1; });
    expect_refused(once, ErrorCode::TooLarge, "counted_once");
    const auto wrong = changed<Reduced>([](Reduced& b) { b.counted_wrong = kMicrobatchesMax + 1; });
    expect_refused(wrong, ErrorCode::TooLarge, "counted_wrong");
}

TEST(Limits, BoundResultHashes) {
    const auto commit = [](std::size_t count) {
        return changed<Commit>([&](Commit& body) { body.result_hashes.resize(count); });
    };
    expect_taken(commit(kStagesMax));
    expect_refused(commit(kStagesMax + 1), ErrorCode::TooLarge, "result_hashes");
}

TEST(Limits, BoundTheRunFile) {
    const auto assign = [](std::size_t size) {
        return changed<Assign>([&](Assign& body) { body.run_file = std::string(size, '\n'); });
    };
    expect_taken(assign(kRunFileBytesMax));
    expect_refused(assign(kRunFileBytesMax + 1), ErrorCode::TooLarge, "run_file");
}

TEST(Limits, BoundTexts) {
    const auto leave = [](const std::string& text) {
        return changed<Leave>([&](Leave& body) { body.reason = text; });
    };
    const auto join = [](const std::string& text) {
        return changed<Join>([&](Join& body) { body.address = text; });
    };
    const auto compute = [](const std::string& text) {
        return changed<Join>([&](Join& body) { body.compute_class = text; });
    };
    const auto slot = [](const std::string& text) {
        return changed_slot([&](SlotInfo& info) { info.address = text; });
    };
    check_text(leave, "reason");
    check_text(join, "address");
    check_text(compute, "compute");
    check_text(slot, "address");
}

TEST(Limits, NumbersAreFinite) {
    check_double<Path>([](Path& b) -> double& { return b.loss; }, "loss", Negative::Allowed);
    check_double<HeartbeatReply>(
        [](HeartbeatReply& b) -> double& { return *b.loss; }, "loss", Negative::Allowed
    );
    check_double<HeartbeatReply>(
        [](HeartbeatReply& b) -> double& { return *b.held_out_loss; },
        "held_out_loss",
        Negative::Allowed
    );
    check_double<Evaluated>(
        [](Evaluated& b) -> double& { return b.loss; }, "loss", Negative::Allowed
    );
    check_double<Heartbeat>(
        [](Heartbeat& b) -> double& { return b.rates[0].units_per_s; },
        "units_per_s",
        Negative::Refused
    );
    check_double<Heartbeat>(
        [](Heartbeat& b) -> double& { return b.rates[0].queued; }, "queued", Negative::Refused
    );
    check_double<Heartbeat>(
        [](Heartbeat& b) -> double& { return b.own.microbatch_s; }, "own", Negative::Refused
    );
    check_double<Heartbeat>(
        [](Heartbeat& b) -> double& { return b.own.to_next_bytes_per_s; }, "own", Negative::Refused
    );
    check_double<Heartbeat>(
        [](Heartbeat& b) -> double& { return b.own.to_previous_bytes_per_s; },
        "own",
        Negative::Refused
    );
    check_double<Reduced>(
        [](Reduced& b) -> double& { return b.sums_of_squares[1]; },
        "sums_of_squares",
        Negative::Refused
    );
    check_double<Inferred>(
        [](Inferred& b) -> double& { return b.top[0].log_probability; },
        "log_probability",
        Negative::Allowed
    );
    check_double<Commit>(
        [](Commit& b) -> double& { return b.scalars.clip_factor; }, "clip_factor", Negative::Refused
    );
    check_double<Commit>(
        [](Commit& b) -> double& { return b.scalars.learning_rate; },
        "learning_rate",
        Negative::Allowed
    );
    check_double<Commit>(
        [](Commit& b) -> double& { return b.scalars.bias_correction1; },
        "bias_correction1",
        Negative::Allowed
    );
    check_double<Commit>(
        [](Commit& b) -> double& { return b.scalars.bias_correction2; },
        "bias_correction2",
        Negative::Allowed
    );
}

TEST(Limits, EnumeratorsAreKnown) {
    const auto standing = [](SlotInfo& info) { info.standing = static_cast<Standing>(4); };
    expect_refused(changed_slot(standing), ErrorCode::Malformed, "standing");
    const auto refused = [](Refused& body) { body.reason = static_cast<RefusedReason>(6); };
    expect_refused(changed<Refused>(refused), ErrorCode::Malformed, "reason");
    const auto fail = [](Fail& body) { body.reason = static_cast<FailReason>(3); };
    expect_refused(changed<Fail>(fail), ErrorCode::Malformed, "reason");
    const auto elsewhere = [](Misdirected& body) { body.here = static_cast<HubKind>(4); };
    expect_refused(changed<Misdirected>(elsewhere), ErrorCode::Malformed, "here");
    const auto lossless = [](auto& body) { body.codecs.assign(2, CodecId::BytePlanes); };
    expect_refused(changed<Forward>(lossless), ErrorCode::Malformed, "codecs");
    expect_refused(changed<Backward>(lossless), ErrorCode::Malformed, "codecs");
    const auto unknown = [](auto& body) { body.codecs.assign(2, static_cast<CodecId>(255)); };
    expect_refused(changed<Forward>(unknown), ErrorCode::Malformed, "codecs");
}

TEST(Limits, BoundTheNeighboursThatAreCutOff) {
    const auto cut_off = [](std::size_t count) {
        return changed<Heartbeat>([&](Heartbeat& body) { body.cut_off = slots(count); });
    };
    expect_taken(cut_off(kCutOffMax));
    expect_refused(cut_off(kCutOffMax + 1), ErrorCode::TooLarge, "cut_off");
}

TEST(Limits, BoundTheControlPart) {
    const auto heartbeat = [](std::size_t count) {
        const ObservedRate rate{.slot = {make_epoch(1, 1).value}, .units_per_s = 1};
        return changed<Heartbeat>([&](Heartbeat& body) { body.rates.assign(count, rate); });
    };
    expect_taken(heartbeat(3000));
    expect_refused(heartbeat(4000), ErrorCode::TooLarge, "bytes");
}

}  // namespace swarm::protocol
