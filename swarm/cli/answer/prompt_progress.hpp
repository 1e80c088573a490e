// The progress of reading a prompt, for people who wait for the first token.
// A short prompt shows nothing. On a terminal a status line is redrawn; elsewhere a line comes
// every 10 s.
// Threading: one thread. Times are seconds of one clock.
#pragma once

#include "swarm/cli/terminal/console.hpp"

#include <cstddef>
#include <optional>
#include <string>

namespace swarm::cli {

enum class ShownOn { Terminal, File };

/// Decides when a line is due.
class PromptProgress {
 public:
    PromptProgress(ShownOn shown_on, double now_s);

    /// Returns the line that is due; nullopt: none is.
    std::optional<std::string> line(std::size_t read, std::size_t tokens, double now_s);

 private:
    double every_s_;
    double due_s_;
};

/// Shows the lines on the console, by the real clock.
class PromptStatus {
 public:
    explicit PromptStatus(Console& console);

    void show(std::size_t read, std::size_t tokens);

    /// Ends the status line when the first token is there.
    void end() { console_.settle(); }

 private:
    Console& console_;
    PromptProgress progress_;
};

}  // namespace swarm::cli
