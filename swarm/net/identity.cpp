#include "swarm/net/identity.hpp"

#include "swarm/base/check.hpp"
#include "swarm/base/digest.hpp"
#include "swarm/base/durable_file.hpp"
#include "swarm/base/try.hpp"

#include <array>
#include <cerrno>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <span>
#include <sys/stat.h>
#include <system_error>
#include <utility>

namespace swarm::net {
namespace {

constexpr std::string_view kDigits = "abcdefghijklmnopqrstuvwxyz234567";
constexpr std::size_t kIdBytes = 32;
static_assert(kIdDigits == (kIdBytes * 8 + 4) / 5);

Error key_error(const std::filesystem::path& path, const std::string& what) {
    return {ErrorCode::StorageFailed, Reaction::Fatal, "key file " + path.string() + ": " + what};
}

std::string last_system_error() {
    return std::generic_category().message(errno);
}

KeyPtr make_key() {
    KeyPtr key(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
    SWARM_ASSERT(key);
    return key;
}

/// Makes a certificate for `key` that `signer` signs. X.509 asks for dates: they are 1970 and the
/// last moment that it can say.
CertificatePtr make_certificate(EVP_PKEY* key, EVP_PKEY* signer) {
    CertificatePtr certificate(X509_new());
    SWARM_ASSERT(certificate);
    X509* const raw = certificate.get();
    const auto* const name = reinterpret_cast<const unsigned char*>("swarm peer");
    X509_NAME* const subject = X509_get_subject_name(raw);
    SWARM_ASSERT(X509_set_version(raw, X509_VERSION_3) == 1);
    SWARM_ASSERT(ASN1_INTEGER_set(X509_get_serialNumber(raw), 1) == 1);
    SWARM_ASSERT(ASN1_TIME_set_string_X509(X509_getm_notBefore(raw), "19700101000000Z") == 1);
    SWARM_ASSERT(ASN1_TIME_set_string_X509(X509_getm_notAfter(raw), "99991231235959Z") == 1);
    SWARM_ASSERT(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, name, -1, -1, 0) == 1);
    SWARM_ASSERT(X509_set_issuer_name(raw, subject) == 1);
    SWARM_ASSERT(X509_set_pubkey(raw, key) == 1);
    SWARM_ASSERT(X509_sign(raw, signer, nullptr) > 0);
    return certificate;
}

/// Makes big-endian words of the bytes, so that ids sort in the order of their texts.
PeerId to_peer_id(const std::array<std::byte, kIdBytes>& bytes) {
    PeerId peer;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        auto& word = peer.words[i / 8];
        word = (word << 8U) | std::to_integer<std::uint64_t>(bytes[i]);
    }
    return peer;
}

std::array<std::byte, kIdBytes> to_bytes(const PeerId& peer) {
    std::array<std::byte, kIdBytes> bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = static_cast<std::byte>(peer.words[i / 8] >> (56 - 8 * (i % 8)));
    }
    return bytes;
}

Result<KeyPtr> read_key(const std::filesystem::path& path) {
    struct stat status {};

    if (::stat(path.c_str(), &status) != 0) {
        return key_error(path, last_system_error());
    }
    if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        return key_error(path, "others may read it; run chmod 600 on it");
    }
    const BioPtr file(BIO_new_file(path.c_str(), "r"));
    KeyPtr key(file ? PEM_read_bio_PrivateKey(file.get(), nullptr, nullptr, nullptr) : nullptr);
    if (!key || EVP_PKEY_get_id(key.get()) != EVP_PKEY_ED25519) {
        ERR_clear_error();
        return key_error(path, "holds no Ed25519 private key; move it away to get a new one");
    }
    return key;
}

/// Two processes that start at once end up with one key, and a crash leaves no torn file behind.
Result<> write_key(const std::filesystem::path& path, EVP_PKEY* key) {
    const BioPtr memory(BIO_new(BIO_s_secmem()));
    SWARM_ASSERT(memory);
    SWARM_ASSERT(
        PEM_write_bio_PrivateKey(memory.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1
    );
    char* text = nullptr;
    const long size = BIO_get_mem_data(memory.get(), &text);
    const std::span pem(text, static_cast<std::size_t>(size));
    SWARM_TRY(create_secret_durably(path, std::as_bytes(pem), "name another file with --key"));
    return {};
}

}  // namespace

Result<Identity> Identity::load_or_create(const std::filesystem::path& key_file) {
    std::error_code ignored;
    if (!std::filesystem::exists(key_file, ignored)) {
        const KeyPtr fresh = make_key();
        SWARM_TRY(write_key(key_file, fresh.get()));
    }
    SWARM_TRY(auto key, read_key(key_file));
    return Identity(std::move(key));
}

Identity Identity::make_ephemeral() {
    return Identity(make_key());
}

Identity::Identity(KeyPtr key)
    : key_(std::move(key)), certificate_(make_certificate(key_.get(), key_.get())) {
    const Result<PeerId> peer = peer_of_certificate(*certificate_);
    SWARM_ASSERT(peer.has_value());
    peer_ = *peer;
}

void Identity::let_vouch(const Identity& owner) {
    certificate_ = make_certificate(key_.get(), owner.key());
    SWARM_ASSERT(X509_up_ref(owner.certificate()) == 1);
    voucher_.reset(owner.certificate());
}

Result<PeerId> peer_of_certificate(const X509& certificate) {
    EVP_PKEY* const key = X509_get0_pubkey(&certificate);
    std::array<std::byte, kIdBytes> raw{};
    std::size_t size = raw.size();
    if (!key || EVP_PKEY_get_id(key) != EVP_PKEY_ED25519 ||
        EVP_PKEY_get_raw_public_key(key, reinterpret_cast<unsigned char*>(raw.data()), &size) !=
            1 ||
        size != raw.size()) {
        ERR_clear_error();
        return Error{
            ErrorCode::Unauthorised, Reaction::Reject, "the certificate's key is not Ed25519"};
    }
    return to_peer_id(sha256(raw).bytes);
}

std::string to_text(const PeerId& peer) {
    std::string text;
    text.reserve(kIdDigits);
    std::uint32_t pending = 0;
    unsigned pending_bits = 0;
    for (const std::byte byte : to_bytes(peer)) {
        pending = (pending << 8U) | std::to_integer<std::uint32_t>(byte);
        pending_bits += 8;
        while (pending_bits >= 5) {
            pending_bits -= 5;
            text += kDigits[(pending >> pending_bits) & 31U];
        }
    }
    text += kDigits[(pending << (5 - pending_bits)) & 31U];  // the last bit of 256
    return text;
}

std::string to_name(const PeerId& peer) {
    return to_text(peer).substr(0, kNameDigits);
}

Result<PeerId> parse_peer_id(std::string_view text) {
    const Error malformed{
        ErrorCode::Malformed, Reaction::Reject, "a peer id is 52 digits out of a-z and 2-7"};
    if (text.size() != kIdDigits) {
        return malformed;
    }
    std::array<std::byte, kIdBytes> bytes{};
    std::uint32_t pending = 0;
    unsigned pending_bits = 0;
    std::size_t filled = 0;
    for (const char digit : text) {
        const std::size_t value = kDigits.find(digit);
        if (value == std::string_view::npos) {
            return malformed;
        }
        pending = ((pending << 5U) | static_cast<std::uint32_t>(value)) & 0xfffU;
        pending_bits += 5;
        if (pending_bits >= 8 && filled < bytes.size()) {
            pending_bits -= 8;
            bytes[filled++] = static_cast<std::byte>(pending >> pending_bits);
        }
    }
    if ((pending & ((1U << pending_bits) - 1)) != 0) {  // each id has one text
        return malformed;
    }
    return to_peer_id(bytes);
}

Incarnation random_incarnation() {
    Incarnation incarnation;
    auto* const bytes = reinterpret_cast<unsigned char*>(&incarnation.value);
    SWARM_ASSERT(RAND_bytes(bytes, sizeof incarnation.value) == 1);
    return incarnation;
}

}  // namespace swarm::net
