// What several bodies of from_wire.cpp are made of, read field by field.
// Private to swarm/protocol. Errors: as wire.hpp, noted in the validator.
#pragma once

#include "swarm/protocol/limits.hpp"
#include "swarm/protocol/validator.hpp"
#include "swarm/protocol/wire.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace swarm::protocol {

/// From a message with a `version`; its absence would read as version (0, 0).
template <class Wire>
ParameterVersion version_of(const Wire& in, Validator& check) {
    check.require(in.has_version(), "version", "is missing");
    return {.gen = in.version().gen(), .step = in.version().step()};
}

template <class Wire>
LegId leg_of(const Wire& in, Validator& check) {
    check.require(in.has_leg(), "leg", "is missing");
    const wire::LegId& leg = in.leg();
    return {
        .version = version_of(leg, check),
        .microbatch = check.microbatch(leg.microbatch()),
        .attempt = {leg.attempt()},
        .leg = check.choice(leg.leg(), Leg::Backward, "leg")};
}

template <class List>
std::vector<SlotId> slots_of(
    const List& in, std::size_t max, std::string_view field, Validator& check
) {
    return check.list(in, max, field, [](std::uint64_t value) { return SlotId{value}; });
}

template <class List>
std::vector<SlotId> path_of(const List& in, Validator& check) {
    return slots_of(in, kStagesMax, "path", check);
}

/// A set of microbatches: strictly increasing, so that nothing is counted twice.
template <class List>
std::vector<MicrobatchId> ids_of(const List& in, Validator& check) {
    std::int64_t last = -1;
    return check.list(in, kMicrobatchesMax, "ids", [&](std::uint32_t value) {
        check.require(value > last, "ids", "are not strictly increasing");
        last = value;
        return check.microbatch(value);
    });
}

template <class List>
std::vector<std::uint32_t> tokens_of(const List& in, Validator& check) {
    if (!check.fits(static_cast<std::size_t>(in.size()), kTokensMax, "tokens")) {
        return {};
    }
    return {in.begin(), in.end()};
}

inline std::vector<CodecId> codecs_of(const std::string& in, Validator& check) {
    return check.list(in, kLegCodecsMax, "codecs", [&](char value) {
        return check.choice(static_cast<unsigned char>(value), kLastLegCodec, "codecs");
    });
}

inline SlotInfo slot_of(const wire::SlotInfo& in, Validator& check) {
    return {
        .slot = {in.slot()},
        .peer = check.peer(in.peer(), "slots.peer"),
        .incarnation = {in.incarnation()},
        .stage = check.stage(in.stage()),
        .admitted = {in.admitted()},
        .standing = check.choice(in.standing(), Standing::Observer, "slots.standing"),
        .address = check.text(in.address(), "slots.address")};
}

inline SelfMeasured measured_of(const wire::SelfMeasured& in, Validator& check) {
    SelfMeasured measured{
        in.microbatch_s(), in.to_next_bytes_per_s(), in.to_previous_bytes_per_s()};
    for (double* const value :
         {&measured.microbatch_s,
          &measured.to_next_bytes_per_s,
          &measured.to_previous_bytes_per_s}) {
        *value = check.finite_and_not_negative(*value, "own");
    }
    return measured;
}

}  // namespace swarm::protocol
