#include "swarm/cli/serve/serve.hpp"

#include "stages/server/stage_server.hpp"
#include "stages/torch/library/torch_library.hpp"
#include "swarm/cli/common/peer_process.hpp"
#include "swarm/cli/compute/compute_factory.hpp"
#include "swarm/cli/compute/machine_memory.hpp"
#include "swarm/cli/owners/owner_check.hpp"
#include "swarm/cli/serve/serve_model.hpp"
#include "swarm/cli/terminal/console.hpp"
#include "swarm/cli/terminal/exit_code.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace swarm::cli {
namespace {

/// Makes the compute of a stage, and notes the work units of a forward of that stage.
stages::ComputeFactory measured_factory(
    const ServeOptions& options, std::shared_ptr<double> forward_units
) {
    auto factory = make_compute_factory(options.device, threads_to_train(options.threads));
    return [forward_units = std::move(forward_units), factory = std::move(factory)](
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

std::optional<int> serve_run(
    const ServeOptions& options, PeerProcess::Options process, Console& console
) {
    process.store_folder = options.cache_folder;
    process.drain_note =
        "leaving at the next commit, in 60 s at the latest; once more leaves at once";
    // The event loop must not wait until LibTorch has come from a cold disk. Where it cannot be
    // loaded, the first stage of a Llama says why.
    static_cast<void>(stages::torch_library::load());
    PeerProcess peer(process, console);
    const int exit_code = peer.run([&](const PeerProcess::Self& self) {
        stages::StageServer::Options server;
        server.self = self.peer;
        server.incarnation = self.incarnation;
        server.coordinator_address = options.join;
        server.own_address = self.address;
        server.make_compute = measured_factory(options, self.forward_units);
        server.first_contact_within = options.wait;
        server.memory_bytes = options.memory_bytes;
        server.machine_bytes = machine_memory_bytes();
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
    return exit_code == kDone && peer.was_sent_away() ? std::nullopt : std::optional(exit_code);
}

/// Serves until the end of the hours, if there are any; then it returns nullopt.
std::optional<int> serve_once(
    const ServeOptions& options, const std::function<bool()>& may_stay, Console& console
) {
    PeerProcess::Options process{
        .flags = options.peer,
        .towards = options.join,
        .first_contact = make_owner_check(options.owner, console)};
    if (options.hours) {
        process.may_stay = may_stay;
        process.leave_note = "the hours end at " + options.hours->end() + ": leaving";
    }
    return options.model.empty() ? serve_run(options, std::move(process), console)
                                 : serve_model(options, std::move(process), console);
}

}  // namespace

int serve(const ServeOptions& options) {
    Console console;
    if (const Result<> lowered = options.nice ? be_nice(*options.nice) : Result<>(); !lowered) {
        return end_with(console, lowered.error());
    }
    if (!options.hours) {
        return *serve_once(options, {}, console);
    }
    return serve_in_hours(*options.hours, console, [&](const std::function<bool()>& may_stay) {
        return serve_once(options, may_stay, console);
    });
}

}  // namespace swarm::cli
