// The files that `./swarm.sh install` puts below a prefix work there, without this folder and its
// caches.
#include "tests/process/train_bed.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace swarm::test {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

/// Returns what a command line of bash prints on both outputs.
std::string printed_by(const std::string& line) {
    FILE* const pipe = ::popen(("exec 2>&1; " + line).c_str(), "r");
    std::string text;
    char piece[512];
    while (pipe != nullptr && std::fgets(piece, sizeof piece, pipe) != nullptr) {
        text += piece;
    }
    EXPECT_EQ(::pclose(pipe), 0) << line << "\n" << text;
    return text;
}

TEST(Installed, TheProgramFindsItsLibrariesScenariosAndText) {
    const TemporaryFolder folder;
    const std::string prefix = (folder.path() / "prefix").string();
    printed_by(
        "cmake --install '" SWARM_BINARY_DIR "' --component swarm --prefix '" + prefix + "'"
    );
    const std::string swarm =
        "cd '" + folder.path().string() + "' && env -i HOME=/nonexistent " + prefix + "/bin/swarm ";
    EXPECT_NE(printed_by(swarm + "sim --list").find("churn"), std::string::npos);
    const std::string trained =
        printed_by(swarm + "train --single --model oracle --steps 1 --dir run");
    EXPECT_NE(trained.find("1 step"), std::string::npos) << trained;
    const std::string libraries = printed_by("ldd '" + prefix + "/bin/swarm'");
    EXPECT_EQ(libraries.find("not found"), std::string::npos) << libraries;
    EXPECT_EQ(libraries.find("site-packages"), std::string::npos) << libraries;
    for (const char* file :
         {"share/man/man1/swarm-serve.1",
          "share/bash-completion/completions/swarm",
          "share/swarm/austen.txt",
          "share/doc/swarm/service.md"}) {
        EXPECT_TRUE(fs::exists(fs::path(prefix) / file)) << file;
    }
    const std::string unit =
        read_text(fs::path(prefix) / "lib/systemd/system/swarm-serve@.service");
    EXPECT_NE(unit.find("ExecStart=" + prefix + "/bin/swarm serve --key %S/"), std::string::npos)
        << unit;
}

class CompletionTest : public testing::Test {
 protected:
    /// Returns what bash offers for the last word of the line.
    std::string offered(const std::string& words) {
        if (!fs::exists(folder_.path() / "bash-completion")) {
            Program manual({"manual", folder_.path().string()}, folder_.path());
            EXPECT_EQ(manual.wait(seconds(30)), 0) << manual.err();
        }
        return printed_by(
            "bash --norc -c 'source \"" + folder_.path().string() +
            "/bash-completion/completions/swarm\"; COMP_WORDS=(" + words +
            "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _swarm; echo \"${COMPREPLY[*]}\"'"
        );
    }

    TemporaryFolder folder_;
};

TEST_F(CompletionTest, OffersVerbsFlagsAndValues) {
    EXPECT_EQ(offered("swarm ser"), "serve\n");
    EXPECT_EQ(offered("swarm sim comp"), "compare\n");
    EXPECT_EQ(offered("swarm serve --weig"), "--weights\n");
    EXPECT_EQ(offered("swarm serve --join host:1 --weights b"), "bf16\n");
    EXPECT_EQ(offered("swarm sim compare --pol"), "--policies\n");
}

TEST_F(CompletionTest, LeavesFilesToBash) {
    EXPECT_EQ(offered("swarm train run"), "\n");
}

/// Hears what services tell systemd.
class NotifySocket {
 public:
    explicit NotifySocket(const fs::path& path) : handle_(::socket(AF_UNIX, SOCK_DGRAM, 0)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path.string().copy(address.sun_path, sizeof address.sun_path - 1);
        const auto* const name = reinterpret_cast<const sockaddr*>(&address);
        EXPECT_EQ(::bind(handle_, name, sizeof address), 0);
        const timeval patience{30, 0};
        ::setsockopt(handle_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
    }

    NotifySocket(const NotifySocket&) = delete;
    NotifySocket& operator=(const NotifySocket&) = delete;

    ~NotifySocket() {
        ::unsetenv("NOTIFY_SOCKET");
        ::close(handle_);
    }

    /// Waits for a message that begins so; empty: none came in time.
    std::string next_with(const std::string& begin) {
        char bytes[1024];
        for (;;) {
            const ssize_t size = ::recv(handle_, bytes, sizeof bytes, 0);
            const std::string text(bytes, size > 0 ? static_cast<std::size_t>(size) : 0);
            if (size <= 0 || text.starts_with(begin)) {
                return text;
            }
        }
    }

 private:
    int handle_;
};

using ServiceTest = TrainBed;

TEST_F(ServiceTest, TellsSystemdWhenItIsReadyItsStatusAndItsEnd) {
    Program coordinator(
        train({"--model", "oracle", "--stages", "1", "--steps", "1000"}), folder.path()
    );
    NotifySocket manager(folder.path() / "notify");
    start_peers(1, "50");
    EXPECT_EQ(manager.next_with("READY"), "READY=1");
    EXPECT_NE(manager.next_with("STATUS=").size(), 0U);
    peers.front()->signal(SIGTERM);
    EXPECT_EQ(manager.next_with("STOPPING"), "STOPPING=1");
    EXPECT_EQ(peers.front()->wait(seconds(70)), 143) << peers.front()->err();
}

}  // namespace
}  // namespace swarm::test
