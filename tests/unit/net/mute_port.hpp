// A port of 127.0.0.1 that takes connections and never speaks.
// Threading: none; the kernel takes the connections. Errors: a failure of the calling test.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

namespace swarm::test {

class MutePort {
 public:
    MutePort() {
        sockaddr_in where{};
        where.sin_family = AF_INET;
        where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof where;
        auto* const raw = reinterpret_cast<sockaddr*>(&where);
        EXPECT_EQ(::bind(socket_, raw, size), 0);
        EXPECT_EQ(::listen(socket_, 8), 0);
        EXPECT_EQ(::getsockname(socket_, raw, &size), 0);
        port_ = ntohs(where.sin_port);
    }

    MutePort(const MutePort&) = delete;
    MutePort& operator=(const MutePort&) = delete;

    ~MutePort() { ::close(socket_); }

    [[nodiscard]] std::uint16_t number() const { return port_; }

    [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
    int socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    std::uint16_t port_ = 0;
};

}  // namespace swarm::test
