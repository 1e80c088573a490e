// A child process of this program, for `swarm local`: started from its own binary, and never left
// behind: it dies with its parent (PR_SET_PDEATHSIG), and with this object.
// Invariant: signals go to a pid only while it is our unreaped child, so never to a stranger.
// Threading: the main thread, which must live as long as its children. Errors: StorageFailed
// (Fatal): no process, no pipe or no log file can be had.
#pragma once

#include "swarm/base/durable_file.hpp"
#include "swarm/base/result.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace swarm::cli {

class Child {
 public:
    /// The goal of its stdout: the log file, or our stdout.
    enum class Output : std::uint8_t { Log, Stdout };
    /// Sent: the child gets --reports-fd and a pipe for its reports.
    enum class Reports : std::uint8_t { None, Sent };

    struct Spec {
        std::vector<std::string> arguments;  // without the name of the program
        std::filesystem::path log_file;      // its stderr is appended there
        Output output = Output::Log;
        Reports reports = Reports::None;
    };

    static Result<Child> start(const Spec& spec);

    Child(Child&& other) noexcept
        : pid_(std::exchange(other.pid_, -1)),
          exit_code_(other.exit_code_),
          reports_(std::move(other.reports_)) {}

    Child& operator=(Child&&) = delete;
    /// Sends SIGKILL and waits, unless the child has ended.
    ~Child();

    /// Does nothing once the child has ended.
    void signal(int number);
    /// Returns the exit code, 128 + signal after a signal; nullopt while the child runs.
    std::optional<int> poll();
    /// Waits for the end of the child and returns the exit code as poll() does.
    int wait();

    /// The reading end of the pipe of its reports.
    [[nodiscard]] int reports() const { return reports_.get(); }

 private:
    explicit Child(pid_t pid) : pid_(pid) {}

    std::optional<int> reap(int flags);

    pid_t pid_;
    std::optional<int> exit_code_;
    FileDescriptor reports_;
};

}  // namespace swarm::cli
