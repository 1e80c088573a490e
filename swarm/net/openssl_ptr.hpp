// Owners of OpenSSL's objects, and OpenSSL's last complaint as text.
// Threading: that of OpenSSL: an object belongs to one thread at a time, and each thread has an
// error queue of its own.
#pragma once

#include <memory>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <string>

namespace swarm::net {

template <auto release>
struct Releaser {
    template <class Object>
    void operator()(Object* object) const {
        release(object);
    }
};

using KeyPtr = std::unique_ptr<EVP_PKEY, Releaser<EVP_PKEY_free>>;
using CertificatePtr = std::unique_ptr<X509, Releaser<X509_free>>;
using ContextPtr = std::unique_ptr<SSL_CTX, Releaser<SSL_CTX_free>>;
using SslPtr = std::unique_ptr<SSL, Releaser<SSL_free>>;
using BioPtr = std::unique_ptr<BIO, Releaser<BIO_free>>;

/// Returns the last complaint and empties the error queue, because errors left there would spoil
/// the next call.
inline std::string openssl_complaint() {
    const char* const reason = ERR_reason_error_string(ERR_peek_last_error());
    ERR_clear_error();
    return reason ? reason : "no reason given";
}

}  // namespace swarm::net
