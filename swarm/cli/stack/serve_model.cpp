#include "swarm/cli/stack/serve_model.hpp"

#include "stacking/llama/llama_sessions.hpp"
#include "stacking/models/model_digest.hpp"
#include "stacking/sessions/session_server.hpp"
#include "swarm/cli/exit_code.hpp"
#include "swarm/cli/model/open_model.hpp"
#include "swarm/cli/peer_process.hpp"
#include "swarm/cli/stack/open_stack.hpp"
#include "swarm/cli/train.hpp"

#include <charconv>
#include <memory>
#include <utility>

namespace swarm::cli {
namespace {

using protocol::LayerRange;
using stacking::kernels::WeightFormat;
using stacking::models::ModelSource;
using stacking::sessions::LoadedLayers;

/// "10-19", both ends included, as people count layers.
Result<LayerRange> parse_layers(const std::string& text, std::uint32_t layers) {
    const char* const end = text.data() + text.size();
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    const auto begun = std::from_chars(text.data(), end, first);
    const bool dashed = begun.ec == std::errc{} && begun.ptr != end && *begun.ptr == '-';
    const auto ended = dashed ? std::from_chars(begun.ptr + 1, end, last) : begun;
    if (!dashed || ended.ec != std::errc{} || ended.ptr != end || first > last || last >= layers) {
        return Error{
            ErrorCode::Usage,
            Reaction::Reject,
            "--layers wants a range such as 0-" + std::to_string(layers - 1) +
                ", which is all of this model; not " + text};
    }
    return LayerRange{first, last + 1};
}

/// What of a model is kept here, and how.
struct Kept {
    WeightFormat format = WeightFormat::Fp32;
    bool exits = false;
    std::uint64_t kv_bytes = 0;
    std::optional<stacking::stack::Bridge> bridge{};  // that leads to the first layer
};

/// What another format makes of the same file is other weights; and where one peer of some layers
/// ends a token's path, all of them do.
Result<Digest> digest_of(
    const ModelSource& model, const run::StageLayout& layers, const Kept& kept
) {
    const Result<Digest> stored = stacking::models::digest_of(model, layers);
    if (!stored) {
        return stored.error();
    }
    Sha256 hash;
    hash.add(stored->bytes);
    hash.add_text(std::string(stacking::kernels::name_of(kept.format)));
    hash.add_text(kept.exits ? ", exits" : "");
    return hash.finish();
}

Result<LoadedLayers> load_layers(const ModelSource& model, LayerRange layers, const Kept& kept) {
    const run::StageLayout layout =
        stacking::models::layers_of(model.architecture(), layers.first, layers.end);
    const Result<Digest> digest = digest_of(model, layout, kept);
    if (!digest) {
        return digest.error();
    }
    auto weights = stacking::llama::load_stage(model, layout, kept.format, kept.exits);
    if (!weights) {
        return weights.error();
    }
    LoadedLayers loaded{nullptr, *digest, nullptr};
    if (kept.bridge && layers.first == 0) {
        auto embed = [embedding = (*weights)->embedding](
                         stacking::TokenId token, std::span<float> row
                     ) { embedding->read_row(token, row); };
        loaded.bridge = std::make_shared<stacking::stack::BridgedInput>(
            stacking::stack::bridged_input(*kept.bridge, std::move(embed))
        );
    }
    const stacking::llama::LlamaSessions::Options memory{.kv_budget_bytes = kept.kv_bytes};
    loaded.compute = std::make_shared<stacking::llama::LlamaSessions>(std::move(*weights), memory);
    return loaded;
}

struct Served {
    std::shared_ptr<const ModelSource> model;
    Digest identity;
    std::vector<LayerRange> split;
    std::optional<LayerRange> fixed;
    std::optional<stacking::stack::Bridge> bridge;
};

Result<Served> open_served(const ServeOptions& options) {
    Result<OpenModel> opened = open_model(options.model);
    if (!opened) {
        return opened.error();
    }
    Served served{std::make_shared<ModelSource>(std::move(opened->source)), {}, {}, {}, {}};
    const auto& architecture = served.model->architecture();
    if (options.stages > architecture.model.layers) {
        return Error{
            ErrorCode::Usage,
            Reaction::Reject,
            "--stages is " + std::to_string(options.stages) + "; the model has " +
                std::to_string(architecture.model.layers) + " layers"};
    }
    const Result<Digest> identity = stacking::models::identity_of(*served.model);
    if (!identity) {
        return identity.error();
    }
    served.identity = *identity;
    if (!options.bridge_file.empty()) {
        auto bridge = read_bridge(options.bridge_file);
        if (!bridge) {
            return bridge.error();
        }
        if (bridge->outputs() != architecture.model.width) {
            return Error{
                ErrorCode::Mismatch,
                Reaction::Reject,
                options.bridge_file + " leads to width " + std::to_string(bridge->outputs()) +
                    "; " + options.model + " has width " +
                    std::to_string(architecture.model.width)};
        }
        served.identity = stacking::stack::identity_over(*identity, *bridge);
        served.bridge = std::move(*bridge);
    }
    for (const run::StageLayout& stage : stacking::models::split(architecture, options.stages)) {
        served.split.push_back({stage.first_layer, stage.first_layer + stage.layers});
    }
    if (!options.layers.empty()) {
        const auto fixed = parse_layers(options.layers, architecture.model.layers);
        if (!fixed) {
            return fixed.error();
        }
        served.fixed = *fixed;
    }
    return served;
}

}  // namespace

int serve_model(const ServeOptions& options, Console& console) {
    const Result<Served> served = open_served(options);
    if (!served) {
        return end_with(console, served.error());
    }
    PeerProcess::Options process;
    process.towards = options.join;
    process.seats = options.seats;
    process.listen = options.listen;
    process.advertise = options.advertise;
    process.dial_from = options.dial_from;
    process.key_file = options.key_file;
    process.swarm_key_file = options.swarm_key_file;
    process.service_ms = options.service_ms;
    return PeerProcess(process, console).run([&](const PeerProcess::Self& self) {
        stacking::sessions::SessionServer::Options server;
        server.self = self.peer;
        server.model = served->identity;
        server.layers = served->model->architecture().model.layers;
        server.split = served->split;
        server.fixed = served->fixed;
        const WeightFormat format = *stacking::kernels::parse_weight_format(options.weights);
        server.load = [model = served->model,
                       kept = Kept{format, options.exits, options.kv_bytes, served->bridge},
                       forward_units = self.forward_units](LayerRange layers) {
            *forward_units = layers.end - layers.first;  // no other job is under way until it ends
            return load_layers(*model, layers, kept);
        };
        server.address = self.address;
        server.directory_address = options.join;
        server.first_contact_within = options.wait;
        console.info(
            "peer " + short_name(self.peer) + " joins the directory " + options.join +
            "; Ctrl-C ends it, and texts go on with other peers"
        );
        return std::make_unique<stacking::sessions::SessionServer>(std::move(server));
    });
}

}  // namespace swarm::cli
