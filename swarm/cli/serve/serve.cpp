#include "swarm/cli/serve/serve.hpp"

#include "stages/server/stage_server.hpp"
#include "swarm/cli/common/compute_factory.hpp"
#include "swarm/cli/common/peer_process.hpp"
#include "swarm/cli/serve/serve_model.hpp"
#include "swarm/cli/terminal/console.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

namespace swarm::cli {
namespace {

/// Makes the compute of a stage, and notes the work units of a forward of that stage.
stages::ComputeFactory measured_factory(
    const std::string& device, std::shared_ptr<double> forward_units
) {
    return [forward_units = std::move(forward_units), factory = make_compute_factory(device)](
               const run::RunConfig& config, const run::StageLayout& layout
           ) {
        *forward_units = static_cast<double>(config.batch) * config.model.context * layout.layers;
        return factory(config, layout);
    };
}

/// Reads the state that an earlier process has kept; nullopt: there is none that can be used.
std::optional<stages::CachedState> kept(const std::filesystem::path& file, Console& console) {
    auto cached = stages::read_cached_state(file);
    if (!cached && cached.error().code != ErrorCode::NotFound) {
        console.warn(file.filename().string() + ": " + cached.error().detail + "; not used");
    }
    if (!cached) {
        return std::nullopt;
    }
    console.info(
        "stage " + std::to_string(cached->stage.value) + ", version " +
        std::to_string(cached->version.step) + ": read from " + file.string()
    );
    return std::move(*cached);
}

int serve_run(const ServeOptions& options, Console& console) {
    PeerProcess::Options process{.flags = options.peer, .towards = options.join};
    process.store_folder = options.cache_folder;
    process.drain_note =
        "leaving at the next commit, in 60 s at the latest; once more leaves at once";
    return PeerProcess(process, console).run([&](const PeerProcess::Self& self) {
        stages::StageServer::Options server;
        server.self = self.peer;
        server.incarnation = self.incarnation;
        server.coordinator_address = options.join;
        server.own_address = self.address;
        server.make_compute = measured_factory(options.device, self.forward_units);
        server.first_contact_within = options.wait;
        server.memory_bytes = options.memory_bytes;
        server.keeps_state = !options.cache_folder.empty();
        if (server.keeps_state) {
            const std::filesystem::path folder(self.store_folder);
            server.cached = kept(folder / stages::StateCache::kFileName, console);
            server.unsent = kept(folder / stages::StateCache::kUnsentFileName, console);
        }
        console.info(
            "peer " + short_name(self.peer) + " joins " + options.join +
            "; the others reach it at " + self.address + "; Ctrl-C leaves cleanly"
        );
        return std::make_unique<stages::StageServer>(std::move(server));
    });
}

}  // namespace

int serve(const ServeOptions& options) {
    Console console;
    return options.model.empty() ? serve_run(options, console) : serve_model(options, console);
}

}  // namespace swarm::cli
