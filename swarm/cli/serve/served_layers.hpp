// The layers of a model as `swarm serve --model` loads and offers them.
// Threading: opening runs on the main thread, loading on the device's. Errors: those of the
// readers; Usage, Mismatch: flags that do not fit the model. One line each.
#pragma once

#include "stacking/composition/bridge.hpp"
#include "stacking/llama/weight_choice.hpp"
#include "stacking/models/model_source.hpp"
#include "stacking/sessions/session_server.hpp"
#include "swarm/base/workers.hpp"
#include "swarm/cli/serve/serve.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

namespace swarm::cli {

/// The part of a mixture that is held here.
struct HeldExperts {
    bool trunk = false;  // the layers, of whose experts those that are not held are lent by others
    stacking::ExpertSet held;
};

/// How this peer keeps the layers of the model.
struct KeptLayers {
    stacking::llama::WeightChoice choice = stacking::llama::WeightChoice::as_is();
    bool exits = false;
    std::uint64_t kv_bytes = 0;
    std::shared_ptr<Workers> workers{};
    /// Leads to the first layer; none: no bridge does.
    std::optional<stacking::composition::Bridge> bridge{};
    std::optional<HeldExperts> experts{};  // none: all of them, and none is lent
    Digest identity{};                     // the model's name, where experts are held
};

Result<stacking::sessions::LoadedLayers> load_layers(
    const stacking::models::ModelSource& model, protocol::LayerRange layers, const KeptLayers& kept
);

/// A model, and the parts in which it is offered.
struct ServedModelFiles {
    std::filesystem::path path;
    std::shared_ptr<const stacking::models::ModelSource> model;
    Digest identity;
    std::vector<protocol::LayerRange> split;
    std::optional<protocol::LayerRange> fixed;
    std::optional<stacking::composition::Bridge> bridge;
    std::optional<HeldExperts> experts{};
};

Result<ServedModelFiles> open_served(
    const ServeOptions& options,
    const std::filesystem::path& path,
    stacking::models::ModelSource model
);

}  // namespace swarm::cli
