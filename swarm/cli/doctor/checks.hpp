// What a machine must have to serve, train or answer, one finding each: what is there, whether it
// will do, and the command that mends it.
// Threading: the main thread. Errors: none; what cannot be found out is a finding of its own.
// Cost: some fsyncs of 4 KiB; the rest is asking.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace swarm::cli {

struct Finding {
    enum class Level : std::uint8_t { Good, Warning, Bad };

    Level level = Level::Good;
    std::string name;  // of what was looked at
    std::string text;
    std::string mend{};  // what to type or do; empty: nothing
};

Finding check_cpu();
Finding check_memory();
/// What `train` and `serve` compute a run with, and its BLAS.
Finding check_libtorch();
Finding check_gpu();
/// Whether somebody keeps the clock right: checked by nobody's decision, but logs are compared.
Finding check_clock();
/// Whether others could be listened to there, and by which address they would dial.
Finding check_port(std::uint16_t port, const std::string& who);
/// Room, and how long a durable write takes.
Finding check_disk(const std::string& name, const std::filesystem::path& folder);
Finding check_open_files();
/// What `swarm model fetch` needs, or has fetched.
Finding check_models();

/// All of them, in order.
std::vector<Finding> examine_machine();

}  // namespace swarm::cli
