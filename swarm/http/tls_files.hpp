// The certificate with which the server shows who it is, for https://.
// Without files it is made at each start: an ECDSA key on P-256, which browsers take, signed by
// itself for localhost, the loopback addresses and the one that is listened on, for a year. Clients
// then have to be given that certificate, or to be told not to look.
// Threading: any. Errors: Usage (Fatal), with the file and what to do.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/net/openssl_ptr.hpp"

#include <filesystem>
#include <string>

namespace swarm::http {

/// PEM files; both empty for a certificate that is made.
struct TlsFiles {
    std::filesystem::path certificate;  // the server's, then those that lead to its root
    std::filesystem::path key;          // belongs to the first certificate; nobody else may read it
};

/// Returns what connections are made of: TLS 1.2 and 1.3, and no certificate of the client.
Result<net::ContextPtr> make_server_context(
    const TlsFiles& files, const std::string& listen_address
);

/// Returns the certificate as PEM, for clients that are to trust it.
std::string certificate_pem(const SSL_CTX& context);

}  // namespace swarm::http
