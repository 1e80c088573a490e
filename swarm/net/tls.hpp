// TLS between peers: version 1.3 only, both sides show an Ed25519 certificate, no resumption and no
// tickets. Any such certificate is accepted, whatever its dates and signer. The handshake proves
// that the other side holds the key, and the key is the identity; the layers above decide whom to
// talk to. A second certificate of the chain is the owner's, if its key has signed the first.
// The peers of a private run share a swarm key. Each side proves that it knows the key, by an HMAC
// over the connection's exporter secret and the side's direction, so a proof is worth nothing on
// another connection or when it is sent back.
// Threading: a TlsContext is immutable and shared; OpenSSL counts the references.
#pragma once

#include "swarm/base/ids.hpp"
#include "swarm/base/result.hpp"
#include "swarm/net/identity.hpp"
#include "swarm/net/openssl_ptr.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace swarm::net {

enum class Side : std::uint8_t { Client, Server };

class TlsContext {
 public:
    explicit TlsContext(const Identity& identity);

    [[nodiscard]] SSL_CTX* get() const { return context_.get(); }

    [[nodiscard]] SslPtr new_session(Side side) const;

 private:
    ContextPtr context_;
};

/// Returns the id of the other side, after the handshake.
Result<PeerId> peer_of_session(const SSL& session);
/// Returns it together with the owner who vouches for that key. For the client's side alone: the
/// chain that OpenSSL keeps for a server lacks the certificate of the peer itself.
Result<Credentials> credentials_of_session(const SSL& session);

using SessionSecret = std::array<std::byte, 32>;

/// Returns bytes that both sides of this connection share and no other connection has (RFC 8446,
/// 7.5).
SessionSecret exporter_secret(SSL& session);

/// Returns a new secret of 128 random bits, as text that people copy.
std::string new_swarm_key();
/// Returns the swarm key that stands for a secret of people: scrypt (RFC 7914) with N = 2^15,
/// r = 8, p = 1. Who has seen a proof needs some 0.1 s and 32 MiB for each secret that he tries.
std::string stretch_swarm_key(std::string_view secret);

/// Returns the proof that `side` puts into its Hello; no bytes for an open run (an empty key).
std::vector<std::byte> prove_swarm_key(
    std::string_view swarm_key, const SessionSecret& secret, Side side
);
/// Returns Unauthorised unless `proof` is the right one; `side` is the side that has to prove.
Result<> check_swarm_key(
    std::string_view swarm_key,
    const SessionSecret& secret,
    Side side,
    std::span<const std::byte> proof
);

}  // namespace swarm::net
