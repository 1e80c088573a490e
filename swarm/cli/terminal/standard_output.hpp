// The results of a verb on standard output: a disk that is full there, or a reader that has gone,
// ends the work, and the exit code tells of it.
// Threading: the main thread.
#pragma once

#include <exception>

namespace swarm::cli {

/// Thrown where a verb writes many lines and the reader has gone: nobody wants the rest.
class OutputLost : public std::exception {
 public:
    [[nodiscard]] const char* what() const noexcept override {
        return "standard output takes no more";
    }
};

/// Opens what the starter has closed of the three standard streams, so that no file of the program
/// gets their numbers. Reading and writing there still fails.
void keep_standard_streams_apart();

/// Whether people see standard output at once; then text of others is made printable.
bool output_is_terminal();

/// Whether all that was written so far could be written.
bool output_is_taken();

/// Returns the exit code after `exit_code`: 141, as after SIGPIPE, when the reader has gone, and
/// kRunFailed with a line on stderr when a result could not be written.
int after_output(int exit_code);

}  // namespace swarm::cli
