#include "swarm/cli/common/command.hpp"

#include "swarm/base/durable_file.hpp"
#include "swarm/cli/common/after_fork.hpp"
#include "swarm/cli/terminal/exit_code.hpp"

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

/// Holds back the signals that could come between a look at the child and the wait for it.
class HeldSignals {
 public:
    HeldSignals() {
        sigemptyset(&held_);
        sigaddset(&held_, SIGCHLD);
        for (const int number : kCaught) {
            sigaddset(&held_, number);
        }
        ::sigprocmask(SIG_BLOCK, &held_, &before_);
    }

    HeldSignals(const HeldSignals&) = delete;
    HeldSignals& operator=(const HeldSignals&) = delete;

    ~HeldSignals() { restore(); }

    void restore() const { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

    /// Waits for the next of the held signals, which may have come before.
    [[nodiscard]] int wait() const {
        int number = 0;
        ::sigwait(&held_, &number);
        return number;
    }

 private:
    sigset_t held_{};
    sigset_t before_{};
};

/// Runs after fork(), where only async-signal-safe calls are allowed.
[[noreturn]] void become(
    pid_t parent, const HeldSignals& signals, int input, char* const* arguments
) {
    end_with_parent(parent);
    for (const int number : {SIGINT, SIGTERM, SIGPIPE, SIGXFSZ}) {
        std::signal(number, SIG_DFL);
    }
    signals.restore();
    ::dup2(input, STDIN_FILENO);
    ::dup2(STDERR_FILENO, STDOUT_FILENO);
    ::execvp(arguments[0], arguments);
    ::_exit(kNotStarted);
}

/// Returns the exit code. `came`: a signal that would have ended this process.
int wait_for(pid_t child, const HeldSignals& signals, std::optional<int>& came) {
    int status = 0;
    pid_t ended = 0;
    while ((ended = ::waitpid(child, &status, WNOHANG)) == 0) {
        const int number = signals.wait();
        if (number != SIGCHLD) {
            ::kill(child, SIGTERM);  // the signal may have gone to this process alone
            came = number;
        }
    }
    if (ended < 0) {
        return kNotStarted;
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
    const FileDescriptor input(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (input.get() < 0) {
        return kNotStarted;
    }
    const pid_t parent = ::getpid();
    std::optional<int> came;
    int exit_code = kNotStarted;
    {
        const HeldSignals signals;
        const pid_t child = ::fork();
        if (child == 0) {
            become(parent, signals, input.get(), arguments.data());
        }
        exit_code = child < 0 ? kNotStarted : wait_for(child, signals, came);
    }
    if (came) {
        ::raise(*came);  // no signal is held back here
    }
    return exit_code;
}

}  // namespace swarm::cli
