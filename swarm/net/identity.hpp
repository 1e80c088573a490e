// The identity of a peer: an Ed25519 key pair in a PEM file of mode 0600. The peer id is the
// SHA-256 of the raw public key, so nobody hands out ids and no peer can take another peer's id.
// TLS needs a certificate around the key. It is self-signed and made at each start; its dates mean
// nothing.
// The text form of a peer id is 52 digits of base32 (RFC 4648, lower case, no padding). Threading:
// immutable after construction. Errors: StorageFailed, Malformed, Usage; all Fatal.
#pragma once

#include "swarm/base/ids.hpp"
#include "swarm/base/result.hpp"
#include "swarm/net/openssl_ptr.hpp"

#include <filesystem>
#include <string>
#include <string_view>

namespace swarm::net {

class Identity {
 public:
    /// Makes the file, and its folder, when there is none.
    static Result<Identity> load_or_create(const std::filesystem::path& key_file);
    /// Makes an identity with a key that is in no file and ends with the process.
    static Identity make_ephemeral();

    [[nodiscard]] const PeerId& peer() const { return peer_; }

    [[nodiscard]] EVP_PKEY* key() const { return key_.get(); }

    [[nodiscard]] X509* certificate() const { return certificate_.get(); }

 private:
    explicit Identity(KeyPtr key);

    KeyPtr key_;
    CertificatePtr certificate_;
    PeerId peer_;
};

std::string to_text(const PeerId& peer);
Result<PeerId> parse_peer_id(std::string_view text);

/// Returns Unauthorised when the certificate's key is not an Ed25519 key.
Result<PeerId> peer_of_certificate(const X509& certificate);

/// Draws an incarnation from the operating system's random numbers, for one start of a process.
Incarnation random_incarnation();

}  // namespace swarm::net
