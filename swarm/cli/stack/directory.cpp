// `swarm directory`: who serves which layers of which model.
#include "stacking/sessions/directory.hpp"

#include "swarm/cli/peer_process.hpp"
#include "swarm/cli/verbs.hpp"

#include <memory>

namespace swarm::cli {
namespace {

std::string line_of(const node::HostListed& host) {
    return "model " + to_hex(host.model).substr(0, 8) + ", layers " +
           std::to_string(host.hosted.first) + " to " + std::to_string(host.hosted.end - 1) +
           ": peer " + short_name(host.peer) + (host.listed ? " serves" : " is gone") + "; " +
           std::to_string(host.hosts) + (host.hosts == 1 ? " serves" : " serve") + " them";
}

}  // namespace

int directory(const DirectoryOptions& options) {
    Console console;
    PeerProcess::Options process;
    process.listen = options.listen;
    process.key_file = options.key_file;
    process.swarm_key_file = options.swarm_key_file;
    process.on_report = [&](const node::Report& report) {
        if (const auto* const host = std::get_if<node::HostListed>(&report)) {
            console.info(line_of(*host));
        }
    };
    return PeerProcess(process, console).run([&](const PeerProcess::Self& self) {
        console.info(
            "directory at " + self.address + "; serve with: swarm serve --model smollm2 --join " +
            self.address
        );
        return std::make_unique<stacking::sessions::Directory>();
    });
}

}  // namespace swarm::cli
