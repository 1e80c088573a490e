#include "swarm/http/tls_files.hpp"

#include "swarm/base/check.hpp"
#include "swarm/base/try.hpp"

#include <boost/asio/ip/address.hpp>

#include <array>
#include <cstdint>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <string_view>
#include <sys/stat.h>
#include <utility>

namespace swarm::http {
namespace {

constexpr long kDayS = 24L * 3600;
constexpr long kYearS = 365 * kDayS;

struct KeyPair {
    net::KeyPtr key;
    net::CertificatePtr certificate;
};

Error unusable(const std::filesystem::path& file, const std::string& what) {
    return {ErrorCode::Usage, Reaction::Fatal, file.string() + ": " + what};
}

void add_extension(X509* certificate, int kind, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
    X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
    SWARM_ASSERT(extension != nullptr);
    SWARM_ASSERT(X509_add_ext(certificate, extension, -1) == 1);
    X509_EXTENSION_free(extension);
}

std::string names_for(const std::string& listen_address) {
    std::string names = "DNS:localhost,IP:127.0.0.1,IP:::1";
    boost::system::error_code no_address;
    const auto ip = boost::asio::ip::make_address(listen_address, no_address);
    if (!no_address && !ip.is_unspecified() && !ip.is_loopback()) {
        names += ",IP:" + ip.to_string();
    }
    return names;
}

KeyPair make_key_pair(const std::string& listen_address) {
    KeyPair made{net::KeyPtr(EVP_EC_gen("P-256")), net::CertificatePtr(X509_new())};
    SWARM_ASSERT(made.key && made.certificate);
    X509* const raw = made.certificate.get();
    std::uint64_t serial = 0;
    SWARM_ASSERT(RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) == 1);
    const auto* const name = reinterpret_cast<const unsigned char*>("swarm api");
    X509_NAME* const subject = X509_get_subject_name(raw);
    SWARM_ASSERT(X509_set_version(raw, X509_VERSION_3) == 1);
    SWARM_ASSERT(ASN1_INTEGER_set_uint64(X509_get_serialNumber(raw), serial >> 1U) == 1);
    SWARM_ASSERT(X509_gmtime_adj(X509_getm_notBefore(raw), -kDayS) != nullptr);
    SWARM_ASSERT(X509_gmtime_adj(X509_getm_notAfter(raw), kYearS) != nullptr);
    SWARM_ASSERT(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, name, -1, -1, 0) == 1);
    SWARM_ASSERT(X509_set_issuer_name(raw, subject) == 1);
    SWARM_ASSERT(X509_set_pubkey(raw, made.key.get()) == 1);
    add_extension(raw, NID_basic_constraints, "critical,CA:TRUE");
    add_extension(raw, NID_subject_alt_name, names_for(listen_address));
    add_extension(raw, NID_ext_key_usage, "serverAuth");
    SWARM_ASSERT(X509_sign(raw, made.key.get(), EVP_sha256()) > 0);
    return made;
}

Result<> use_files(SSL_CTX* context, const TlsFiles& files) {
    struct stat about {};

    if (::stat(files.key.c_str(), &about) == 0 && (about.st_mode & S_IRWXO) != 0) {
        return unusable(files.key, "others on this machine may read the key; run chmod 600 on it");
    }
    if (SSL_CTX_use_certificate_chain_file(context, files.certificate.c_str()) != 1) {
        return unusable(files.certificate, "no certificate in PEM: " + net::openssl_complaint());
    }
    if (SSL_CTX_use_PrivateKey_file(context, files.key.c_str(), SSL_FILETYPE_PEM) != 1) {
        return unusable(
            files.key,
            "no PEM key of the certificate without a password: " + net::openssl_complaint()
        );
    }
    return {};
}

/// Tells clients that prefer HTTP/2 what is spoken here.
int choose_protocol(
    SSL* /*session*/,
    const unsigned char** chosen,
    unsigned char* chosen_size,
    const unsigned char* offered,
    unsigned offered_size,
    void* /*unused*/
) {
    static constexpr std::array<unsigned char, 9> kOurs = {
        8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
    unsigned char* out = nullptr;
    const int found =
        SSL_select_next_proto(&out, chosen_size, kOurs.data(), kOurs.size(), offered, offered_size);
    *chosen = out;
    return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

}  // namespace

Result<net::ContextPtr> make_server_context(
    const TlsFiles& files, const std::string& listen_address
) {
    net::ContextPtr context(SSL_CTX_new(TLS_server_method()));
    SSL_CTX* const raw = context.get();
    SWARM_ASSERT(raw);
    SWARM_ASSERT(SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION) == 1);
    SSL_CTX_set_options(
        raw, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE
    );
    SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
    // After a partial write the stream offers the rest, which is the same bytes at another address.
    SSL_CTX_set_mode(raw, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_mode(raw, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_alpn_select_cb(raw, choose_protocol, nullptr);
    if (files.certificate.empty() != files.key.empty()) {
        const auto& named = files.certificate.empty() ? files.key : files.certificate;
        return unusable(named, "name both files, that of the certificate and that of its key");
    }
    if (!files.certificate.empty()) {
        SWARM_TRY(use_files(raw, files));
        return context;
    }
    const KeyPair made = make_key_pair(listen_address);
    SWARM_ASSERT(SSL_CTX_use_certificate(raw, made.certificate.get()) == 1);
    SWARM_ASSERT(SSL_CTX_use_PrivateKey(raw, made.key.get()) == 1);
    return context;
}

std::string certificate_pem(const SSL_CTX& context) {
    const net::BioPtr memory(BIO_new(BIO_s_mem()));
    SWARM_ASSERT(memory);
    X509* const certificate = SSL_CTX_get0_certificate(&context);
    SWARM_ASSERT(PEM_write_bio_X509(memory.get(), certificate) == 1);
    char* text = nullptr;
    const long size = BIO_get_mem_data(memory.get(), &text);
    return {text, static_cast<std::size_t>(size)};
}

}  // namespace swarm::http
