// TLS as peers speak it: version 1.3 only, both sides show an Ed25519 certificate, no resumption,
// no tickets. Any such certificate is accepted, whatever its dates: the handshake proves that the
// other side holds the key, the key is the identity, and whom to talk to is decided above.
// A private run shares a swarm key: each side proves it by an HMAC over this connection's exporter
// secret and its own direction, so a proof is worth nothing elsewhere, nor when sent back.
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

/// After the handshake.
Result<PeerId> peer_of_session(const SSL& session);

using SessionSecret = std::array<std::byte, 32>;

/// The same bytes on both sides of this connection, and on no other (RFC 8446, 7.5).
SessionSecret exporter_secret(SSL& session);

/// What `side` puts into its Hello; nothing when the run is open (an empty key).
std::vector<std::byte> prove_swarm_key(
    std::string_view swarm_key, const SessionSecret& secret, Side side
);
/// Unauthorised unless `proof` is the other side's; `side` is the one that has to prove.
Result<> check_swarm_key(
    std::string_view swarm_key,
    const SessionSecret& secret,
    Side side,
    std::span<const std::byte> proof
);

}  // namespace swarm::net
