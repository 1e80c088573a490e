#include "swarm/cli/status/status.hpp"

#include "stacking/run_watcher.hpp"
#include "swarm/cli/common/client_process.hpp"
#include "swarm/cli/common/clock.hpp"
#include "swarm/cli/common/files.hpp"
#include "swarm/cli/owners/owner_check.hpp"
#include "swarm/cli/status/run_status.hpp"
#include "swarm/cli/terminal/console.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/cli/terminal/standard_output.hpp"

#include <iostream>
#include <memory>
#include <optional>
#include <utility>

namespace swarm::cli {
namespace {

/// A look at a run: the role in this process, and what people see of it.
class Look {
 public:
    Look(const StatusOptions& options, Console& console)
        : options_(options), console_(console), process_(console) {}

    int run() {
        if (const Result<> started = start(); !started) {
            return end_with(console_, started.error());
        }
        process_.run([this] { look(); });
        const std::optional<RunStatus> last =
            watcher_->knows_run() ? std::optional(status_of(watcher_->view())) : std::nullopt;
        const int exit_code = process_.finish();
        const bool kept = process_.failed() || options_.json_file.empty() || !last ||
                          write_text(console_, options_.json_file, status_json(*last));
        return exit_code == kDone && !kept ? kRunFailed : exit_code;
    }

 private:
    Result<> start() {
        auto watcher = std::make_unique<stacking::RunWatcher>(stacking::RunWatcher::Options{
            options_.join, options_.wait});
        watcher_ = watcher.get();
        ClientProcess::Options process;
        process.towards = options_.join;
        process.first_contact = make_owner_check(options_.owner, console_);
        process.swarm_key_file = options_.swarm_key_file;
        return process_.start(std::move(process), std::move(watcher));
    }

    /// Shows what is new. Ends with the first whole picture, or with the run when it is watched.
    void look() {
        if (process_.is_ending() || !watcher_->knows_run()) {
            return;
        }
        const stacking::RunView& view = watcher_->view();
        if (!options_.watch) {
            std::cout << status_text(status_of(view)) << std::flush;
            process_.end(output_is_taken() ? kDone : kRunFailed);
            return;
        }
        const bool was_linked = std::exchange(is_linked_, view.is_linked());
        if (const auto line = watched_.see(status_of(view), clock_now())) {
            console_.status(*line);
        }
        if (view.is_finished()) {
            console_.info("the run is finished");
            process_.end(kDone);
        } else if (was_linked && !is_linked_) {
            console_.warn("the coordinator is away; its last word stands above");
        }
    }

    const StatusOptions& options_;
    Console& console_;
    stacking::RunWatcher* watcher_ = nullptr;  // lives in process_
    WatchedRun watched_;
    bool is_linked_ = false;
    ClientProcess process_;
};

}  // namespace

int show_status(const StatusOptions& options) {
    Console console;
    return Look(options, console).run();
}

}  // namespace swarm::cli
