#include "swarm/net/tls.hpp"

#include "swarm/base/check.hpp"
#include "swarm/base/try.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

namespace swarm::net {
namespace {

/// The chain of a peer is one small certificate. OpenSSL's own limit would let a stranger send
/// 100 KiB.
constexpr long kCertificateBytesMax = 8192;

constexpr std::string_view kExporterLabel = "EXPORTER-swarm";

int accept_ed25519(X509_STORE_CTX* store, void*) {
    const X509* const certificate = X509_STORE_CTX_get0_cert(store);
    if (certificate && peer_of_certificate(*certificate)) {
        return 1;
    }
    X509_STORE_CTX_set_error(store, X509_V_ERR_CERT_REJECTED);
    return 0;
}

}  // namespace

TlsContext::TlsContext(const Identity& identity) : context_(SSL_CTX_new(TLS_method())) {
    SSL_CTX* const raw = context_.get();
    SWARM_ASSERT(raw);
    SWARM_ASSERT(SSL_CTX_set_min_proto_version(raw, TLS1_3_VERSION) == 1);
    SWARM_ASSERT(SSL_CTX_set_max_proto_version(raw, TLS1_3_VERSION) == 1);
    // AES with 128 bits is a fifth faster than OpenSSL's first choice of 256.
    const char* const suites = "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256";
    SWARM_ASSERT(SSL_CTX_set_ciphersuites(raw, suites) == 1);
    SWARM_ASSERT(SSL_CTX_set1_groups_list(raw, "X25519") == 1);
    SWARM_ASSERT(SSL_CTX_set1_sigalgs_list(raw, "ed25519") == 1);
    SWARM_ASSERT(SSL_CTX_use_certificate(raw, identity.certificate()) == 1);
    SWARM_ASSERT(SSL_CTX_use_PrivateKey(raw, identity.key()) == 1);
    if (identity.voucher() != nullptr) {
        SWARM_ASSERT(SSL_CTX_add1_chain_cert(raw, identity.voucher()) == 1);
    }
    SSL_CTX_set_mode(raw, SSL_MODE_NO_AUTO_CHAIN);
    SWARM_ASSERT(SSL_CTX_set_num_tickets(raw, 0) == 1);
    SSL_CTX_set_options(raw, SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_max_cert_list(raw, kCertificateBytesMax);
    SSL_CTX_set_verify(raw, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    SSL_CTX_set_cert_verify_callback(raw, accept_ed25519, nullptr);
    // After a partial write the stream offers the rest, which is the same bytes at another address.
    SSL_CTX_set_mode(raw, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
}

SslPtr TlsContext::new_session(Side side) const {
    SslPtr session(SSL_new(context_.get()));
    SWARM_ASSERT(session);
    if (side == Side::Client) {
        SSL_set_connect_state(session.get());
    } else {
        SSL_set_accept_state(session.get());
    }
    return session;
}

Result<PeerId> peer_of_session(const SSL& session) {
    const X509* const certificate = SSL_get0_peer_certificate(&session);
    if (!certificate) {
        return Error{ErrorCode::Unauthorised, Reaction::Reject, "the peer showed no certificate"};
    }
    return peer_of_certificate(*certificate);
}

Result<Credentials> credentials_of_session(const SSL& session) {
    SWARM_TRY(const PeerId peer, peer_of_session(session));
    Credentials shown{peer, peer};
    const STACK_OF(X509)* const chain = SSL_get_peer_cert_chain(&session);
    const X509* const voucher = sk_X509_num(chain) > 1 ? sk_X509_value(chain, 1) : nullptr;
    if (voucher == nullptr) {
        return shown;
    }
    const Result<PeerId> owner = peer_of_certificate(*voucher);
    X509* const certificate = SSL_get0_peer_certificate(&session);
    if (owner && X509_verify(certificate, X509_get0_pubkey(voucher)) == 1) {
        shown.owner = *owner;
    }
    ERR_clear_error();
    return shown;
}

SessionSecret exporter_secret(SSL& session) {
    SessionSecret secret{};
    auto* const out = reinterpret_cast<unsigned char*>(secret.data());
    SWARM_ASSERT(
        SSL_export_keying_material(
            &session,
            out,
            secret.size(),
            kExporterLabel.data(),
            kExporterLabel.size(),
            nullptr,
            0,
            0
        ) == 1
    );
    return secret;
}

std::string new_swarm_key() {
    std::array<unsigned char, 16> bytes{};
    SWARM_ASSERT(RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1);
    std::string text;
    for (const unsigned char byte : bytes) {
        constexpr const char* kDigits = "0123456789abcdef";
        text += {kDigits[byte >> 4U], kDigits[byte & 0xfU]};
    }
    return text;
}

std::string stretch_swarm_key(std::string_view secret) {
    // All peers must come to the same key, so the salt is the same for all runs.
    constexpr std::string_view kSalt = "swarm key";
    constexpr std::uint64_t kN = 1U << 15;
    constexpr std::uint64_t kR = 8;
    constexpr std::uint64_t kMemoryMax = 64U << 20;
    std::string key(32, '\0');
    SWARM_ASSERT(
        EVP_PBE_scrypt(
            secret.data(),
            secret.size(),
            reinterpret_cast<const unsigned char*>(kSalt.data()),
            kSalt.size(),
            kN,
            kR,
            1,
            kMemoryMax,
            reinterpret_cast<unsigned char*>(key.data()),
            key.size()
        ) == 1
    );
    return key;
}

std::vector<std::byte> prove_swarm_key(
    std::string_view swarm_key, const SessionSecret& secret, Side side
) {
    if (swarm_key.empty()) {
        return {};
    }
    std::vector<unsigned char> said;
    for (const std::byte byte : secret) {
        said.push_back(std::to_integer<unsigned char>(byte));
    }
    const std::string_view direction = side == Side::Client ? "client" : "server";
    said.insert(said.end(), direction.begin(), direction.end());
    std::vector<std::byte> proof(32);
    auto* const out = reinterpret_cast<unsigned char*>(proof.data());
    const int key_size = static_cast<int>(swarm_key.size());
    SWARM_ASSERT(
        HMAC(EVP_sha256(), swarm_key.data(), key_size, said.data(), said.size(), out, nullptr)
    );
    return proof;
}

Result<> check_swarm_key(
    std::string_view swarm_key,
    const SessionSecret& secret,
    Side side,
    std::span<const std::byte> proof
) {
    const std::vector<std::byte> right = prove_swarm_key(swarm_key, secret, side);
    if (proof.size() == right.size() &&
        CRYPTO_memcmp(proof.data(), right.data(), right.size()) == 0) {
        return {};
    }
    const char* const detail = swarm_key.empty() ? "the peer's run has a swarm key and ours has "
                                                   "none; start with its --swarm-key"
                               : proof.empty()   ? "our run has a swarm key and the peer shows none"
                                                 : "the peer has another swarm key";
    return Error{ErrorCode::Unauthorised, Reaction::Reject, detail};
}

}  // namespace swarm::net
