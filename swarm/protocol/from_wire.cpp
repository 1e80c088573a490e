#include "swarm/base/try.hpp"
#include "swarm/protocol/bodies.hpp"
#include "swarm/protocol/field_reader.hpp"
#include "swarm/protocol/frame.hpp"
#include "swarm/protocol/validator.hpp"
#include "swarm/protocol/wire.hpp"

#include <span>
#include <string>
#include <tuple>
#include <utility>

namespace swarm::protocol {

namespace {

/// Reads the body if it is of this kind; tells whether it is.
template <std::size_t Kind>
bool read_as(const wire::Message& in, Body& body, Validator& check) {
    if (in.body_case() != kFirstBodyField + static_cast<int>(Kind)) {
        return false;
    }
    read_fields(body.emplace<Kind>(), std::get<Kind>(kBodies).get(in), check);
    return true;
}

template <std::size_t... Kinds>
Body read_body(
    const wire::Message& in, Validator& check, std::index_sequence<Kinds...> /*kinds*/
) {
    Body body;
    const bool is_known = (read_as<Kinds>(in, body, check) || ...);
    check.require(is_known, "body", "is missing");
    return body;
}

}  // namespace

Result<Message> from_wire(const wire::Message& in) {
    Validator check;
    Message message{
        .number = in.number(),
        .acknowledged = in.acknowledged(),
        .body = read_body(in, check, std::make_index_sequence<kMessageKinds>())};
    const std::string kind = std::to_string(message.body.index());
    SWARM_TRY(check.outcome("message of kind " + kind));
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
    SWARM_TRY(check.outcome("hello"));
    const auto proof = std::as_bytes(std::span(in.proof()));
    return Hello{
        .protocol_version = in.protocol_version(),
        .lane = in.lane(),
        .incarnation = {in.incarnation()},
        .proof = {proof.begin(), proof.end()},
        .key_in_use = in.key_in_use()};
}

}  // namespace swarm::protocol
