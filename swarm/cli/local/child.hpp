// A child process of this program, for `swarm local`: started from its own binary, and never left
// behind: it dies with its parent (PR_SET_PDEATHSIG), and with this object.
// Invariant: signals go to a pid only while it is our unreaped child, so never to a stranger.
// Threading: the main thread, which must live as long as its children. Errors: StorageFailed,
// Fatal: no process, no pipe or no log file to be had.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/net/file_store.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace swarm::cli {

class Child {
 public:
    struct Spec {
        std::vector<std::string> arguments;  // without the program's name
        std::filesystem::path log_file;      // its stderr, appended
        bool takes_stdout = false;           // writes to our stdout; else to the log
        bool reports = false;                // gets --reports-fd and a pipe
    };

    static Result<Child> start(const Spec& spec);

    Child(Child&& other) noexcept
        : pid_(std::exchange(other.pid_, -1)),
          exit_code_(other.exit_code_),
          reports_(std::move(other.reports_)) {}

    Child& operator=(Child&&) = delete;
    /// SIGKILL, unless it has ended.
    ~Child();

    /// Ignored once it has ended.
    void signal(int number);
    /// The exit code, 128 + signal after a signal; nullopt while it runs.
    std::optional<int> poll();
    /// Waits for its end.
    int wait();

    /// The reading end of the reports' pipe.
    [[nodiscard]] int reports() const { return reports_.get(); }

 private:
    explicit Child(pid_t pid) : pid_(pid) {}

    std::optional<int> reap(int flags);

    pid_t pid_;
    std::optional<int> exit_code_;
    net::FileDescriptor reports_;
};

}  // namespace swarm::cli
