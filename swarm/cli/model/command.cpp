#include "swarm/cli/model/command.hpp"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace swarm::cli {
namespace {

constexpr int kNotStarted = 127;

/// While a child has the terminal its signals are for the child.
class IgnoredInterrupts {
 public:
    IgnoredInterrupts()
        : interrupt_(std::signal(SIGINT, SIG_IGN)), quit_(std::signal(SIGQUIT, SIG_IGN)) {}

    IgnoredInterrupts(const IgnoredInterrupts&) = delete;
    IgnoredInterrupts& operator=(const IgnoredInterrupts&) = delete;

    ~IgnoredInterrupts() {
        std::signal(SIGINT, interrupt_);
        std::signal(SIGQUIT, quit_);
    }

 private:
    void (*interrupt_)(int);
    void (*quit_)(int);
};

/// After fork(): async-signal-safe calls only.
[[noreturn]] void become(pid_t parent, int input, char* const* arguments) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) {
        ::_exit(kNotStarted);  // it died before the line above
    }
    for (const int number : {SIGINT, SIGQUIT, SIGPIPE, SIGXFSZ}) {
        std::signal(number, SIG_DFL);
    }
    ::dup2(input, STDIN_FILENO);
    ::dup2(STDERR_FILENO, STDOUT_FILENO);
    ::execvp(arguments[0], arguments);
    ::_exit(kNotStarted);
}

}  // namespace

int run_command(const std::vector<std::string>& command) {
    std::vector<std::string> words = command;
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (std::string& word : words) {
        arguments.push_back(word.data());
    }
    arguments.push_back(nullptr);
    const int input = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    const IgnoredInterrupts ignored;
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child == 0) {
        become(parent, input, arguments.data());
    }
    ::close(input);
    int status = 0;
    pid_t ended = -1;
    if (child > 0) {
        do {
            ended = ::waitpid(child, &status, 0);
        } while (ended < 0 && errno == EINTR);
    }
    if (ended != child || child < 0) {
        return kNotStarted;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace swarm::cli
