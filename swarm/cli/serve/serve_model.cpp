#include "swarm/cli/serve/serve_model.hpp"

#include "stacking/models/any_model.hpp"
#include "stacking/sessions/session_server.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/answer/open_model.hpp"
#include "swarm/cli/common/model_store.hpp"
#include "swarm/cli/serve/peer_copy.hpp"
#include "swarm/cli/serve/served_layers.hpp"
#include "swarm/cli/terminal/exit_code.hpp"

#include <filesystem>
#include <memory>
#include <utility>

namespace swarm::cli {
namespace {

using protocol::LayerRange;
using stacking::models::ModelSource;
using stacking::sessions::LoadedLayers;
using stacking::sessions::Newcomer;
using stacking::sessions::SessionServer;

/// The model that is served, or the digests by which peers must give its files first.
struct Plan {
    std::optional<ServedModelFiles> served;
    std::optional<NamedDigests> wanted;  // set where the files are not here
};

Result<Plan> make_plan(const ServeOptions& options) {
    std::error_code ignored;
    const bool is_here = std::filesystem::exists(options.model, ignored);
    auto opened = open_model(options.model);
    if (opened) {
        SWARM_TRY(auto served, open_served(options, opened->path, std::move(opened->source)));
        return Plan{std::move(served), std::nullopt};
    }
    auto digests = digests_of(options.model);
    if (is_here || opened.error().code != ErrorCode::NotFound || !digests) {
        return opened.error();
    }
    if (!options.experts.empty()) {
        return Error{
            ErrorCode::Usage,
            Reaction::Reject,
            "--experts needs the files of " + options.model + " here; peers do not give a part"};
    }
    if (!options.bridge_file.empty()) {
        return Error{
            ErrorCode::Usage,
            Reaction::Reject,
            "--bridge needs the files of " + options.model + " here; peers do not give them"};
    }
    if (options.files) {
        digests->files = options.files;
    }
    return Plan{open_whole_copy(options, digests->model, digests->files), std::move(*digests)};
}

SessionServer::Options server_options(
    const ServeOptions& options, const ServedModelFiles& served, const PeerProcess::Self& self
) {
    SessionServer::Options server;
    server.self = self.peer;
    server.model = served.identity;
    server.layers = served.model->architecture().model.layers;
    server.split = served.split;
    server.fixed = served.fixed;
    if (!served.bridge) {
        server.files = shelf_of(served.path, served.model);
    }
    server.address = self.address;
    server.directory_address = options.join;
    server.first_contact_within = options.wait;
    server.keeps_for = options.keeps_for;
    return server;
}

std::unique_ptr<node::Role> make_server(
    const ServeOptions& options,
    const ServedModelFiles& served,
    KeptLayers kept,
    const PeerProcess::Self& self
) {
    SessionServer::Options server = server_options(options, served, self);
    kept.bridge = served.bridge;
    kept.experts = served.experts;
    kept.identity = served.identity;
    server.load = [model = served.model, kept, forward_units = self.forward_units](LayerRange layers
                  ) {
        *forward_units = layers.end - layers.first;  // no other job is under way until it ends
        return load_layers(*model, layers, kept);
    };
    return std::make_unique<SessionServer>(std::move(server));
}

std::unique_ptr<node::Role> make_newcomer(
    const ServeOptions& options,
    const NamedDigests& wanted,
    const KeptLayers& kept,
    const PeerProcess::Self& self
) {
    const auto copy = std::make_shared<PeerCopy>(options, wanted.model, kept);
    Newcomer::Options newcomer;
    newcomer.self = self.peer;
    newcomer.model = wanted.model;
    newcomer.name = wanted.name;
    newcomer.files = wanted.files;
    newcomer.copy = copy;
    newcomer.directory_address = options.join;
    newcomer.seed = self.incarnation.value;
    newcomer.patience = options.wait;
    newcomer.serve = [options, copy, self](LayerRange layers, PeerId directory) {
        SessionServer::Options server = server_options(options, copy->served(), self);
        server.fixed = layers;
        server.directory = directory;
        server.load = [copy, forward_units = self.forward_units](LayerRange loaded) {
            *forward_units = loaded.end - loaded.first;
            return Result<LoadedLayers>(copy->take_loaded());
        };
        return std::make_unique<SessionServer>(std::move(server));
    };
    return std::make_unique<Newcomer>(std::move(newcomer));
}

}  // namespace

std::optional<int> serve_model(
    const ServeOptions& options, PeerProcess::Options process, Console& console
) {
    const Result<Plan> plan = make_plan(options);
    if (!plan) {
        return end_with(console, plan.error());
    }
    KeptLayers kept;
    kept.choice = *stacking::llama::parse_weight_choice(options.weights);
    kept.exits = options.exits;
    kept.kv_bytes = options.kv_bytes;
    kept.workers = make_workers(threads_to_answer(options.threads));
    process.memory_looks = IdleMemory::kLooks;
    PeerProcess peer(std::move(process), console);
    const int exit_code = peer.run([&](const PeerProcess::Self& self) {
        console.info(
            "peer " + short_name(self.peer) + " joins the directory " + options.join +
            "; the others reach it at " + self.address +
            "; Ctrl-C ends it, and texts go on with other peers"
        );
        return plan->served ? make_server(options, *plan->served, kept, self)
                            : make_newcomer(options, *plan->wanted, kept, self);
    });
    return exit_code == kDone && peer.was_sent_away() ? std::nullopt : std::optional(exit_code);
}

}  // namespace swarm::cli
