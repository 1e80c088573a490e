#include "stages/checkpoint.hpp"

#include "stages/checkpoint_manifest.hpp"
#include "swarm/base/check.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace stages {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;
using swarm::run::StageLayout;
using swarm::run::TensorSpec;

namespace {

constexpr const char* kFirstMoment = ".exp_avg";
constexpr const char* kSecondMoment = ".exp_avg_sq";

/// "layers.17" of "layers.17.attn.wo", "embed" of "embed.weight".
std::string unit_of(const std::string& tensor) {
    constexpr std::string_view kLayers = "layers.";
    const std::size_t from = tensor.compare(0, kLayers.size(), kLayers) == 0 ? kLayers.size() : 0;
    return tensor.substr(0, tensor.find('.', from));
}

std::string weights_file(const std::string& unit) {
    return unit + ".safetensors";
}

std::string moments_file(const std::string& unit) {
    return unit + ".adam.safetensors";
}

swarm::node::Payload to_payload(std::vector<std::byte> bytes) {
    return {swarm::protocol::TensorEnvelope{}, std::move(bytes)};
}

struct Unit {
    std::string name;
    std::vector<NamedTensor> weights;
    std::vector<NamedTensor> moments;
};

std::vector<Unit> collect_units(std::span<const StageState* const> stages) {
    std::vector<Unit> units;
    for (const StageState* const state : stages) {
        std::size_t begin = 0;
        for (const TensorSpec& tensor : state->layout().tensors) {
            const std::size_t count = tensor.elements();
            if (units.empty() || units.back().name != unit_of(tensor.name)) {
                units.push_back({unit_of(tensor.name), {}, {}});
            }
            Unit& unit = units.back();
            unit.weights.push_back(
                {tensor.name, tensor.shape, state->weights().subspan(begin, count)}
            );
            unit.moments.push_back(
                {tensor.name + kFirstMoment,
                 tensor.shape,
                 state->first_moments().subspan(begin, count)}
            );
            unit.moments.push_back(
                {tensor.name + kSecondMoment,
                 tensor.shape,
                 state->second_moments().subspan(begin, count)}
            );
            begin += count;
        }
    }
    return units;
}

/// Appends the tensor `name` of that file; false when it is not there in this shape.
bool append_tensor(
    const Checkpoint& checkpoint,
    const std::string& file,
    const std::string& name,
    const TensorSpec& spec,
    std::vector<float>& values
) {
    const auto held = checkpoint.files.find(file);
    const NamedTensor* const tensor =
        held == checkpoint.files.end() ? nullptr : held->second.find(name);
    if (tensor == nullptr || tensor->shape != spec.shape) {
        return false;
    }
    values.insert(values.end(), tensor->values.begin(), tensor->values.end());
    return true;
}

}  // namespace

std::string checkpoint_name(swarm::ParameterVersion version) {
    return "checkpoint-" + std::to_string(version.gen) + "-" + std::to_string(version.step);
}

swarm::run::CheckpointFiles checkpoint_files(
    const swarm::run::RunConfig& config, std::span<const StageState* const> stages
) {
    SWARM_ASSERT(!stages.empty());
    CheckpointManifest manifest;
    manifest.version = stages.front()->version();
    manifest.run_file = swarm::run::to_toml(config);
    std::vector<std::span<const float>> weights;
    for (const StageState* const state : stages) {
        SWARM_ASSERT(state->version() == manifest.version);
        weights.push_back(state->weights());
    }
    swarm::run::CheckpointFiles made{checkpoint_name(manifest.version), {}, weights_hash(weights)};
    const std::string folder = made.name + "/";
    const auto add = [&](const std::string& name, std::span<const NamedTensor> tensors) {
        std::vector<std::byte> bytes = write_safetensors(tensors);
        manifest.files.push_back({name, bytes.size(), swarm::to_hex(swarm::sha256(bytes))});
        made.files.push_back({folder + name, to_payload(std::move(bytes))});
    };
    for (const Unit& unit : collect_units(stages)) {
        add(weights_file(unit.name), unit.weights);
        add(moments_file(unit.name), unit.moments);
    }
    const std::string text = to_json(manifest);
    const auto bytes = std::as_bytes(std::span(text));
    made.files.push_back(
        {folder + "manifest.json", to_payload(std::vector(bytes.begin(), bytes.end()))}
    );
    return made;
}

Result<swarm::run::CheckpointFiles> SafetensorsCheckpoint::make_files(
    const swarm::run::RunState& state
) const {
    const std::vector<StageLayout> layouts = swarm::run::partition(config_);
    SWARM_ASSERT(state.chunks.size() == layouts.size());
    std::vector<StageState> stages;
    for (std::size_t s = 0; s < layouts.size(); ++s) {
        auto stage = StageState::from_chunks(layouts[s], state.version, state.chunks[s]);
        if (stage.has_error()) {
            return stage.error();
        }
        stages.push_back(std::move(*stage));
    }
    std::vector<const StageState*> pointers;
    pointers.reserve(stages.size());
    for (const StageState& stage : stages) {
        pointers.push_back(&stage);
    }
    return checkpoint_files(config_, pointers);
}

Result<StageState> restore_stage(const Checkpoint& checkpoint, const StageLayout& layout) {
    std::vector<float> weights;
    std::vector<float> first;
    std::vector<float> second;
    for (std::vector<float>* const values : {&weights, &first, &second}) {
        values->reserve(layout.elements());
    }
    for (const TensorSpec& tensor : layout.tensors) {
        const std::string unit = unit_of(tensor.name);
        const std::string moments = moments_file(unit);
        const std::string& name = tensor.name;
        if (!append_tensor(checkpoint, weights_file(unit), name, tensor, weights) ||
            !append_tensor(checkpoint, moments, name + kFirstMoment, tensor, first) ||
            !append_tensor(checkpoint, moments, name + kSecondMoment, tensor, second)) {
            return Error{
                ErrorCode::Mismatch,
                Reaction::Reject,
                "the checkpoint has no " + tensor.name +
                    " of the run's shape; it was made by another model"};
        }
    }
    return StageState::from_tensors(
        layout, checkpoint.version, std::move(weights), std::move(first), std::move(second)
    );
}

Result<std::vector<StageState>> restore_stages(
    const Checkpoint& checkpoint, std::span<const StageLayout> layouts
) {
    std::vector<StageState> states;
    for (const StageLayout& layout : layouts) {
        auto state = restore_stage(checkpoint, layout);
        if (state.has_error()) {
            return state.error();
        }
        states.push_back(std::move(*state));
    }
    return states;
}

}  // namespace stages
