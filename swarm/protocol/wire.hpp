// Between the structs of message.hpp and the generated classes of messages.proto, field by field.
// to_wire copies and never fails; from_wire checks every field on the way.
// Private to swarm/protocol: the only header that names generated code.
// Errors: Malformed, TooLarge, Mismatch (a Hello of another protocol version); all Reject.
#pragma once

#include "messages.pb.h"
#include "swarm/base/result.hpp"
#include "swarm/protocol/message.hpp"

#include <string>

namespace swarm::protocol {

/// Field number of the first alternative of Body in wire::Message.
inline constexpr int kFirstBodyField = wire::Message::kAcknowledge;

std::string bytes_of(const Digest& digest);
std::string bytes_of(const PeerId& peer);

void to_wire(const Message& message, wire::Message* out);
void to_wire(const Hello& hello, wire::Hello* out);

Result<Message> from_wire(const wire::Message& in);
Result<Hello> from_wire(const wire::Hello& in);

}  // namespace swarm::protocol
