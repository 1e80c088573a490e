// Runs of the program itself, for benches: its processes, and what their --json says.
// Errors: NotFound when the program is not beside swarm-bench, ConnectionLost when a run failed.
#pragma once

#include "swarm/base/result.hpp"

#include <filesystem>
#include <string>
#include <sys/types.h>
#include <vector>

namespace swarm::bench {

/// The run file of the bench `pipeline`, whose model others take, too.
inline constexpr const char* kPipelineRun = R"([run]
name = "pipeline"
stages = 2
steps = 2
microbatches = 32
batch = 4
[model]
layers = 8
width = 512
heads = 8
kv_heads = 8
ffn_width = 1376
vocabulary = 2000
context = 256
)";

struct EndedRun {
    double tokens_per_s = 0;
    double cpu_s = 0;  // the process and all its children that ended
};

Result<> check_program(const std::filesystem::path& program);
/// Starts a process without output. The first word is the program.
Result<pid_t> start_program(const std::vector<std::string>& words);
/// Waits for the end of a run whose --json is `report`.
Result<EndedRun> finish_run(pid_t pid, const std::filesystem::path& report);

/// A folder of its own, gone when it is left.
class ScratchFolder {
 public:
    ScratchFolder();
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;
    ~ScratchFolder();

    [[nodiscard]] std::string operator/(const char* name) const { return (path_ / name).string(); }

 private:
    std::filesystem::path path_;
};

}  // namespace swarm::bench
