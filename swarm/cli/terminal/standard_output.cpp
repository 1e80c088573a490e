#include "swarm/cli/terminal/standard_output.hpp"

#include "swarm/cli/terminal/exit_code.hpp"

#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <iostream>
#include <poll.h>
#include <unistd.h>

namespace swarm::cli {
namespace {

/// A pipe reports an error as soon as nobody holds its other end.
bool reader_has_gone() {
    pollfd out{STDOUT_FILENO, 0, 0};
    return ::poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

}  // namespace

void keep_standard_streams_apart() {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(stream, F_GETFD) < 0) {
            // The lowest free number is this one. Its direction is the wrong one on purpose.
            static_cast<void>(::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY));
        }
    }
}

bool output_is_terminal() {
    return ::isatty(STDOUT_FILENO) == 1;
}

bool output_is_taken() {
    return static_cast<bool>(std::cout) && std::ferror(stdout) == 0;
}

int after_output(int exit_code) {
    std::cout.flush();
    if (std::fflush(stdout) == 0 && output_is_taken()) {
        return exit_code;
    }
    if (reader_has_gone()) {
        return after_signal(SIGPIPE);
    }
    std::cerr << "swarm: cannot write the results to standard output; is its disk full, or is it "
                 "closed?\n";
    return exit_code == kDone ? kRunFailed : exit_code;
}

}  // namespace swarm::cli
