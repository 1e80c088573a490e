#include "swarm/cli/directory/directory.hpp"

#include "stacking/sessions/directory.hpp"
#include "swarm/cli/common/flags.hpp"
#include "swarm/cli/common/own_address.hpp"
#include "swarm/cli/common/peer_process.hpp"
#include "swarm/cli/owners/owner_key.hpp"
#include "swarm/cli/owners/qr_code.hpp"

#include <memory>

namespace swarm::cli {
namespace {

constexpr const char* kExamples = R"(
examples:
  swarm directory                                    # prints what those who serve have to type
  swarm directory --qr                               # ... and shows it to the camera of a phone
  swarm directory --key directory.pem --swarm-key secret.txt)";

std::string line_of(const node::HostListed& host) {
    std::string experts;
    for (const std::uint32_t expert : host.experts) {
        experts += (experts.empty() ? ", experts " : ",") + std::to_string(expert);
    }
    return "model " + to_hex(host.model).substr(0, 8) + experts + ", layers " +
           std::to_string(host.hosted.first) + " to " + std::to_string(host.hosted.end - 1) +
           ", weights " + to_hex(host.weights).substr(0, 8) + ": peer " + short_name(host.peer) +
           (host.listed ? " serves" : " is gone") + "; " + std::to_string(host.hosts) +
           (host.hosts == 1 ? " serves" : " serve") + " them";
}

}  // namespace

void add_directory(CLI::App& program, const OnChosen& on_chosen) {
    CLI::App& app =
        add_verb(program, "directory", "Tell clients who serves which models", kExamples);
    const auto options = std::make_shared<DirectoryOptions>();
    add_listen(app, "where servers and clients reach it", options->peer.listen);
    add_key(app, options->peer.key_file);
    add_qr(app, options->qr);
    add_swarm_key(app, "a secret that every peer must know", options->peer.swarm_key_file);
    when_named<DirectoryOptions>(app, on_chosen, options, cli::directory);
}

int directory(const DirectoryOptions& options) {
    Console console;
    PeerProcess::Options process{.flags = options.peer};
    const Result<net::Address> listen = parse_listen_address(options.peer.listen);
    if (listen && options.peer.key_file.empty()) {
        process.owner = owner_key(*listen, console);
    }
    process.on_report = [&](const node::Report& report) {
        if (const auto* const host = std::get_if<node::HostListed>(&report)) {
            console.info(line_of(*host));
        }
    };
    return PeerProcess(process, console).run([&](const PeerProcess::Self& self) {
        const std::string likeliest = self.address.substr(0, self.address.find(','));
        const std::string join = join_text(self.owner, likeliest);
        console.info(
            "directory at " + self.address + "; serve with: swarm serve --model smollm2 --join " +
            join
        );
        if (options.qr) {
            show_qr_code(join, console);
        }
        return std::make_unique<stacking::sessions::Directory>();
    });
}

}  // namespace swarm::cli
