#include "swarm/cli/local/log_folder.hpp"

#include "swarm/base/durable_file.hpp"
#include "swarm/base/try.hpp"

namespace swarm::cli {

Result<LogFolder> LogFolder::open(const std::string& chosen) {
    if (!chosen.empty()) {
        SWARM_TRY(make_folder(chosen, "choose another folder with --dir"));
        return LogFolder(chosen, std::nullopt);
    }
    SWARM_TRY(TemporaryDirectory scratch, TemporaryDirectory::make());
    std::filesystem::path path = scratch.path();
    return LogFolder(std::move(path), std::move(scratch));
}

void LogFolder::keep(Console& console) {
    if (scratch_) {
        scratch_->keep();
        console.info("the logs of all processes are in " + path_.string());
    }
}

}  // namespace swarm::cli
