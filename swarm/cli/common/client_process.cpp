#include "swarm/cli/common/client_process.hpp"

#include "swarm/base/try.hpp"
#include "swarm/cli/common/clock.hpp"
#include "swarm/cli/common/swarm_key.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/net/address.hpp"

#include <cstdlib>
#include <utility>

namespace swarm::cli {

Result<> ClientProcess::start(Options options, std::unique_ptr<node::Role> role) {
    SWARM_TRY(net::parse_address(options.towards));
    net::HostOptions host_options;
    SWARM_TRY(host_options.swarm_key, read_swarm_key(options.swarm_key_file));
    host_options.first_contact = std::move(options.first_contact);
    host_options.on_tell = [this](const node::Report& report) { on_tell(report); };
    on_report_ = std::move(options.on_report);
    host_.emplace(
        loop_,
        std::move(role),
        net::FileStore::none(),
        net::Identity::make_ephemeral(),
        std::move(host_options)
    );
    host_->start();
    return {};
}

void ClientProcess::run(const std::function<void()>& look) {
    loop_.on_signal([this](int number) { on_signal(number); });
    loop_.run_until([&] {
        if (look) {
            look();
        }
        return exit_code_ || host_->failure();
    });
}

int ClientProcess::finish() {
    host_->stop();
    static_cast<void>(loop_.run_until([this] { return host_->finished(); }, kGoodbye));
    return host_->failure() ? end_with(console_, *host_->failure()) : *exit_code_;
}

void ClientProcess::on_tell(const node::Report& report) {
    if (const auto* const line = std::get_if<node::LogLine>(&report)) {
        console_.log(line->level, line->text);
    } else if (const auto* const failed = std::get_if<node::RunFailed>(&report)) {
        console_.error(failed->text);
        exit_code_ = failed->exit_code;
    } else if (on_report_) {
        on_report_(report);
    }
}

void ClientProcess::on_signal(int number) {
    if (presses_.note(clock_now()) == StopPress::Echo) {
        return;
    }
    if (exit_code_) {
        std::_Exit(after_signal(number));
    }
    exit_code_ = after_signal(number);
}

}  // namespace swarm::cli
