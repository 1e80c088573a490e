#include "stacking/models/limits.hpp"
#include "stacking/models/safetensors_files.hpp"
#include "stacking/models/tensor_names.hpp"
#include "stacking/models/training/peft_config.hpp"
#include "stacking/models/training/peft_folder.hpp"
#include "stages/worker/tensor_checks.hpp"
#include "swarm/base/try.hpp"
#include "swarm/run/training/trained_part.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace stacking::models {

namespace fs = std::filesystem;
using swarm::ErrorCode;
using swarm::Result;
using swarm::run::TensorSpec;

namespace {

constexpr std::string_view kMatrixEnding = ".weight";

/// One of our matrices within a module.
struct ModulePart {
    std::string name;  // "layers.3.attn.wq"
    std::uint64_t first_row = 0;
    std::uint64_t rows = 0;
};

/// A linear layer of transformers: one of our matrices, or several, one below the other.
struct Module {
    std::uint32_t rows = 0;
    std::uint32_t columns = 0;
    std::vector<ModulePart> parts{};
};

/// By name, "model.layers.3.self_attn.q_proj".
using Modules = std::map<std::string, Module, std::less<>>;

Modules modules_of(const Architecture& architecture) {
    Modules modules;
    for (const TensorSpec& ours : tensors_of(architecture)) {
        const bool adaptable = std::ranges::any_of(swarm::run::kAdaptable, [&](const char* name) {
            return ours.name.ends_with(std::string(".") + name);
        });
        if (!adaptable) {
            continue;
        }
        TensorPlace place = place_of(ours, architecture, Naming::HuggingFace);
        place.name.resize(place.name.size() - kMatrixEnding.size());
        Module& module = modules[place.name];
        module.rows = place.whole.front();
        module.columns = ours.shape.back();
        module.parts.push_back({ours.name, place.first_row, ours.shape.front()});
    }
    return modules;
}

/// "q_proj, k_proj": the last words of the modules' names, for a refusal.
std::string kinds_of(const Modules& modules) {
    std::set<std::string> kinds;
    for (const auto& [name, module] : modules) {
        kinds.insert(name.substr(name.rfind('.') + 1));
    }
    std::string text;
    for (const std::string& kind : kinds) {
        text += (text.empty() ? "" : ", ") + kind;
    }
    return text;
}

/// Both tensors of an adapter, and the module that they belong to.
struct Pair {
    const Module* module = nullptr;
    const std::string* name = nullptr;
    const FoundTensor* in = nullptr;   // (rank, columns)
    const FoundTensor* out = nullptr;  // (rows, rank)
};

class PeftReader {
 public:
    PeftReader(const fs::path& folder, const ModelSource& model)
        : folder_(folder), modules_(modules_of(model.architecture())) {}

    /// Checks everything but the values.
    Result<> open() {
        SWARM_TRY(const auto text, read_text(folder_ / kPeftConfigFile, kConfigBytesMax));
        auto config = parse_peft_config(text);
        if (config.has_error()) {
            return refused_at(config.error().code, folder_, config.error().detail);
        }
        config_ = std::move(*config);
        SWARM_TRY(check_targets());
        SWARM_TRY(add_safetensors(folder_ / kPeftWeightsFile, files_, catalogue_));
        for (const auto& [name, module] : modules_) {
            SWARM_TRY(find_pair(name, module));
        }
        return check_all_used();
    }

    Result<> add_to(ModelSource& model) const {
        std::vector<std::pair<const std::string*, std::shared_ptr<const LowRank>>> adapters;
        for (const Pair& pair : pairs_) {
            SWARM_TRY(const auto in, read(*pair.in));
            SWARM_TRY(const auto out, read(*pair.out));
            for (const ModulePart& part : pair.module->parts) {
                const auto begin =
                    out.begin() + static_cast<std::ptrdiff_t>(part.first_row * config_.rank);
                const auto end = begin + static_cast<std::ptrdiff_t>(part.rows * config_.rank);
                LowRank product{config_.rank, config_.scale, {begin, end}, in};
                adapters.emplace_back(
                    &part.name, std::make_shared<const LowRank>(std::move(product))
                );
            }
        }
        for (auto& [name, adapter] : adapters) {
            model.set_adapter(*name, std::move(adapter));
        }
        return {};
    }

 private:
    [[nodiscard]] swarm::Error refused(ErrorCode code, const std::string& what) const {
        return refused_at(code, folder_, what);
    }

    [[nodiscard]] Result<> check_targets() const {
        for (const std::string& target : config_.targets) {
            PeftConfig only;
            only.targets = {target};
            const bool known = std::ranges::any_of(modules_, [&](const auto& entry) {
                return only.names(entry.first);
            });
            if (!known) {
                return refused(
                    ErrorCode::Unsupported,
                    "target_modules names " + printable(target) +
                        "; in this model adapters are for " + kinds_of(modules_)
                );
            }
        }
        return {};
    }

    [[nodiscard]] const FoundTensor* find(const std::string& name) const {
        const auto found = catalogue_.find(name);
        return found == catalogue_.end() ? nullptr : &found->second;
    }

    Result<> find_pair(const std::string& name, const Module& module) {
        const std::string in = kPeftPrefix + name + kPeftInEnding;
        const std::string out = kPeftPrefix + name + kPeftOutEnding;
        const Pair pair{&module, &name, find(in), find(out)};
        const bool wanted = config_.in_every_layer && config_.names(name);
        if (pair.in == nullptr && pair.out == nullptr && !wanted) {
            return {};
        }
        if (pair.in == nullptr || pair.out == nullptr) {
            return refused(
                ErrorCode::Mismatch, "lacks the tensor " + (pair.in == nullptr ? in : out)
            );
        }
        SWARM_TRY(check_shape(in, *pair.in, {config_.rank, module.columns}));
        SWARM_TRY(check_shape(out, *pair.out, {module.rows, config_.rank}));
        pairs_.push_back(pair);
        return {};
    }

    [[nodiscard]] Result<> check_shape(
        const std::string& name, const FoundTensor& found, const std::vector<std::uint32_t>& shape
    ) const {
        if (found.entry.shape == shape) {
            return {};
        }
        return refused(
            ErrorCode::Mismatch,
            name + " is " + shape_text(found.entry.shape) + ", but the model and r make it " +
                shape_text(shape)
        );
    }

    [[nodiscard]] Result<> check_all_used() const {
        std::set<const FoundTensor*> used;
        for (const Pair& pair : pairs_) {
            if (!config_.targets.empty() && !config_.names(*pair.name)) {
                return refused(
                    ErrorCode::Malformed,
                    "has an adapter of " + *pair.name + ", which target_modules does not name"
                );
            }
            used.insert({pair.in, pair.out});
        }
        for (const auto& [name, found] : catalogue_) {
            if (!used.contains(&found)) {
                return refused(
                    ErrorCode::Mismatch,
                    "has the tensor " + one_line(name) + ", which fits no matrix of the model"
                );
            }
        }
        return pairs_.empty() ? refused(ErrorCode::Malformed, "has no adapter") : Result<>{};
    }

    [[nodiscard]] Result<std::vector<float>> read(const FoundTensor& found) const {
        auto stored = as_stored(found.entry.name, found);
        if (stored.has_error()) {
            return refused(stored.error().code, stored.error().detail);
        }
        if (stored->type == WeightType::F8_E4M3) {
            return refused(
                ErrorCode::Unsupported,
                printable(found.entry.name) + " is stored as F8_E4M3; F32, F16 and BF16 can be read"
            );
        }
        std::vector<std::byte> bytes(stored->bytes);
        SWARM_TRY(files_[stored->file]->read(stored->offset, bytes));
        std::vector<float> values(stored->rows() * stored->columns());
        decode_weights(stored->type, bytes, values);
        if (stages::check_finite(values).has_error()) {
            return refused(ErrorCode::NotFinite, not_finite(found.entry.name).detail);
        }
        return values;
    }

    const fs::path& folder_;
    const Modules modules_;
    PeftConfig config_;
    ModelSource::Files files_;
    TensorCatalogue catalogue_;
    std::vector<Pair> pairs_;
};

}  // namespace

Result<> add_peft_folder(const fs::path& folder, ModelSource& model) {
    const bool adapted = std::ranges::any_of(model.tensors(), [](const auto& entry) {
        return entry.second.adapter != nullptr;
    });
    if (adapted) {
        return refused_at(
            ErrorCode::Unsupported,
            folder,
            "the model has adapters of its own; name the one that `swarm model export` makes of it"
        );
    }
    PeftReader reader(folder, model);
    SWARM_TRY(reader.open());
    return reader.add_to(model);
}

}  // namespace stacking::models
