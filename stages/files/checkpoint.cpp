#include "stages/files/checkpoint.hpp"

#include "stages/files/checkpoint_manifest.hpp"
#include "swarm/base/check.hpp"
#include "swarm/base/try.hpp"
#include "swarm/run/training/boundary_maps.hpp"
#include "swarm/run/training/exits.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace stages {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;
using swarm::run::all_tensors;
using swarm::run::PlacedTensor;
using swarm::run::StageLayout;
using swarm::run::TensorSpec;

namespace {

constexpr const char* kFirstMoment = ".exp_avg";
constexpr const char* kSecondMoment = ".exp_avg_sq";
constexpr const char* kError = ".error";

/// The unit of a tensor, which one stage writes: "layers.17" for "layers.17.attn.wo", "embed" for
/// "embed.weight"; "layers.17.part-1" of a layer that stages share. Both sides of a boundary have
/// maps, so each map is a unit.
std::string unit_of(const std::string& tensor, const StageLayout& stage) {
    if (swarm::run::is_boundary_map(tensor)) {
        return tensor;
    }
    constexpr std::string_view kLayers = "layers.";
    if (!tensor.starts_with(kLayers)) {
        return tensor.substr(0, tensor.find('.'));
    }
    const std::string layer = tensor.substr(0, tensor.find('.', kLayers.size()));
    return stage.part.parts == 1 ? layer : layer + ".part-" + std::to_string(stage.part.index);
}

std::string weights_file(const std::string& unit) {
    return unit + ".safetensors";
}

std::string moments_file(const std::string& unit) {
    return unit + ".adam.safetensors";
}

/// Those of version 0 are zeros and not written.
bool has_moments(swarm::ParameterVersion version) {
    return version.step > 0;
}

std::string replica_file(const std::string& unit, std::size_t replica) {
    return unit + ".replica-" + std::to_string(replica) + ".safetensors";
}

swarm::node::Payload to_payload(std::vector<std::byte> bytes) {
    return {swarm::protocol::TensorEnvelope{}, std::move(bytes)};
}

/// The tensors of a stage that a checkpoint has, in global order. Copies of the head are not among
/// them: they are made again.
std::vector<PlacedTensor> written_tensors(const StageLayout& layout) {
    std::vector<PlacedTensor> written = all_tensors(layout);
    std::erase_if(written, [](const PlacedTensor& tensor) {
        return swarm::run::is_exit_head(tensor.spec->name);
    });
    return written;
}

struct UnitName {
    std::string name;
    bool trained = false;  // it has a tensor with moments
};

/// The names of the units of a stage, in order.
std::vector<UnitName> unit_names(const StageLayout& layout) {
    std::vector<UnitName> names;
    for (const PlacedTensor& tensor : written_tensors(layout)) {
        if (names.empty() || names.back().name != unit_of(tensor.spec->name, layout)) {
            names.push_back({unit_of(tensor.spec->name, layout)});
        }
        names.back().trained = names.back().trained || !tensor.frozen;
    }
    return names;
}

struct Unit {
    std::string name;
    std::vector<NamedTensor> weights;
    std::vector<NamedTensor> moments;
};

std::vector<Unit> collect_units(const StageState& state) {
    std::vector<Unit> units;
    for (const auto& [spec, frozen, begin] : written_tensors(state.layout())) {
        const TensorSpec& tensor = *spec;
        const std::size_t count = tensor.elements();
        if (std::string name = unit_of(tensor.name, state.layout());
            units.empty() || units.back().name != name) {
            units.push_back({std::move(name), {}, {}});
        }
        Unit& unit = units.back();
        if (frozen) {
            unit.weights.push_back({tensor.name, tensor.shape, state.frozen().subspan(begin, count)}
            );
            continue;
        }
        unit.weights.push_back({tensor.name, tensor.shape, state.weights().subspan(begin, count)});
        unit.moments.push_back(
            {tensor.name + kFirstMoment, tensor.shape, state.first_moments().subspan(begin, count)}
        );
        unit.moments.push_back(
            {tensor.name + kSecondMoment,
             tensor.shape,
             state.second_moments().subspan(begin, count)}
        );
    }
    return units;
}

struct MadeFile {
    std::string name;
    swarm::node::Payload bytes;
};

/// Makes the files of the stages' units, so that only one stage needs to be in memory beside the
/// files that were not taken.
class FilesOfStages {
 public:
    FilesOfStages(
        const swarm::run::RunConfig& config,
        swarm::ParameterVersion version,
        std::string_view tokenizer
    )
        : folder_(checkpoint_name(version)) {
        manifest_.version = version;
        manifest_.run_file = swarm::run::to_toml(config);
        if (!tokenizer.empty()) {
            const auto bytes = std::as_bytes(std::span(tokenizer));
            add_file(tokenizer_file_name(tokenizer), std::vector(bytes.begin(), bytes.end()));
        }
    }

    void add(const ReplicaView& replica) {
        SWARM_ASSERT(replica.state->version() == manifest_.version);
        std::size_t begin = 0;
        for (Unit& unit : collect_units(*replica.state)) {
            for (const NamedTensor& tensor : unit.weights) {
                const std::size_t count = tensor.values.size();
                const std::span<const float> error = replica.error.subspan(begin, count);
                unit.moments.push_back({tensor.name + kError, tensor.shape, error});
                begin += count;
            }
            const std::string file = replica_file(unit.name, replica.replica);
            add_file(file, write_safetensors(unit.moments));
        }
    }

    /// Returns the units of the stage that follows those before; add() each of them.
    std::vector<Unit> begin(const StageState& state) {
        SWARM_ASSERT(state.version() == manifest_.version);
        weights_.add(std::as_bytes(state.weights()));
        return collect_units(state);
    }

    void add(const Unit& unit) {
        add_file(weights_file(unit.name), write_safetensors(unit.weights));
        if (has_moments(manifest_.version) && !unit.moments.empty()) {
            add_file(moments_file(unit.name), write_safetensors(unit.moments));
        }
    }

    /// Adds the manifest of all files so far.
    void finish() {
        const std::string text = to_json(manifest_);
        const auto bytes = std::as_bytes(std::span(text));
        made_.push_back(
            {folder_ + "/" + kManifestFile, to_payload(std::vector(bytes.begin(), bytes.end()))}
        );
        weights_sha256_ = weights_.finish();
    }

    /// Hands out the oldest file that was not taken; nullopt: all were.
    std::optional<MadeFile> take() {
        if (made_.empty()) {
            return std::nullopt;
        }
        MadeFile file = std::move(made_.front());
        made_.pop_front();
        return file;
    }

    /// The digest of all weights, after finish().
    [[nodiscard]] const swarm::Digest& weights_sha256() const { return weights_sha256_; }

 private:
    void add_file(const std::string& name, std::vector<std::byte> bytes) {
        manifest_.files.push_back({name, bytes.size(), swarm::to_hex(swarm::sha256(bytes))});
        made_.push_back({folder_ + "/" + name, to_payload(std::move(bytes))});
    }

    std::string folder_;
    CheckpointManifest manifest_;
    std::deque<MadeFile> made_;
    swarm::Sha256 weights_;
    swarm::Digest weights_sha256_;
};

/// Makes the files of a fetched state one after the other: beside what was not made yet, one stage
/// and the files of one of its units are in memory.
class LateFiles {
 public:
    LateFiles(
        const swarm::run::RunConfig& config,
        std::vector<StageLayout> layouts,
        swarm::run::RunState state,
        std::string_view tokenizer
    )
        : files_(config, state.version, tokenizer),
          layouts_(std::move(layouts)),
          state_(std::move(state)) {}

    swarm::node::Payload next() {
        for (;;) {
            if (std::optional<MadeFile> file = files_.take()) {
                return std::move(file->bytes);
            }
            make_more();
        }
    }

    [[nodiscard]] const swarm::Digest& weights_sha256() const { return files_.weights_sha256(); }

 private:
    void make_more() {
        if (!units_.empty()) {
            files_.add(units_.front());
            units_.pop_front();
            return;
        }
        stage_.reset();
        if (next_stage_ == layouts_.size()) {
            files_.finish();
            return;
        }
        auto& chunks = state_.chunks[next_stage_];
        auto stage = StageState::from_chunks(layouts_[next_stage_], state_.version, chunks);
        SWARM_ASSERT(stage.has_value());  // make_files() has checked the chunks
        chunks.clear();                   // they were copied, and the files need the memory
        stage_ = std::move(*stage);
        const std::vector<Unit> units = files_.begin(*stage_);
        units_.assign(units.begin(), units.end());
        ++next_stage_;
    }

    FilesOfStages files_;
    std::vector<StageLayout> layouts_;
    swarm::run::RunState state_;
    std::size_t next_stage_ = 0;
    std::optional<StageState> stage_;  // the one whose files are made
    std::deque<Unit> units_;           // those of that stage that were not made yet
};

/// Appends the tensor `name` of the file `file`; false when the file has none of this shape.
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

Error made_by_another_model(const std::string& tensor) {
    return {
        ErrorCode::Mismatch,
        Reaction::Reject,
        "the checkpoint has no " + tensor + " of the run's shape; it was made by another model"};
}

}  // namespace

std::string checkpoint_name(swarm::ParameterVersion version) {
    return "checkpoint-" + std::to_string(version.gen) + "-" + std::to_string(version.step);
}

swarm::run::CheckpointFiles checkpoint_files(
    const swarm::run::RunConfig& config,
    std::span<const StageState* const> stages,
    std::string_view tokenizer,
    std::span<const ReplicaView> replicas
) {
    SWARM_ASSERT(!stages.empty());
    FilesOfStages files(config, stages.front()->version(), tokenizer);
    for (const StageState* const state : stages) {
        for (const Unit& unit : files.begin(*state)) {
            files.add(unit);
        }
    }
    for (const ReplicaView& replica : replicas) {
        files.add(replica);
    }
    files.finish();
    swarm::run::CheckpointFiles made{checkpoint_name(stages.front()->version()), {}, {}};
    while (std::optional<MadeFile> file = files.take()) {
        made.files.push_back({std::move(file->name), [bytes = file->bytes] { return bytes; }});
    }
    made.weights_sha256 = [digest = files.weights_sha256()] { return digest; };
    return made;
}

Result<swarm::run::CheckpointFiles> SafetensorsCheckpoint::make_files(swarm::run::RunState state
) const {
    std::vector<StageLayout> layouts = swarm::run::partition(config_);
    SWARM_ASSERT(state.chunks.size() == layouts.size());
    swarm::run::CheckpointFiles made{checkpoint_name(state.version), {}, {}};
    std::vector<std::string> names;
    if (!tokenizer_.empty()) {
        names.emplace_back(tokenizer_file_name(tokenizer_));
    }
    for (std::size_t s = 0; s < layouts.size(); ++s) {
        SWARM_TRY(StageState::check_chunks(layouts[s], state.chunks[s]));
        for (const auto& [unit, trained] : unit_names(layouts[s])) {
            names.push_back(weights_file(unit));
            if (has_moments(state.version) && trained) {
                names.push_back(moments_file(unit));
            }
        }
    }
    names.emplace_back(kManifestFile);
    const auto late =
        std::make_shared<LateFiles>(config_, std::move(layouts), std::move(state), tokenizer_);
    for (const std::string& name : names) {
        made.files.push_back({made.name + "/" + name, [late] { return late->next(); }});
    }
    made.weights_sha256 = [late] { return late->weights_sha256(); };
    return made;
}

Result<StageState> restore_stage(const Checkpoint& checkpoint, const StageLayout& layout) {
    std::vector<float> weights;
    std::vector<float> first;
    std::vector<float> second;
    for (std::vector<float>* const values : {&weights, &first, &second}) {
        values->reserve(layout.elements());
    }
    std::vector<float> frozen;
    frozen.reserve(layout.frozen_elements());
    for (const TensorSpec& tensor : layout.frozen) {
        const std::string name = swarm::run::original_of(tensor.name);
        if (!append_tensor(checkpoint, weights_file(unit_of(name, layout)), name, tensor, frozen)) {
            return made_by_another_model(name);
        }
    }
    for (const TensorSpec& tensor : layout.tensors) {
        const std::string unit = unit_of(tensor.name, layout);
        const std::string moments = moments_file(unit);
        const std::string& name = tensor.name;
        if (!append_tensor(checkpoint, weights_file(unit), name, tensor, weights)) {
            return made_by_another_model(name);
        }
        if (!has_moments(checkpoint.version)) {
            first.resize(weights.size());
            second.resize(weights.size());
        } else if (!append_tensor(checkpoint, moments, name + kFirstMoment, tensor, first) ||
                   !append_tensor(checkpoint, moments, name + kSecondMoment, tensor, second)) {
            return made_by_another_model(name);
        }
    }
    return StageState::from_tensors(
        layout,
        checkpoint.version,
        std::move(weights),
        std::move(first),
        std::move(second),
        std::move(frozen)
    );
}

Result<std::vector<ReplicaState>> restore_replicas(
    const Checkpoint& checkpoint, const StageLayout& layout
) {
    std::vector<ReplicaState> replicas;
    const std::string first_unit = unit_of(layout.tensors.front().name, layout);
    while (checkpoint.files.contains(replica_file(first_unit, replicas.size()))) {
        ReplicaState replica;
        for (const TensorSpec& tensor : layout.tensors) {
            const std::string file = replica_file(unit_of(tensor.name, layout), replicas.size());
            const std::string& name = tensor.name;
            auto& [first, second, error] = replica;
            if (!append_tensor(checkpoint, file, name + kFirstMoment, tensor, first) ||
                !append_tensor(checkpoint, file, name + kSecondMoment, tensor, second) ||
                !append_tensor(checkpoint, file, name + kError, tensor, error)) {
                return made_by_another_model(name);
            }
        }
        replicas.push_back(std::move(replica));
    }
    return replicas;
}

Result<std::vector<StageState>> restore_stages(
    const Checkpoint& checkpoint, std::span<const StageLayout> layouts
) {
    std::vector<StageState> states;
    for (const StageLayout& layout : layouts) {
        SWARM_TRY(auto state, restore_stage(checkpoint, layout));
        states.push_back(std::move(state));
    }
    return states;
}

}  // namespace stages
