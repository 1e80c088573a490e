#include "swarm/cli/web/shown_run.hpp"

#include "swarm/base/try.hpp"
#include "swarm/cli/common/clock.hpp"

namespace swarm::cli {

Result<> ShownRun::listen(const std::string& address, Console& console) {
    if (address.empty()) {
        return {};
    }
    web_.emplace(loop_, state_);
    SWARM_TRY(const std::string url, web_->listen(address));
    console.info("watch the run at " + url);
    return {};
}

void ShownRun::add(const TrainReport& report) {
    state_.add(report, clock_now());
    changed();
}

void ShownRun::note(const char* what, std::optional<PeerId> peer, std::string reason) {
    state_.note(what, peer, std::move(reason), clock_now());
    changed();
}

void ShownRun::note_end(PeerId peer, std::string reason) {
    state_.note_end(peer, std::move(reason), clock_now());
    changed();
}

void ShownRun::changed() {
    if (web_) {
        web_->changed(clock_now());
    }
}

}  // namespace swarm::cli
