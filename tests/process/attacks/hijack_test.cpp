// A stranger dials a volunteer whose coordinator has not answered yet, and waits to be taken for
// it.
#include "tests/process/program.hpp"
#include "tests/unit/net/bad_peer.hpp"
#include "tests/unit/net/mute_port.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <string>
#include <variant>

namespace swarm::test {
namespace {

using std::chrono::seconds;

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
