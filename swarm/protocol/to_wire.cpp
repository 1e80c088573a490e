#include "swarm/protocol/bodies.hpp"
#include "swarm/protocol/field_writer.hpp"
#include "swarm/protocol/wire.hpp"

#include <string>
#include <tuple>
#include <utility>

namespace swarm::protocol {

std::string bytes_of(const Digest& digest) {
    return {reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size()};
}

std::string bytes_of(const PeerId& peer) {
    std::string bytes;
    for (const std::uint64_t word : peer.words) {
        for (unsigned shift = 0; shift < 64; shift += 8) {
            bytes += static_cast<char>(static_cast<unsigned char>(word >> shift));
        }
    }
    return bytes;
}

namespace {

/// Writes the body if it is of this kind; tells whether it is.
template <std::size_t Kind>
bool write_as(const Body& body, wire::Message* out) {
    if (body.index() != Kind) {
        return false;
    }
    write_fields(*std::get_if<Kind>(&body), std::get<Kind>(kBodies).part_of(out));
    return true;
}

template <std::size_t... Kinds>
void write_body(const Body& body, wire::Message* out, std::index_sequence<Kinds...> /*kinds*/) {
    static_cast<void>((write_as<Kinds>(body, out) || ...));
}

}  // namespace

void to_wire(const Message& message, wire::Message* out) {
    out->set_number(message.number);
    out->set_acknowledged(message.acknowledged);
    write_body(message.body, out, std::make_index_sequence<kMessageKinds>());
}

void to_wire(const Hello& hello, wire::Hello* out) {
    out->set_protocol_version(hello.protocol_version);
    out->set_lane(hello.lane);
    out->set_incarnation(hello.incarnation.value);
    out->set_proof(reinterpret_cast<const char*>(hello.proof.data()), hello.proof.size());
    out->set_key_in_use(hello.key_in_use);
    out->set_dial_back_port(hello.dial_back_port);
    out->set_dial_back(static_cast<wire::DialBack>(hello.dial_back));
    out->set_seen_from(hello.seen_from);
}

}  // namespace swarm::protocol
