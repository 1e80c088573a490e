// The owner that may answer at the address after --join, and the memory of it.
#include "swarm/cli/owners/known_owners.hpp"
#include "swarm/cli/owners/owner_check.hpp"
#include "swarm/cli/owners/owner_key.hpp"
#include "swarm/cli/owners/qr_code.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <vector>

namespace swarm::cli {
namespace {

constexpr PeerId kAnna{{1, 2, 3, 4}};
constexpr PeerId kBert{{5, 6, 7, 8}};
constexpr PeerId kRun{{9, 9, 9, 9}};  // a run of Anna
constexpr const char* kThere = "example.org:7117";

class OwnersTest : public testing::Test {
 protected:
    [[nodiscard]] OwnerCheck check(ExpectedOwner expected = {}) {
        return {std::move(expected), KnownOwners(file), console};
    }

    /// Returns why the owner is refused; empty: it is let in and kept.
    static std::string meet(OwnerCheck& check, const char* address, net::Credentials shown) {
        const Result<> judged = check.judge(address, shown);
        if (!judged) {
            EXPECT_EQ(judged.error().reaction, Reaction::Reject) << "exit code 3";
            return judged.error().detail;
        }
        check.keep(address, shown);
        return "";
    }

    swarm::test::TemporaryFolder folder;
    std::filesystem::path file = folder.path() / "state" / "known-owners";
    Console console;
};

TEST_F(OwnersTest, OneOfSeveralLinesCounts) {
    const KnownOwners known(file);
    EXPECT_EQ(*known.find(kThere), std::nullopt);
    ASSERT_TRUE(known.add(kThere, kAnna).has_value());
    ASSERT_TRUE(known.add("[fd00::1]:7117", kBert).has_value());
    ASSERT_TRUE(known.add(kThere, kBert).has_value());
    EXPECT_EQ(*known.find(kThere), kBert) << "the last line counts";
    EXPECT_EQ(*known.find("[fd00::1]:7117"), kBert);
    EXPECT_EQ(*known.find("example.org:7118"), std::nullopt);

    struct stat status {};

    ASSERT_EQ(::stat(file.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(OwnersTest, ATornLineIsPassedOver) {
    const KnownOwners known(file);
    ASSERT_TRUE(known.add(kThere, kAnna).has_value());
    std::ofstream(file, std::ios::app) << "# a note\n" << kThere << " aaaa";  // a crash
    EXPECT_EQ(*known.find(kThere), kAnna);
    ASSERT_TRUE(known.add("b:1", kBert).has_value());
    EXPECT_EQ(*known.find("b:1"), kBert) << "the line after a torn one is a line of its own";
    EXPECT_EQ(*known.find(kThere), kAnna);
}

TEST_F(OwnersTest, TheFirstOwnerIsTakenAndAnotherOneIsRefusedWithTheRemedy) {
    OwnerCheck first = check();
    EXPECT_EQ(meet(first, kThere, {kAnna, kAnna}), "");
    OwnerCheck second = check();  // another process
    EXPECT_EQ(
        meet(second, "Example.org:7117", {kBert, kBert}),
        "at example.org:7117 answers " + net::to_name(kBert) + ", and before it was " +
            net::to_name(kAnna) +
            "; nothing was said to it. If the owner says that this is right, type --join " +
            net::to_name(kBert) + "@example.org:7117, or add --forget"
    );
    EXPECT_EQ(meet(second, kThere, {kAnna, kAnna}), "");
    EXPECT_EQ(meet(second, "example.org:7118", {kBert, kBert}), "") << "at another port";
}

TEST_F(OwnersTest, ANewRunOfTheSameOwnerIsNoStranger) {
    OwnerCheck first = check();
    EXPECT_EQ(meet(first, kThere, {kRun, kAnna}), "");
    OwnerCheck second = check();
    EXPECT_EQ(meet(second, kThere, {{{7, 7, 7, 7}}, kAnna}), "");
    EXPECT_NE(meet(second, kThere, {kRun, kBert}), "") << "the run is not the owner";
}

TEST_F(OwnersTest, ForgetLetsOneOtherOwnerIn) {
    OwnerCheck first = check();
    EXPECT_EQ(meet(first, kThere, {kAnna, kAnna}), "");
    OwnerCheck second = check({.name = "", .forget = true});
    EXPECT_EQ(meet(second, kThere, {kBert, kBert}), "");
    EXPECT_NE(meet(second, kThere, {kAnna, kAnna}), "") << "from here on it is Bert";
    EXPECT_EQ(*KnownOwners(file).find(kThere), kBert);
}

TEST_F(OwnersTest, ANameIsAllThatCounts) {
    OwnerCheck first = check();
    EXPECT_EQ(meet(first, kThere, {kAnna, kAnna}), "");
    OwnerCheck named = check({.name = net::to_name(kBert)});
    EXPECT_EQ(
        meet(named, kThere, {kAnna, kAnna}),
        "at example.org:7117 answers " + net::to_name(kAnna) + ", and --join names " +
            net::to_name(kBert) +
            "; nothing was said to it. Ask the owner for the line that `swarm train` or `swarm "
            "directory` prints now"
    );
    EXPECT_EQ(meet(named, kThere, {kBert, kBert}), "") << "whoever was there before";
    EXPECT_EQ(*KnownOwners(file).find(kThere), kBert);
    OwnerCheck run = check({.name = net::to_text(kRun)});
    EXPECT_EQ(meet(run, kThere, {kRun, kAnna}), "") << "the name of the process will do";
}

TEST_F(OwnersTest, ThisMachineIsJudgedByANameAloneAndNeverRemembered) {
    for (const char* const here : {"127.0.0.1:7117", "[::1]:7117", "localhost:7117"}) {
        OwnerCheck any = check();
        EXPECT_EQ(meet(any, here, {kAnna, kAnna}), "");
        EXPECT_EQ(meet(any, here, {kBert, kBert}), "");
        OwnerCheck named = check({.name = net::to_name(kAnna)});
        EXPECT_NE(meet(named, here, {kBert, kBert}), "");
    }
    EXPECT_FALSE(std::filesystem::exists(file));
}

TEST_F(OwnersTest, EachOfSeveralAddressesIsRemembered) {
    OwnerCheck first = check();
    EXPECT_EQ(meet(first, "10.0.0.1:7117,[fd00::1]:7117", {kAnna, kAnna}), "");
    OwnerCheck second = check();
    EXPECT_NE(meet(second, "[fd00::1]:7117", {kBert, kBert}), "");
}

TEST_F(OwnersTest, AFolderThatCannotBeWrittenEndsNothing) {
    for (const char* const bad : {"", "/dev/null/state/known-owners"}) {
        OwnerCheck any(ExpectedOwner{}, KnownOwners(bad), console);
        EXPECT_EQ(meet(any, kThere, {kAnna, kAnna}), "") << bad;
        EXPECT_NE(meet(any, kThere, {kBert, kBert}), "") << "this process remembers it";
    }
}

/// The name has 130 bits: another id with its digits is not found.
TEST_F(OwnersTest, TheNameIsTheBeginOfTheId) {
    const net::Identity some = net::Identity::make_ephemeral();
    EXPECT_EQ(net::to_name(some.peer()).size(), 26U);
    EXPECT_TRUE(net::to_text(some.peer()).starts_with(net::to_name(some.peer())));
    EXPECT_EQ(join_text(some.peer(), "[::1]:7"), net::to_name(some.peer()) + "@[::1]:7");
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
        lines.push_back(line);
    }
    return lines;
}

TEST_F(OwnersTest, AQrCodeHasItsFinderPattern) {
    const auto code = qr_code("5qzl7fd3m2xwk6vhtcay4ngrbe@192.168.100.200:7117", QrFor::File);
    ASSERT_TRUE(code.has_value());
    const std::vector<std::string> lines = lines_of(*code);
    // 47 letters fit into version 3: 29 modules, and 2 light ones at each side.
    ASSERT_EQ(lines.size(), 17U);
    const std::string full = "\u2588";
    std::string quiet;
    for (int i = 0; i < 33; ++i) {
        quiet += full;
    }
    EXPECT_EQ(lines[0], quiet);
    // The first line below has rows 0 and 1 of the finder: dark, then dark light*5 dark.
    const std::string finder = full + full + " \u2584\u2584\u2584\u2584\u2584 " + full;
    EXPECT_EQ(lines[1].substr(0, finder.size()), finder);
    const auto coloured = qr_code("a", QrFor::Terminal);
    EXPECT_TRUE(coloured->starts_with("\x1b[37;40m"));
    EXPECT_FALSE(qr_code(std::string(3000, 'a'), QrFor::File).has_value());
}

}  // namespace
}  // namespace swarm::cli
