#include "swarm/base/keep_freed_memory.hpp"
#include "swarm/cli/command_line.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/cli/terminal/printable.hpp"
#include "swarm/cli/terminal/standard_output.hpp"

#include <algorithm>
#include <csignal>
#include <exception>
#include <iostream>

namespace {

int run(int argc, char** argv) {
    const auto read = swarm::cli::read_command_line({argv + std::min(argc, 1), argv + argc});
    if (const auto* const exit = std::get_if<swarm::cli::Exit>(&read)) {
        (exit->code == swarm::cli::kDone ? std::cout : std::cerr) << exit->text;
        return exit->code;
    }
    return std::get<swarm::cli::ChosenVerb>(read).run();
}

}  // namespace

int main(int argc, char** argv) {
    swarm::keep_freed_memory();
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);  // beyond `ulimit -f`, write() then fails as on a full disk
    swarm::cli::keep_standard_streams_apart();
    try {
        return swarm::cli::after_output(run(argc, argv));
    } catch (const swarm::cli::OutputLost&) {
        return swarm::cli::after_output(swarm::cli::kRunFailed);
    } catch (const std::exception& failure) {  // such as a lack of memory
        std::cerr << "swarm: " << swarm::cli::printable(failure.what()) << '\n';
        return swarm::cli::kRunFailed;
    }
}
