// The names of owners in --join: who answers elsewhere hears nothing, whoever has answered first is
// remembered, and each mistake ends with one line and an exit code.
// An address of this machine is remembered where its text is not one of 127.0.0.0/8, ::1 and
// localhost: 127.1 is the same as 127.0.0.1 to the resolver, and no address to this program.
#include "tests/process/train_bed.hpp"
#include "tests/unit/net/impostor.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>

namespace swarm::test {
namespace {

using std::chrono::seconds;

constexpr int kRefused = 3;
constexpr const char* kSecret = "a right key of many letters";

class NamesTest : public TrainBed {
 protected:
    /// Starts a run of one stage; `listen` is an address of this test's port.
    std::unique_ptr<Program> start_run(
        const std::string& name, const std::string& listen, std::vector<std::string> more = {}
    ) {
        std::vector<std::string> words{
            "train", "--model", "oracle", "--stages", "1", "--steps", "100000"};
        words.insert(words.end(), {"--listen", listen + ":" + port, "--dir", path(name)});
        words.insert(words.end(), more.begin(), more.end());
        auto run = std::make_unique<Program>(words, folder.path());
        EXPECT_TRUE(run->wait_for_text("--join ", seconds(30))) << run->err();
        return run;
    }

    /// Returns the text after --join that the program has printed.
    static std::string join_of(const Program& program) {
        const std::string said = program.err();
        const std::size_t begin = said.find("--join ") + 7;
        return said.substr(begin, said.find_first_of(" \n", begin) - begin);
    }

    Program& serve(const std::string& join, const std::vector<std::string>& more = {}) {
        std::vector<std::string> words{"serve", "--join", join, "--listen", "127.0.0.1:0"};
        words.insert(words.end(), more.begin(), more.end());
        peers.push_back(std::make_unique<Program>(words, folder.path()));
        return *peers.back();
    }

    void expect_served(const std::string& join, const std::vector<std::string>& more = {}) {
        Program& peer = serve(join, more);
        EXPECT_TRUE(peer.wait_for_text("serving stage", seconds(30))) << peer.err();
    }

    std::string expect_refused(const std::string& join) {
        Program& peer = serve(join);
        EXPECT_EQ(peer.wait(seconds(30)), kRefused) << peer.err();
        const std::string said = peer.err();
        return said.substr(said.find("swarm: ") + 7);
    }

    [[nodiscard]] std::string path(const std::string& name) const {
        return (folder.path() / name).string();
    }

    std::string write_key() {
        std::ofstream(path("key")) << kSecret;
        std::filesystem::permissions(path("key"), std::filesystem::perms::owner_read);
        return path("key");
    }

    [[nodiscard]] std::string known_owners() const {
        return read_text(folder.path() / "state" / "swarm" / "known-owners");
    }

    std::string port = address.substr(address.find(':') + 1);
    std::string remembered = "127.1:" + port;
};

TEST_F(NamesTest, TheLineThatTrainPrintsHasTheNameOfItsOwner) {
    const auto run = start_run("run", "127.0.0.1");
    const std::string join = join_of(*run);
    ASSERT_EQ(join.find("@127.0.0.1:" + port), 26U) << join;
    expect_served(join);
    const std::string wrong = std::string(26, 'a') + join.substr(26);
    const std::string why = expect_refused(wrong);
    EXPECT_EQ(
        why.substr(0, why.find(';')),
        "at 127.0.0.1:" + port + " answers " + join.substr(0, 26) + ", and --join names " +
            std::string(26, 'a')
    );
    Program client({"generate", "--join", wrong, "abc"}, folder.path());
    EXPECT_EQ(client.wait(seconds(30)), kRefused) << client.err();
    EXPECT_EQ(count_lines(client.err()), 1U) << client.err();
    Program doctor({"doctor", "--join", wrong}, folder.path());
    EXPECT_EQ(doctor.wait(seconds(30)), 1) << doctor.err();
    EXPECT_NE(doctor.out().find(", and --join names aaaa"), std::string::npos) << doctor.out();
    EXPECT_EQ(known_owners(), "") << "loopback addresses are not remembered";
}

/// Before, an impostor got the proof of the swarm key and tried keys on it without limit.
TEST_F(NamesTest, AnImpostorHearsNothingFromWhoWantsAnother) {
    const std::string key = write_key();
    const std::string name = std::string(26, 'a') + "@127.0.0.1:";
    for (const std::string verb : {"serve", "generate", "doctor"}) {
        Impostor impostor;
        std::vector<std::string> words{verb, "--join", name + std::to_string(impostor.port())};
        words.insert(words.end(), {"--swarm-key", key});
        if (verb == "generate") {
            words.emplace_back("abc");
        }
        Program program(words, folder.path());
        EXPECT_EQ(program.wait(seconds(30)), verb == "doctor" ? 1 : kRefused) << program.err();
        const Impostor::Heard heard = impostor.heard();
        EXPECT_TRUE(heard.met) << verb;
        EXPECT_EQ(heard.bytes, 0U) << verb << " has told the impostor something";
    }
}

TEST_F(NamesTest, TheFirstOwnerIsTakenOnTrustAndAnotherOneIsRefused) {
    auto run = start_run("run", "127.0.0.1");
    const std::string first = join_of(*run).substr(0, 26);
    expect_served(remembered);
    EXPECT_NE(
        peers.back()->err().find("first contact with " + first + " at " + remembered),
        std::string::npos
    ) << peers.back()->err();
    EXPECT_NE(known_owners().find(remembered + " " + first), std::string::npos);
    expect_served(remembered);
    EXPECT_EQ(peers.back()->err().find("first contact"), std::string::npos) << "it is known";
    run = nullptr;
    peers.clear();
    run = start_run("other", "127.0.0.1");
    const std::string second = join_of(*run).substr(0, 26);
    EXPECT_EQ(
        expect_refused(remembered),
        "at " + remembered + " answers " + second + ", and before it was " + first +
            "; nothing was said to it. If the owner says that this is right, type --join " +
            second + "@" + remembered + ", or add --forget\n"
    );
    expect_served(remembered, {"--forget"});
    expect_served(remembered);
}

TEST_F(NamesTest, ANewRunOfTheSameOwnerIsJoinedAsTheOneBefore) {
    auto run = start_run("run", "0.0.0.0");
    const std::string owner = join_of(*run).substr(0, 26);
    expect_served(remembered);
    run = nullptr;
    peers.clear();
    run = start_run("other", "0.0.0.0");
    EXPECT_EQ(join_of(*run).substr(0, 26), owner);
    EXPECT_NE(
        read_text(folder.path() / "run" / "key.pem"), read_text(folder.path() / "other" / "key.pem")
    );
    expect_served(remembered);
    expect_served(owner + "@" + remembered);
    Program hub({"directory", "--listen", "0.0.0.0:0"}, folder.path());
    ASSERT_TRUE(hub.wait_for_text("--join " + owner + "@", seconds(30))) << hub.err();
}

TEST_F(NamesTest, AStateFolderThatCannotBeWrittenCostsOneWarning) {
    std::ofstream(folder.path() / "state") << "a file where the folder should be";
    const auto run = start_run("run", "0.0.0.0");
    EXPECT_NE(run->err().find("warning: no key of the owner"), std::string::npos) << run->err();
    expect_served(remembered);
    const std::string said = peers.back()->err();
    const std::size_t warned = said.find("warning: owners are not remembered");
    ASSERT_NE(warned, std::string::npos) << said;
    EXPECT_EQ(said.find("warning: owners are not remembered", warned + 1), std::string::npos);
}

TEST_F(NamesTest, AQrCodeIsPrintedWhereSomebodyAsksForIt) {
    const std::string upper_half = "\u2580";
    Program plain({"directory", "--listen", "127.0.0.1:0"}, folder.path());
    ASSERT_TRUE(plain.wait_for_text("--join ", seconds(30))) << plain.err();
    EXPECT_EQ(plain.err().find(upper_half), std::string::npos);
    Program shown({"directory", "--listen", "127.0.0.1:0", "--qr"}, folder.path());
    EXPECT_TRUE(shown.wait_for_text(upper_half, seconds(30))) << shown.err();
    EXPECT_EQ(shown.err().find('\x1b'), std::string::npos) << "no colours in a file";
    const auto run = start_run("run", "127.0.0.1", {"--qr", "--json", path("run.json")});
    EXPECT_TRUE(run->wait_for_text(upper_half, seconds(30))) << run->err();
    const std::string join = join_of(*run);
    run->signal(SIGTERM);
    EXPECT_EQ(run->wait(seconds(30)), 143);
    EXPECT_NE(read_text(path("run.json")).find("\"join\":\"" + join + "\""), std::string::npos);
}

}  // namespace
}  // namespace swarm::test
