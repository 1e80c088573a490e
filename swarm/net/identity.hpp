// The identity of a peer: an Ed25519 key pair in a PEM file of mode 0600. The peer id is the
// SHA-256 of the raw public key, so nobody hands out ids and no peer can take another peer's id.
// TLS needs a certificate around the key, made at each start; its dates mean nothing. It is signed
// by the key itself, or by that of an owner: each run and directory has a key of its own, and the
// key of the person behind them vouches for it, so that people meet the same name in all of them.
// The text form of a peer id is 52 digits of base32 (RFC 4648, lower case, no padding).
// Threading: immutable once in use. Errors: StorageFailed, Malformed, Usage; all Fatal.
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

    /// Makes the owner's key sign the certificate of this one. Comes before the first connection.
    void let_vouch(const Identity& owner);

    /// The certificate of the owner's key; null: nobody vouches.
    [[nodiscard]] X509* voucher() const { return voucher_.get(); }

 private:
    explicit Identity(KeyPtr key);

    KeyPtr key_;
    CertificatePtr certificate_;
    CertificatePtr voucher_;
    PeerId peer_;
};

/// The names that whoever is at the other end of a connection has proven to have.
struct Credentials {
    PeerId peer;   // the process
    PeerId owner;  // the one that vouches for the process; the same as `peer` if there is none

    friend bool operator==(const Credentials&, const Credentials&) = default;
};

/// Judges who answers a dial that names no peer, as the first dial of a process does.
/// Threading: the thread of the loop that dials; keep() may write a small file.
class FirstContact {
 public:
    virtual ~FirstContact() = default;

    /// Is asked before anything is said or proven. An error ends the connection: Unauthorised, one
    /// line on who was expected, who answers and what to do.
    virtual Result<> judge(const std::string& address, const Credentials& shown) = 0;
    /// Is told once both sides have proven to know the swarm key, if there is one.
    virtual void keep(const std::string& address, const Credentials& shown) = 0;
};

std::string to_text(const PeerId& peer);
Result<PeerId> parse_peer_id(std::string_view text);

/// Digits of the text that are enough to name somebody: 130 bits, for which nobody finds another
/// key.
inline constexpr std::size_t kNameDigits = 26;
inline constexpr std::size_t kIdDigits = 52;

/// Returns the first kNameDigits digits of the id.
std::string to_name(const PeerId& peer);

/// Returns Unauthorised when the certificate's key is not an Ed25519 key.
Result<PeerId> peer_of_certificate(const X509& certificate);

/// Draws an incarnation from the operating system's random numbers, for one start of a process.
Incarnation random_incarnation();

}  // namespace swarm::net
