// A stranger dials a volunteer whose coordinator has not answered yet, and waits to be taken for
// it.
#include "tests/process/program.hpp"
#include "tests/unit/net/bad_peer.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <variant>

namespace swarm::test {
namespace {

using std::chrono::seconds;

/// A port of 127.0.0.1 that takes connections and never speaks.
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

    [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
    int socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    std::uint16_t port_ = 0;
};

TEST(HijackTest, AVolunteerTakesNoStrangerForItsCoordinator) {
    std::signal(SIGPIPE, SIG_IGN);
    const TemporaryFolder folder;
    const MutePort coordinator;
    const std::uint16_t port = free_port();
    const std::string own = "127.0.0.1:" + std::to_string(port);
    Program volunteer({"serve", "--join", coordinator.address(), "--listen", own}, folder.path());
    ASSERT_TRUE(volunteer.wait_for_text(" joins ", seconds(10))) << volunteer.err();
    BadPeer stranger(port);
    ASSERT_TRUE(stranger.start_tls()) << volunteer.err();
    stranger.say_hello(stranger.good_hello(protocol::Lane::Control));
    ASSERT_TRUE(stranger.hears_hello()) << volunteer.err();
    stranger.say_message({1, 0, protocol::Assign{}});
    while (const auto heard = stranger.hears_message(seconds(2))) {
        EXPECT_FALSE(std::holds_alternative<protocol::Join>(heard->body));
    }
    EXPECT_EQ(volunteer.err().find("working"), std::string::npos) << volunteer.err();
    volunteer.signal(SIGTERM);
    volunteer.wait(seconds(10));
}

}  // namespace
}  // namespace swarm::test
