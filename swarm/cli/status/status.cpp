#include "swarm/cli/status/status.hpp"

#include "stacking/run_watcher.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/common/clock.hpp"
#include "swarm/cli/common/files.hpp"
#include "swarm/cli/common/swarm_key.hpp"
#include "swarm/cli/owners/owner_check.hpp"
#include "swarm/cli/status/run_status.hpp"
#include "swarm/cli/terminal/console.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/cli/terminal/standard_output.hpp"
#include "swarm/cli/terminal/stop_presses.hpp"
#include "swarm/net/address.hpp"
#include "swarm/net/host.hpp"

#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

namespace swarm::cli {
namespace {

constexpr auto kGoodbye = std::chrono::seconds(2);

/// A look at a run: the role on a host of this process, and what people see of it.
class Look {
 public:
    Look(const StatusOptions& options, Console& console) : options_(options), console_(console) {}

    int run() {
        if (const Result<> started = start(); !started) {
            return end_with(console_, started.error());
        }
        loop_.on_signal([this](int number) {
            if (presses_.note(clock_now()) == StopPress::Echo) {
                return;
            }
            if (exit_code_) {
                std::_Exit(after_signal(number));
            }
            exit_code_ = after_signal(number);
        });
        loop_.run_until([this] {
            look();
            return exit_code_ || host_->failure();
        });
        const std::optional<RunStatus> last =
            watcher_->knows_run() ? std::optional(status_of(watcher_->view())) : std::nullopt;
        host_->stop();
        static_cast<void>(loop_.run_until([this] { return host_->finished(); }, kGoodbye));
        if (host_->failure()) {
            return end_with(console_, *host_->failure());
        }
        const bool kept = options_.json_file.empty() || !last ||
                          write_text(console_, options_.json_file, status_json(*last));
        return *exit_code_ == kDone && !kept ? kRunFailed : *exit_code_;
    }

 private:
    Result<> start() {
        SWARM_TRY(net::parse_address(options_.join));
        net::HostOptions host_options;
        SWARM_TRY(host_options.swarm_key, read_swarm_key(options_.swarm_key_file));
        host_options.first_contact = make_owner_check(options_.owner, console_);
        host_options.on_tell = [this](const node::Report& report) { on_tell(report); };
        auto watcher = std::make_unique<stacking::RunWatcher>(stacking::RunWatcher::Options{
            options_.join, options_.wait});
        watcher_ = watcher.get();
        host_.emplace(
            loop_,
            std::move(watcher),
            net::FileStore::none(),
            net::Identity::make_ephemeral(),
            std::move(host_options)
        );
        host_->start();
        return {};
    }

    void on_tell(const node::Report& report) {
        if (const auto* const line = std::get_if<node::LogLine>(&report)) {
            console_.log(line->level, line->text);
        } else if (const auto* const ended = std::get_if<node::RunFailed>(&report)) {
            console_.error(ended->text);
            exit_code_ = ended->exit_code;
        }
    }

    /// Shows what is new. Ends with the first whole picture, or with the run when it is watched.
    void look() {
        if (exit_code_ || !watcher_->knows_run()) {
            return;
        }
        const stacking::RunView& view = watcher_->view();
        if (!options_.watch) {
            std::cout << status_text(status_of(view)) << std::flush;
            exit_code_ = output_is_taken() ? kDone : kRunFailed;
            return;
        }
        const bool was_linked = std::exchange(is_linked_, view.is_linked());
        if (const auto line = watched_.see(status_of(view), clock_now())) {
            console_.status(*line);
        }
        if (view.is_finished()) {
            console_.info("the run is finished");
            exit_code_ = kDone;
        } else if (was_linked && !is_linked_) {
            console_.warn("the coordinator is away; its last word stands above");
        }
    }

    const StatusOptions& options_;
    Console& console_;
    net::EventLoop loop_;
    std::optional<net::Host> host_;
    stacking::RunWatcher* watcher_ = nullptr;  // lives in the host
    WatchedRun watched_;
    bool is_linked_ = false;
    std::optional<int> exit_code_;
    StopPresses presses_;
};

}  // namespace

int show_status(const StatusOptions& options) {
    Console console;
    return Look(options, console).run();
}

}  // namespace swarm::cli
