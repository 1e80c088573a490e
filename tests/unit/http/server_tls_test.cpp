// The server under TLS, with the certificate that it makes and with files.
#include "swarm/net/openssl_ptr.hpp"
#include "tests/unit/http/http_fixture.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

namespace swarm::http {
namespace {

class ServerTlsTest : public ServerTest {
 protected:
    /// Trusts the certificate in the PEM text, and nothing else.
    void trust(const std::string& pem) {
        context_.reset(SSL_CTX_new(TLS_client_method()));
        const net::BioPtr memory(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
        const net::CertificatePtr certificate(
            PEM_read_bio_X509(memory.get(), nullptr, nullptr, nullptr)
        );
        ASSERT_NE(certificate, nullptr);
        X509_STORE_add_cert(SSL_CTX_get_cert_store(context_.get()), certificate.get());
        SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
    }

    /// Asks under TLS for a name, and returns what comes until the end; empty without a handshake.
    std::string ask_securely(const std::string& name, const std::string& request) {
        Client client(port_);
        const net::SslPtr session(SSL_new(context_.get()));
        SSL_set_fd(session.get(), client.socket());
        SSL_set1_host(session.get(), name.c_str());
        SSL_set_alpn_protos(session.get(), kOffered.data(), kOffered.size());
        if (!run_until([&] { return SSL_connect(session.get()) == 1; }, kConnects)) {
            ERR_clear_error();
            return "";
        }
        const unsigned char* chosen = nullptr;
        unsigned chosen_size = 0;
        SSL_get0_alpn_selected(session.get(), &chosen, &chosen_size);
        EXPECT_EQ(std::string(chosen, chosen + chosen_size), "http/1.1");
        SSL_write(session.get(), request.data(), static_cast<int>(request.size()));
        std::string came;
        int reason = SSL_ERROR_NONE;
        EXPECT_TRUE(run_until([&] {
            char bytes[4096];
            for (int count = 1; count > 0;) {
                count = SSL_read(session.get(), bytes, sizeof bytes);
                came.append(bytes, static_cast<std::size_t>(std::max(count, 0)));
                reason = SSL_get_error(session.get(), count);
            }
            return reason != SSL_ERROR_WANT_READ;
        }));
        EXPECT_EQ(reason, SSL_ERROR_ZERO_RETURN) << "no goodbye of TLS";
        ERR_clear_error();
        return came;
    }

    static constexpr auto kConnects = std::chrono::seconds(3);
    static constexpr std::array<unsigned char, 12> kOffered = {
        2, 'h', '2', 8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
    net::ContextPtr context_;
};

TEST_F(ServerTlsTest, MakesACertificateThatClientsCanTrust) {
    ServerOptions options;
    options.tls.emplace();
    start(options);
    trust(server_->certificate());
    const std::string request = get("/x", "Connection: close\r\n");
    EXPECT_TRUE(ask_securely("localhost", request).ends_with("\r\n\r\nGET /x "));
    EXPECT_EQ(ask_securely("page.example", request), "");
}

TEST_F(ServerTlsTest, SendsALargeAnswer) {
    const std::string large(3U << 20, 'x');
    serve_ = [&](const node::WebRequest& request) { reply(request.exchange, large); };
    ServerOptions options;
    options.tls.emplace();
    start(options);
    trust(server_->certificate());
    EXPECT_TRUE(ask_securely("localhost", get("/", "Connection: close\r\n")).ends_with(large));
}

TEST_F(ServerTlsTest, RefusesAClientWithoutTls) {
    ServerOptions options;
    options.tls.emplace();
    options.limits.head_patience = kMoment;
    start(options);
    Client plain(port_);
    plain.say(get("/"));
    EXPECT_TRUE(ends(plain));
    Client silent(port_);
    EXPECT_TRUE(ends(silent)) << "a handshake has a time limit";
    EXPECT_TRUE(requests_.empty());
}

TEST_F(ServerTlsTest, TakesFiles) {
    const test::TemporaryFolder folder;
    const auto made = make_server_context({}, "127.0.0.1");
    ASSERT_TRUE(made.has_value());
    TlsFiles files{folder.path() / "certificate.pem", folder.path() / "key.pem"};
    const std::string pem = certificate_pem(**made);
    std::ofstream(files.certificate) << pem;
    {
        const net::BioPtr out(BIO_new_file(files.key.c_str(), "w"));
        EVP_PKEY* const key = SSL_CTX_get0_privatekey(made->get());
        PEM_write_bio_PrivateKey(out.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
    }
    ::chmod(files.key.c_str(), 0644);
    EXPECT_FALSE(make_server_context(files, "").has_value()) << "others can read the key";
    ::chmod(files.key.c_str(), 0600);
    EXPECT_FALSE(make_server_context({files.certificate, {}}, "").has_value());
    EXPECT_FALSE(make_server_context({files.key, files.certificate}, "").has_value());
    ServerOptions options;
    options.tls = files;
    start(options);
    EXPECT_EQ(server_->certificate(), pem);
    trust(pem);
    EXPECT_TRUE(ask_securely("localhost", get("/", "Connection: close\r\n")).ends_with("GET / "));
}

}  // namespace
}  // namespace swarm::http
