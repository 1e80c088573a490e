#include "stacking/models/training/peft_folder.hpp"

#include "stacking/models/tensor_names.hpp"
#include "stages/files/safetensors.hpp"
#include "swarm/base/durable_file.hpp"
#include "swarm/base/try.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <set>
#include <string>
#include <system_error>
#include <vector>

namespace stacking::models {

namespace fs = std::filesystem;
namespace json = boost::json;
using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;

namespace {

constexpr const char* kAnotherFolder = "choose another folder";
constexpr std::string_view kWeightEnding = ".weight";

Error no_use(std::string what) {
    return {ErrorCode::Usage, Reaction::Reject, std::move(what)};
}

/// "model.layers.3.self_attn.q_proj" for "layers.3.attn.wq".
std::string module_of(
    const std::string& name, const StoredTensor& tensor, const Architecture& architecture
) {
    std::string theirs = place_of({name, tensor.shape}, architecture, Naming::HuggingFace).name;
    theirs.resize(theirs.size() - kWeightEnding.size());
    return theirs;
}

/// Both matrices of each adapter; the values belong to the model.
struct Adapters {
    std::vector<stages::NamedTensor> tensors{};
    std::set<std::string> modules{};  // "q_proj"
    const LowRank* first = nullptr;   // all have its rank and scale
};

Adapters adapters_of(const ModelSource& model) {
    Adapters found;
    for (const auto& [name, tensor] : model.tensors()) {
        const LowRank* const adapter = tensor.adapter.get();
        if (adapter == nullptr) {
            continue;
        }
        found.first = adapter;
        const std::string module = module_of(name, tensor, model.architecture());
        found.modules.insert(module.substr(module.rfind('.') + 1));
        const auto rows = static_cast<std::uint32_t>(tensor.rows());
        const auto columns = static_cast<std::uint32_t>(tensor.columns());
        found.tensors.push_back(
            {kPeftPrefix + module + kPeftInEnding, {adapter->rank, columns}, adapter->in}
        );
        found.tensors.push_back(
            {kPeftPrefix + module + kPeftOutEnding, {rows, adapter->rank}, adapter->out}
        );
    }
    return found;
}

std::string config_of(const Adapters& adapters) {
    json::array modules;
    for (const std::string& module : adapters.modules) {
        modules.emplace_back(module);
    }
    const LowRank& adapter = *adapters.first;
    const json::object config{
        {"peft_type", "LORA"},
        {"task_type", "CAUSAL_LM"},
        {"base_model_name_or_path", nullptr},
        {"r", adapter.rank},
        {"lora_alpha", static_cast<double>(adapter.scale) * adapter.rank},
        {"target_modules", std::move(modules)},
        {"lora_dropout", 0.0},
        {"bias", "none"},
        {"fan_in_fan_out", false},
        {"inference_mode", true}};
    return json::serialize(config) + "\n";
}

}  // namespace

Result<> write_peft_folder(const ModelSource& model, const fs::path& folder) {
    const Adapters adapters = adapters_of(model);
    if (adapters.first == nullptr) {
        return no_use("the model has no adapters; a run trains them with [lora] rank = N");
    }
    SWARM_TRY(swarm::make_folder(folder, kAnotherFolder));
    std::error_code ignored;
    if (!fs::is_empty(folder, ignored)) {
        return no_use(folder.string() + " has files; name another folder");
    }
    const std::vector<std::byte> weights = stages::write_safetensors(adapters.tensors);
    const fs::path file = folder / kPeftWeightsFile;
    SWARM_TRY(swarm::write_durably(file, weights, kAnotherFolder));
    const std::string config = config_of(adapters);
    return swarm::write_durably(
        folder / kPeftConfigFile, std::as_bytes(std::span(config)), kAnotherFolder
    );
}

}  // namespace stacking::models
