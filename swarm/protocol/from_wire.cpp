#include "swarm/base/try.hpp"
#include "swarm/protocol/bodies.hpp"
#include "swarm/protocol/field_reader.hpp"
#include "swarm/protocol/frame.hpp"
#include "swarm/protocol/validator.hpp"
#include "swarm/protocol/wire.hpp"

#include <limits>
#include <span>
#include <string>
#include <string_view>
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

/// No name and nothing that a terminal could take for a command: the text is printed.
bool is_address_or_empty(std::string_view text) {
    constexpr std::size_t kLongest = 45;  // an IPv6 address that ends like an IPv4 one
    return text.size() <= kLongest &&
           text.find_first_not_of("0123456789abcdefABCDEF:.") == std::string_view::npos;
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
    constexpr std::uint32_t kPortMax = std::numeric_limits<std::uint16_t>::max();
    check.require(in.dial_back_port() <= kPortMax, "dial_back_port", "is no port");
    check.require(wire::DialBack_IsValid(in.dial_back()), "dial_back", "is unknown");
    check.require(is_address_or_empty(in.seen_from()), "seen_from", "is no address");
    SWARM_TRY(check.outcome("hello"));
    const auto proof = std::as_bytes(std::span(in.proof()));
    return Hello{
        .protocol_version = in.protocol_version(),
        .lane = in.lane(),
        .incarnation = {in.incarnation()},
        .proof = {proof.begin(), proof.end()},
        .key_in_use = in.key_in_use(),
        .dial_back_port = static_cast<std::uint16_t>(in.dial_back_port()),
        .dial_back = static_cast<DialBack>(in.dial_back()),
        .seen_from = in.seen_from()};
}

}  // namespace swarm::protocol
