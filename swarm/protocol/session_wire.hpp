// The session messages' part of wire.hpp: between the structs of session_messages.hpp and the
// generated classes, field by field, in a file of its own for length.
// Private to swarm/protocol. Errors: as wire.hpp, noted in the validator.
#pragma once

#include "swarm/protocol/validator.hpp"
#include "swarm/protocol/wire.hpp"

namespace swarm::protocol {

/// One of the kinds from Register on; anything else is noted as a missing body.
Body read_session_body(const wire::Message& in, Validator& check);

void put(const Register& body, wire::Message* envelope);
void put(const Registered& body, wire::Message* envelope);
void put(const Locate& body, wire::Message* envelope);
void put(const Located& body, wire::Message* envelope);
void put(const SessionOpen& body, wire::Message* envelope);
void put(const SessionOpened& body, wire::Message* envelope);
void put(const SessionResume& body, wire::Message* envelope);
void put(const SessionRows& body, wire::Message* envelope);
void put(const SessionToken& body, wire::Message* envelope);
void put(const SessionTrouble& body, wire::Message* envelope);
void put(const SessionClose& body, wire::Message* envelope);
void put(const HostOffer& body, wire::Message* envelope);
void put(const HostPlace& body, wire::Message* envelope);
void put(const SessionTaken& body, wire::Message* envelope);

}  // namespace swarm::protocol
