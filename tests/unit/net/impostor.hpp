// A machine that answers in the place of a peer: it has a key of its own, takes one connection on a
// loopback port, ends the TLS handshake in order, and counts the bytes that the dialler then says.
// Threading: the answering is done by a thread of its own. Errors: a dialler that does not come
// within 20 s is one that says nothing and has not met anybody.
#pragma once

#include "swarm/net/tls.hpp"

#include <arpa/inet.h>
#include <array>
#include <cstddef>
#include <cstdint>
#include <future>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace swarm::test {

class Impostor {
 public:
    /// The doings of the dialler until it hung up.
    struct Heard {
        bool met = false;  // the handshake ended well
        std::size_t bytes = 0;
    };

    Impostor() : listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
        const timeval patience{20, 0};
        ::setsockopt(listener_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        auto* const any = reinterpret_cast<sockaddr*>(&address);
        ::bind(listener_, any, size);
        ::listen(listener_, 4);
        ::getsockname(listener_, any, &size);
        port_ = ntohs(address.sin_port);
        heard_ = std::async(std::launch::async, [this] { return answer(); });
    }

    Impostor(const Impostor&) = delete;
    Impostor& operator=(const Impostor&) = delete;

    ~Impostor() { ::close(listener_); }

    [[nodiscard]] std::uint16_t port() const { return port_; }

    [[nodiscard]] const PeerId& peer() const { return identity_.peer(); }

    /// Waits until the dialler has hung up. Is called once.
    Heard heard() { return heard_.get(); }

 private:
    Heard answer() {
        const int socket = ::accept(listener_, nullptr, nullptr);
        const net::SslPtr session = context_.new_session(net::Side::Server);
        SSL_set_fd(session.get(), socket);
        Heard heard;
        heard.met = SSL_do_handshake(session.get()) == 1;
        if (heard.met) {  // a dialler that says something waits for an answer, which never comes
            std::array<char, 4096> bytes{};
            const int count = SSL_read(session.get(), bytes.data(), static_cast<int>(bytes.size()));
            heard.bytes = count > 0 ? static_cast<std::size_t>(count) : 0;
        }
        ERR_clear_error();
        ::close(socket);
        return heard;
    }

    net::Identity identity_ = net::Identity::make_ephemeral();
    net::TlsContext context_{identity_};
    int listener_;
    std::uint16_t port_ = 0;
    std::future<Heard> heard_;  // last, because its thread uses the members above
};

}  // namespace swarm::test
