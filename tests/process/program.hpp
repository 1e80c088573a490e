// Runs the `swarm` program like a person: it takes arguments, and gives exit code, stdout and
// stderr.
// Invariants: no program outlives its object; every wait has a deadline; signals go to our own
// children only, by pid.
// Threading: one thread. Errors: a deadline that passes fails the test and kills the program.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <sys/types.h>
#include <vector>

namespace swarm::test {

class Program {
 public:
    /// Stands for the network namespace of the test itself.
    static constexpr int kOwnNetwork = -1;

    /// Starts the program `name`, which lies where CMake puts swarm and swarm-bench, in the network
    /// namespace of this file descriptor. Its output and its state folder are in `folder`.
    Program(
        std::vector<std::string> arguments,
        const std::filesystem::path& folder,
        const std::string& name = "swarm",
        int network = kOwnNetwork
    );
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;
    /// Sends SIGKILL if the program still runs.
    ~Program();

    void signal(int number) const;
    /// Keeps the files of the program from growing beyond this size, like a full disk.
    void limit_files(std::uint64_t bytes) const;
    /// Keeps the program from having more open files and connections than this.
    void limit_descriptors(std::uint64_t count) const;
    /// Memory that is in use now, without pages of files.
    [[nodiscard]] std::uint64_t memory_bytes() const;
    /// Waits for the end. Returns the exit code, or 128 + signal.
    int wait(std::chrono::seconds deadline);
    /// Waits until the text is on stderr; false: the deadline came, or the program ended before.
    bool wait_for_text(const std::string& text, std::chrono::milliseconds deadline);

    [[nodiscard]] pid_t pid() const { return pid_; }

    [[nodiscard]] std::string out() const;
    [[nodiscard]] std::string err() const;

 private:
    bool wait_for_end(std::chrono::milliseconds patience);

    std::filesystem::path out_;
    std::filesystem::path err_;
    pid_t pid_ = -1;
    int pidfd_ = -1;
    int exit_code_ = -1;
    bool ended_ = false;
};

/// Returns the whole file; empty when there is none.
std::string read_text(const std::filesystem::path& path);

/// Returns the lines of a text that are not empty.
std::size_t count_lines(const std::string& text);

/// Returns a loopback port that was free a moment ago.
std::uint16_t free_port();

}  // namespace swarm::test
