// The output to a person on stderr: log lines, and below them one status line that is redrawn in
// place. Without a terminal there is no status line, and each status is a log line. Warnings that
// repeat are held back and counted (repeat_filter.hpp). What a text of others commands the terminal
// is written out (printable.hpp).
// Threading: one thread.
#pragma once

#include "swarm/base/ids.hpp"
#include "swarm/base/result.hpp"
#include "swarm/cli/terminal/repeat_filter.hpp"
#include "swarm/node/report.hpp"

#include <string>

namespace swarm::cli {

class Console {
 public:
    Console();
    Console(const Console&) = delete;
    Console& operator=(const Console&) = delete;
    /// Leaves the last status on the screen, and says which warnings were held back.
    ~Console();

    [[nodiscard]] bool is_terminal() const { return is_terminal_; }

    void log(node::LogLine::Level level, const std::string& text);

    void info(const std::string& text) { log(node::LogLine::Level::Info, text); }

    void warn(const std::string& text) { log(node::LogLine::Level::Warning, text); }

    void error(const std::string& text) { log(node::LogLine::Level::Error, text); }

    void status(const std::string& text);

    /// Ends the status line, so that what another stream prints next begins on a line of its own.
    void settle();

 private:
    void print(const char* mark, const std::string& text);

    bool is_terminal_;
    std::string status_;
    RepeatFilter warnings_;
};

/// Prints the error and returns the exit code: kRejected for Reaction::Reject, else kRunFailed.
int end_with(Console& console, const Error& error);

/// Returns the first letters of a peer's id, which are enough for people.
std::string short_name(const PeerId& peer);

}  // namespace swarm::cli
