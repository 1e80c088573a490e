// Turns the structs of message.hpp into the generated classes of messages.proto and back, by the
// descriptions of their fields (field.hpp). to_wire copies and never fails; from_wire checks every
// field on the way.
// Private to swarm/protocol: the only header that names generated code.
// Errors: Malformed, TooLarge, Mismatch (a Hello of another protocol version); the reaction is
// always Reject.
#pragma once

#include "messages.pb.h"
#include "swarm/base/result.hpp"
#include "swarm/protocol/message.hpp"

#include <cstddef>
#include <variant>

namespace swarm::protocol {

template <std::size_t Kind>
using BodyOfKind = std::variant_alternative_t<Kind, AnyMessage>;

/// Field number of the first alternative of Body in wire::Message.
inline constexpr int kFirstBodyField = wire::Message::kAcknowledge;

void to_wire(const Message& message, wire::Message* out);
void to_wire(const Hello& hello, wire::Hello* out);

Result<Message> from_wire(const wire::Message& in);
Result<Hello> from_wire(const wire::Hello& in);

}  // namespace swarm::protocol
