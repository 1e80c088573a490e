#include "swarm/cli/serve/served_layers.hpp"

#include "stacking/composition/bridged_input.hpp"
#include "stacking/llama/llama_lender.hpp"
#include "stacking/llama/llama_sessions.hpp"
#include "stacking/models/model_digest.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/answer/open_stack.hpp"

#include <charconv>
#include <future>
#include <string>
#include <utility>

namespace swarm::cli {

using protocol::LayerRange;
using stacking::models::ModelSource;
using stacking::sessions::LoadedLayers;

namespace {

/// Parses "10-19"; both ends are included.
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

/// The digest names the weights as they are used: another format makes other weights of the same
/// file. As-is and fp32 are the same values, so peers with either may serve one text. The digest
/// covers `exits`, so that all peers of some layers can end a token's path, or none can.
Result<Digest> digest_of(
    const ModelSource& model, const run::StageLayout& layers, const KeptLayers& kept
) {
    SWARM_TRY(const Digest stored, stacking::models::digest_of(model, layers));
    Sha256 hash;
    hash.add(stored.bytes);
    hash.add_text(std::string(stacking::llama::values_of(kept.choice)));
    hash.add_text(kept.exits ? ", exits" : "");
    return hash.finish();
}

/// Parses "0,2", or "none" for the trunk alone.
Result<HeldExperts> parse_experts(const ServeOptions& options, std::uint32_t count) {
    HeldExperts experts{options.trunk || options.experts == "none", {}};
    const char* at = options.experts.data();
    const char* const end = at + options.experts.size();
    bool good = count > 0;
    while (good && options.experts != "none") {
        std::uint32_t expert = 0;
        const auto read = std::from_chars(at, end, expert);
        good = read.ec == std::errc{} && expert < count;
        experts.held.add(expert);
        if (!good || read.ptr == end) {
            break;
        }
        good = *read.ptr == ',';
        at = read.ptr + 1;
    }
    if (!good) {
        return Error{
            ErrorCode::Usage,
            Reaction::Reject,
            count == 0 ? "--experts is for mixtures; " + options.model + " has no experts"
                       : "--experts wants none, or some of 0 to " + std::to_string(count - 1) +
                             " with commas between them; not " + options.experts};
    }
    return experts;
}

/// Names the values of the model's experts: whoever has the same digest lends the same bits.
Digest digest_of_experts(const KeptLayers& kept) {
    Sha256 hash;
    hash.add_text("experts of ");
    hash.add(kept.identity.bytes);
    hash.add_text(std::string(stacking::llama::values_of(kept.choice)));
    return hash.finish();
}

Result<LoadedLayers> load_experts(
    const ModelSource& model, const run::StageLayout& layout, const KeptLayers& kept
) {
    SWARM_TRY(
        auto weights,
        stacking::llama::load_stage(
            model,
            layout,
            kept.choice,
            stacking::llama::Exits::None,
            {false, kept.experts->held},
            kept.workers.get()
        )
    );
    LoadedLayers loaded;
    loaded.weights = digest_of_experts(kept);
    loaded.expert_weights = loaded.weights;
    loaded.lent = kept.experts->held;
    loaded.lender =
        std::make_shared<stacking::llama::LlamaLender>(std::move(weights), kept.workers);
    return loaded;
}

}  // namespace

Result<LoadedLayers> load_layers(
    const ModelSource& model, LayerRange layers, const KeptLayers& kept
) {
    const run::StageLayout layout =
        stacking::models::layers_of(model.architecture(), layers.first, layers.end);
    if (kept.experts && !kept.experts->trunk) {
        return load_experts(model, layout, kept);
    }
    // Hashing takes as long as packing, so both go over the file at the same time.
    auto hashed = std::async(std::launch::async, [&] { return digest_of(model, layout, kept); });
    using stacking::llama::Exits;
    const Exits exits = kept.exits ? Exits::EveryStage : Exits::None;
    stacking::llama::HeldParts held;
    if (kept.experts) {
        held.experts = kept.experts->held;
    }
    SWARM_TRY(
        auto weights,
        stacking::llama::load_stage(model, layout, kept.choice, exits, held, kept.workers.get())
    );
    SWARM_TRY(const Digest digest, hashed.get());
    LoadedLayers loaded{nullptr, digest, nullptr};
    if (kept.bridge && layers.first == 0) {
        auto embed = [embedding = weights->embedding](
                         stacking::TokenId token, std::span<float> row
                     ) { embedding->read_row(token, row); };
        loaded.bridge = std::make_shared<stacking::composition::BridgedInput>(
            stacking::composition::bridged_input(*kept.bridge, std::move(embed))
        );
    }
    const stacking::llama::LlamaSessions::Options means{
        .kv_budget_bytes = kept.kv_bytes, .workers = kept.workers};
    const auto sessions = std::make_shared<stacking::llama::LlamaSessions>(weights, means);
    loaded.compute = sessions;
    if (kept.experts) {
        loaded.expert_weights = digest_of_experts(kept);
        loaded.lent = kept.experts->held;
        for (std::uint32_t e = 0; e < model.architecture().traits.experts.count; ++e) {
            if (!loaded.lent.has(e)) {
                loaded.lacking.add(e);
            }
        }
        if (!loaded.lacking.empty()) {
            loaded.trunk = sessions;
        }
        if (!loaded.lent.empty()) {
            loaded.lender =
                std::make_shared<stacking::llama::LlamaLender>(std::move(weights), kept.workers);
        }
    }
    return loaded;
}

Result<ServedModelFiles> open_served(
    const ServeOptions& options, const std::filesystem::path& path, ModelSource model
) {
    ServedModelFiles served{path, std::make_shared<ModelSource>(std::move(model)), {}, {}, {}, {}};
    const auto& architecture = served.model->architecture();
    SWARM_TRY(stacking::models::check_stages(architecture, options.stages));
    SWARM_TRY(served.identity, stacking::models::identity_of(*served.model));
    if (!options.bridge_file.empty()) {
        SWARM_TRY(auto bridge, read_bridge(options.bridge_file));
        if (bridge.outputs() != architecture.model.width) {
            return Error{
                ErrorCode::Mismatch,
                Reaction::Reject,
                options.bridge_file + " leads to width " + std::to_string(bridge.outputs()) + "; " +
                    options.model + " has width " + std::to_string(architecture.model.width)};
        }
        served.identity = stacking::composition::identity_over(served.identity, bridge);
        served.bridge = std::move(bridge);
    }
    for (const run::StageLayout& stage : stacking::models::split(architecture, options.stages)) {
        served.split.push_back({stage.first_layer, stage.first_layer + stage.layers});
    }
    if (!options.layers.empty()) {
        SWARM_TRY(served.fixed, parse_layers(options.layers, architecture.model.layers));
        const bool whole = served.fixed->end - served.fixed->first == architecture.model.layers;
        SWARM_TRY(stacking::models::check_stages(architecture, whole ? 1 : 2));
    }
    if (!options.experts.empty()) {
        SWARM_TRY(served.experts, parse_experts(options, architecture.traits.experts.count));
        if (!served.experts->trunk && (options.exits || served.bridge)) {
            return Error{
                ErrorCode::Usage,
                Reaction::Reject,
                "--exits and --bridge are for layers; with --experts alone there are none"};
        }
        if (!served.experts->trunk && !served.fixed) {
            served.fixed = LayerRange{0, architecture.model.layers};
        }
    }
    return served;
}

}  // namespace swarm::cli
