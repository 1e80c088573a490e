#include "tests/process/program.hpp"

#include "tests/places.hpp"

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sstream>
#include <string_view>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace swarm::test {
namespace {

using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;

/// Runs after fork(), where only async-signal-safe calls are allowed.
[[noreturn]] void become(
    pid_t parent,
    const char* out,
    const char* err,
    const char* file,
    char* const* arguments,
    char* const* variables,
    int network
) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) {
        ::_exit(127);
    }
    if (network != Program::kOwnNetwork && ::setns(network, CLONE_NEWNET) != 0) {
        ::_exit(127);
    }
    const int out_fd = ::open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const int err_fd = ::open(err, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(out_fd, STDOUT_FILENO);
    ::dup2(err_fd, STDERR_FILENO);
    ::execve(file, arguments, variables);
    ::_exit(127);
}

/// Returns the environment of the test, in which the program finds its state folder in `folder` and
/// not with the user's own files.
std::vector<std::string> variables_with_state_in(const std::filesystem::path& folder) {
    const std::string state = "XDG_STATE_HOME=";
    std::vector<std::string> variables{state + (folder / "state").string()};
    for (char** each = environ; *each != nullptr; ++each) {
        if (!std::string_view(*each).starts_with(state)) {
            variables.emplace_back(*each);
        }
    }
    return variables;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (std::string& text : texts) {
        pointers.push_back(text.data());
    }
    pointers.push_back(nullptr);
    return pointers;
}

}  // namespace

Program::Program(
    std::vector<std::string> arguments,
    const std::filesystem::path& folder,
    const std::string& name,
    int network
) {
    static int count = 0;
    const std::string output = "program-" + std::to_string(++count);
    out_ = folder / (output + ".out");
    err_ = folder / (output + ".err");
    const std::string file = program_dir() + "/" + name;
    arguments.insert(arguments.begin(), name);
    std::vector<std::string> variables = variables_with_state_in(folder);
    const std::vector<char*> argv = pointers_to(arguments);
    const std::vector<char*> envp = pointers_to(variables);
    const std::string out = out_.string();
    const std::string err = err_.string();
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) {
        become(parent, out.c_str(), err.c_str(), file.c_str(), argv.data(), envp.data(), network);
    }
    pidfd_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
    EXPECT_GE(pidfd_, 0) << "this kernel has no pidfd_open";
}

Program::~Program() {
    if (!ended_) {
        signal(SIGKILL);
        wait_for_end(std::chrono::seconds(10));
    }
    if (pidfd_ >= 0) {
        ::close(pidfd_);
    }
}

void Program::signal(int number) const {
    if (!ended_) {
        ::kill(pid_, number);
    }
}

void Program::limit_files(std::uint64_t bytes) const {
    // Only the soft limit is set, because a user who is not root cannot raise the hard one again.
    const rlimit limit{bytes, RLIM_INFINITY};
    EXPECT_EQ(::prlimit(pid_, RLIMIT_FSIZE, &limit, nullptr), 0);
}

void Program::limit_descriptors(std::uint64_t count) const {
    rlimit limit{};
    EXPECT_EQ(::prlimit(pid_, RLIMIT_NOFILE, nullptr, &limit), 0);
    limit.rlim_cur = count;
    EXPECT_EQ(::prlimit(pid_, RLIMIT_NOFILE, &limit, nullptr), 0);
}

std::uint64_t Program::memory_bytes() const {
    std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
    for (std::string line; std::getline(status, line);) {
        if (line.rfind("RssAnon:", 0) == 0) {
            return std::stoull(line.substr(line.find(':') + 1)) << 10;
        }
    }
    return 0;
}

bool Program::wait_for_end(milliseconds patience) {
    if (ended_) {
        return true;
    }
    pollfd waited{pidfd_, POLLIN, 0};
    if (::poll(&waited, 1, static_cast<int>(patience.count())) != 1) {
        return false;
    }
    int status = 0;
    ::waitpid(pid_, &status, 0);
    ended_ = true;
    exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return true;
}

int Program::wait(std::chrono::seconds deadline) {
    if (!wait_for_end(deadline)) {
        ADD_FAILURE() << "still running after " << deadline.count() << " s\n" << err();
        signal(SIGKILL);
        wait_for_end(std::chrono::seconds(10));
    }
    return exit_code_;
}

bool Program::wait_for_text(const std::string& text, milliseconds deadline) {
    const auto end = Steady::now() + deadline;
    while (err().find(text) == std::string::npos) {
        if (wait_for_end(milliseconds(20)) || Steady::now() > end) {
            return err().find(text) != std::string::npos;
        }
    }
    return true;
}

std::string Program::out() const {
    return read_text(out_);
}

std::string Program::err() const {
    return read_text(err_);
}

std::string read_text(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::size_t count_lines(const std::string& text) {
    std::istringstream in(text);
    std::size_t count = 0;
    for (std::string line; std::getline(in, line);) {
        count += line.empty() ? 0U : 1U;
    }
    return count;
}

std::uint16_t free_port() {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size), 0);
    ::close(socket);
    return ntohs(address.sin_port);
}

}  // namespace swarm::test
