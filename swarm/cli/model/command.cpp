#include "swarm/cli/model/command.hpp"

#include "swarm/cli/after_fork.hpp"
#include "swarm/cli/exit_code.hpp"
#include "swarm/net/file_store.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/wait.h>

namespace swarm::cli {
namespace {

constexpr std::array kCaught{SIGINT, SIGTERM};

volatile std::sig_atomic_t caught = 0;
std::array<struct sigaction, kCaught.size()> former;

void note(int number) {
    caught = caught == 0 ? number : caught;
}

/// After fork(): async-signal-safe calls only.
[[noreturn]] void become(pid_t parent, int input, char* const* arguments) {
    end_with_parent(parent);
    for (const int number : {SIGINT, SIGTERM, SIGPIPE, SIGXFSZ}) {
        std::signal(number, SIG_DFL);
    }
    ::dup2(input, STDIN_FILENO);
    ::dup2(STDERR_FILENO, STDOUT_FILENO);
    ::execvp(arguments[0], arguments);
    ::_exit(kNotStarted);
}

int wait_for(pid_t child) {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) {
            return kNotStarted;
        }
        if (caught != 0) {
            ::kill(child, SIGTERM);  // it may not have heard of it
        }
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : after_signal(WTERMSIG(status));
}

}  // namespace

CaughtSignals::CaughtSignals() {
    caught = 0;

    struct sigaction action {};

    action.sa_handler = note;  // without SA_RESTART: a wait for the child must end
    for (std::size_t i = 0; i < kCaught.size(); ++i) {
        ::sigaction(kCaught[i], &action, &former[i]);
    }
}

CaughtSignals::~CaughtSignals() {
    for (std::size_t i = 0; i < kCaught.size(); ++i) {
        ::sigaction(kCaught[i], &former[i], nullptr);
    }
}

std::optional<int> CaughtSignals::number() {
    return caught == 0 ? std::nullopt : std::optional<int>(caught);
}

int run_command(const std::vector<std::string>& command) {
    std::vector<std::string> words = command;
    const std::vector<char*> arguments = pointers(words);
    const net::FileDescriptor input(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (input.get() < 0) {
        return kNotStarted;
    }
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child == 0) {
        become(parent, input.get(), arguments.data());
    }
    return child < 0 ? kNotStarted : wait_for(child);
}

}  // namespace swarm::cli
