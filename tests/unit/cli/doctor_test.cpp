#include "swarm/cli/doctor/checks.hpp"
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
    const test::TemporaryFolder folder;
    const Finding good = check_disk("disk", folder.path());
    EXPECT_NE(good.level, Level::Bad);
    EXPECT_NE(good.text.find("a durable write takes"), std::string::npos);
    EXPECT_EQ(check_disk("disk", "/proc").level, Level::Bad);
}

}  // namespace
}  // namespace swarm::cli
