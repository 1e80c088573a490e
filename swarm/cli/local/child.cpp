#include "swarm/cli/local/child.hpp"

#include "swarm/cli/common/after_fork.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <string_view>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace swarm::cli {
namespace {

constexpr int kReportsFd = 3;

// Each child has one thread, and none that spins: a machine full of peers has few cores to spare.
constexpr std::array<std::string_view, 2> kSettings = {
    "OMP_NUM_THREADS=1", "OMP_WAIT_POLICY=passive"};

Error cannot_do(const std::string& what) {
    return {
        ErrorCode::StorageFailed,
        Reaction::Fatal,
        "cannot " + what + ": " + std::generic_category().message(errno)};
}

bool is_setting(std::string_view entry) {
    for (const std::string_view setting : kSettings) {
        if (entry.substr(0, entry.find('=')) == setting.substr(0, setting.find('='))) {
            return true;
        }
    }
    return false;
}

std::vector<std::string> child_environment() {
    std::vector<std::string> entries(kSettings.begin(), kSettings.end());
    for (char** entry = ::environ; *entry != nullptr; ++entry) {
        if (!is_setting(*entry)) {
            entries.emplace_back(*entry);
        }
    }
    return entries;
}

struct Descriptors {
    int input;
    int output;
    int log;
    int reports;  // -1: none
};

/// Runs after fork(), where only async-signal-safe calls are allowed.
[[noreturn]] void become_child(
    pid_t parent, const Descriptors& use, char* const* arguments, char* const* environment
) {
    end_with_parent(parent);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    // A Ctrl-C goes to the parent alone, which then ends its children in order.
    ::setpgid(0, 0);
    ::dup2(use.input, STDIN_FILENO);
    ::dup2(use.output, STDOUT_FILENO);
    ::dup2(use.log, STDERR_FILENO);
    if (use.reports == kReportsFd) {
        ::fcntl(kReportsFd, F_SETFD, 0);  // dup2() to itself would leave it closed on exec
    } else if (use.reports >= 0) {
        ::dup2(use.reports, kReportsFd);
    }
    ::execve("/proc/self/exe", arguments, environment);
    ::_exit(kNotStarted);
}

}  // namespace

Result<Child> Child::start(const Spec& spec) {
    const bool reports = spec.reports == Reports::Sent;
    std::array<int, 2> ends{-1, -1};
    if (reports && ::pipe2(ends.data(), O_CLOEXEC) != 0) {
        return cannot_do("make a pipe");
    }
    FileDescriptor reading(ends[0]);
    const FileDescriptor writing(ends[1]);
    const FileDescriptor log(
        ::open(spec.log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)
    );
    const FileDescriptor null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!log.is_open() || !null.is_open()) {
        return cannot_do("write " + spec.log_file.string());
    }
    std::vector<std::string> arguments{"swarm"};
    arguments.insert(arguments.end(), spec.arguments.begin(), spec.arguments.end());
    if (reports) {
        arguments.push_back("--reports-fd=" + std::to_string(kReportsFd));
    }
    std::vector<std::string> environment = child_environment();
    const std::vector<char*> argument_pointers = pointers(arguments);
    const std::vector<char*> environment_pointers = pointers(environment);
    const Descriptors use{
        null.get(),
        spec.output == Output::Stdout ? STDOUT_FILENO : log.get(),
        log.get(),
        writing.get()};
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid < 0) {
        return cannot_do("start a process");
    }
    if (pid == 0) {
        become_child(parent, use, argument_pointers.data(), environment_pointers.data());
    }
    Child child(pid);
    child.reports_ = std::move(reading);
    return child;
}

Child::~Child() {
    if (pid_ > 0 && !poll()) {
        signal(SIGKILL);
        wait();
    }
}

void Child::signal(int number) {
    if (pid_ > 0 && !exit_code_) {
        ::kill(pid_, number);
    }
}

std::optional<int> Child::poll() {
    return reap(WNOHANG);
}

int Child::wait() {
    return *reap(0);
}

std::optional<int> Child::reap(int flags) {
    if (exit_code_) {
        return exit_code_;
    }
    int status = 0;
    pid_t ended = 0;
    do {
        ended = ::waitpid(pid_, &status, flags);
    } while (ended < 0 && errno == EINTR);
    if (ended == pid_) {
        exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    } else if (ended < 0) {
        exit_code_ = 127;  // the pid is no child of ours any more, and must not get a signal
    }
    return exit_code_;
}

}  // namespace swarm::cli
