// The bodies of a message, in the order of Body and of the oneof in messages.proto, each by the
// name that it has there.
// Private to swarm/protocol.
#pragma once

#include "swarm/protocol/field.hpp"
#include "swarm/protocol/message.hpp"
#include "swarm/protocol/run_fields.hpp"
#include "swarm/protocol/session_fields.hpp"

#include <tuple>

namespace swarm::protocol {

inline constexpr std::tuple kBodies{
    SWARM_FIELD(acknowledge),
    SWARM_FIELD(join),
    SWARM_FIELD(assign),
    SWARM_FIELD(roster),
    SWARM_FIELD(leave),
    SWARM_FIELD(heartbeat),
    SWARM_FIELD(heartbeat_reply),
    SWARM_FIELD(forward),
    SWARM_FIELD(backward),
    SWARM_FIELD(accepted),
    SWARM_FIELD(refused),
    SWARM_FIELD(passed),
    SWARM_FIELD(path),
    SWARM_FIELD(fail),
    SWARM_FIELD(recall),
    SWARM_FIELD(held),
    SWARM_FIELD(reduce),
    SWARM_FIELD(part),
    SWARM_FIELD(reduced),
    SWARM_FIELD(mismatch),
    SWARM_FIELD(stuck),
    SWARM_FIELD(commit),
    SWARM_FIELD(applied),
    SWARM_FIELD(fetch),
    SWARM_FIELD(chunk),
    SWARM_FIELD(chunk_refused),
    SWARM_FIELD(infer),
    SWARM_FIELD(inferred),
    SWARM_FIELD(finished),
    SWARM_FIELD(register_),
    SWARM_FIELD(registered),
    SWARM_FIELD(locate),
    SWARM_FIELD(located),
    SWARM_FIELD(session_open),
    SWARM_FIELD(session_opened),
    SWARM_FIELD(session_resume),
    SWARM_FIELD(session_rows),
    SWARM_FIELD(session_token),
    SWARM_FIELD(session_trouble),
    SWARM_FIELD(session_close),
    SWARM_FIELD(host_offer),
    SWARM_FIELD(host_place),
    SWARM_FIELD(session_taken),
    SWARM_FIELD(misdirected),
    SWARM_FIELD(standby),
    SWARM_FIELD(files_ask),
    SWARM_FIELD(files_told),
    SWARM_FIELD(file_fetch),
    SWARM_FIELD(file_chunk),
    SWARM_FIELD(file_refused),
    SWARM_FIELD(evaluate),
    SWARM_FIELD(evaluated),
    SWARM_FIELD(expert_rows),
    SWARM_FIELD(expert_outputs),
    SWARM_FIELD(expert_refused),
    SWARM_FIELD(session_lacks),
    SWARM_FIELD(session_share)};
static_assert(std::tuple_size_v<decltype(kBodies)> == kMessageKinds);

}  // namespace swarm::protocol
