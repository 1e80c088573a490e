#include "swarm/cli/doctor/checks.hpp"
#include "swarm/cli/doctor/reach_check.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <netinet/in.h>
#include <set>
#include <sys/socket.h>
#include <unistd.h>

namespace swarm::cli {
namespace {

using Level = Finding::Level;

TEST(Doctor, FindsSomethingAboutEachThingOnce) {
    std::set<std::string> names;
    for (const Finding& finding : examine_machine()) {
        EXPECT_TRUE(names.insert(finding.name).second) << finding.name;
        EXPECT_FALSE(finding.text.empty()) << finding.name;
        EXPECT_TRUE(finding.level != Level::Bad || !finding.mend.empty()) << finding.name;
    }
    EXPECT_TRUE(names.contains("clock"));
    EXPECT_TRUE(names.contains("port 7118"));
}

TEST(Doctor, SeesThatAPortIsTaken) {
    const int holder = ::socket(AF_INET, SOCK_STREAM, 0);
    ASSERT_EQ(::listen(holder, 1), 0);  // the system picks a free port
    sockaddr_in address{};
    socklen_t size = sizeof address;
    ASSERT_EQ(::getsockname(holder, reinterpret_cast<sockaddr*>(&address), &size), 0);
    const Finding taken = check_port(ntohs(address.sin_port), "train");
    EXPECT_EQ(taken.level, Level::Warning);
    EXPECT_NE(taken.mend.find("--listen"), std::string::npos);
    ::close(holder);
}

TEST(Doctor, MeasuresADiskAndRefusesOneThatCannotBeWritten) {
    const swarm::test::TemporaryFolder folder;
    const Finding good = check_disk("disk", folder.path());
    EXPECT_NE(good.level, Level::Bad);
    EXPECT_NE(good.text.find("a durable write takes"), std::string::npos);
    EXPECT_EQ(check_disk("disk", "/proc").level, Level::Bad);
}

TEST(Doctor, NamesTheAddressThatReachesThisMachine) {
    const Finding reached = describe_reach(
        "example.org:7117", {protocol::DialBack::Reached, "10.0.0.7", 7200}, {{"10.0.0.7", 7200}}
    );
    EXPECT_EQ(reached.level, Level::Good);
    EXPECT_EQ(
        reached.text,
        "example.org:7117 sees this machine as 10.0.0.7 and reaches it at 10.0.0.7:7200"
    );
}

TEST(Doctor, TellsARouterFromAFirewall) {
    const net::DialBackAnswer silent{protocol::DialBack::Silent, "203.0.113.7", 7200};
    const Finding router = describe_reach("hub:7117", silent, {{"192.168.0.2", 7200}});
    EXPECT_EQ(router.level, Level::Warning);
    EXPECT_NE(router.text.find("203.0.113.7, the address of a router"), std::string::npos);
    EXPECT_EQ(
        router.mend,
        "forward TCP port 7200 of the router to this machine, then serve --listen :7200 "
        "--advertise 203.0.113.7:7200"
    );
    const Finding firewall = describe_reach("hub:7117", silent, {{"203.0.113.7", 7200}});
    EXPECT_EQ(firewall.text.find("router"), std::string::npos);
    EXPECT_NE(firewall.mend.find("through the firewall of this machine"), std::string::npos);
}

TEST(Doctor, SaysThatNobodyAnswersWhereItShouldAsk) {
    Console console;
    const Finding nobody = check_reach({.join = "127.0.0.1:1"}, console);
    EXPECT_EQ(nobody.level, Level::Bad);
    EXPECT_NE(nobody.text.find("127.0.0.1:1"), std::string::npos);
    EXPECT_FALSE(nobody.mend.empty());
}

}  // namespace
}  // namespace swarm::cli
