// The checks of `swarm doctor`: each looks at one thing that a machine needs to serve, train or
// answer, and finds whether it will do, and the command that mends it.
// Threading: the main thread. Errors: none; a fact that cannot be found out is a finding, too.
// Cost: some fsyncs of 4 KiB; the other checks ask the system.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace swarm::cli {

struct Finding {
    enum class Level : std::uint8_t { Good, Warning, Bad };

    Level level = Level::Good;
    std::string name;  // name of the thing that was looked at
    std::string text;
    std::string mend{};  // a command or a deed; empty: nothing is to be done
};

Finding check_cpu();
Finding check_memory();
/// Looks for LibTorch, which `train` and `serve` need for a run, and its BLAS.
Finding check_libtorch();
Finding check_gpu();
/// Checks that a time service keeps the clock right. No decision of swarm needs that, but people
/// compare the logs of several machines.
Finding check_clock();
/// Checks that `verb` could listen on the port, and finds the address that others would dial.
Finding check_port(std::uint16_t port, const std::string& verb);
/// Checks the room in the folder, and the time of a durable write.
Finding check_disk(const std::string& name, const std::filesystem::path& folder);
Finding check_open_files();
/// Checks what `swarm model fetch` has fetched, or needs.
Finding check_models();

/// Runs all checks in the order above.
std::vector<Finding> examine_machine();

/// "good", "warning" or "bad".
const char* name_of(Finding::Level level);

/// Returns the text of --json: an array of findings.
std::string to_json(const std::vector<Finding>& findings);

}  // namespace swarm::cli
