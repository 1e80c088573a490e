#include "swarm/cli/setup/base_model.hpp"

#include "stacking/models/any_model.hpp"
#include "stacking/models/training/trained_model.hpp"
#include "stacking/tokenizers/model_tokenizer.hpp"
#include "stacking/tokenizers/tokenizer_file.hpp"
#include "swarm/base/digest.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/common/model_store.hpp"
#include "swarm/run/partition.hpp"
#include "swarm/run/run_file/config_changes.hpp"
#include "swarm/run/training/exits.hpp"

#include <algorithm>
#include <span>
#include <system_error>
#include <utility>

namespace swarm::cli {
namespace {

namespace fs = std::filesystem;
using stacking::tokenizers::ModelTokenizer;

constexpr std::uint32_t kBytes = 256;
constexpr const char* kBytesTokenizer = "bytes";

Error of_base(const run::RunConfig& config, const Error& error) {
    return {error.code, error.reaction, "run.init: " + config.init + ": " + error.detail};
}

Error mismatch(const run::RunConfig& config, const std::string& what) {
    return {ErrorCode::Mismatch, Reaction::Reject, "run.init: " + config.init + what};
}

/// A path is taken from the folder of the run file; what is no path there may be a name.
Result<fs::path> find_base(run::RunConfig& config, const fs::path& folder) {
    const fs::path beside = folder / config.init;
    std::error_code ignored;
    if (fs::exists(beside, ignored)) {
        config.init = fs::absolute(beside).string();
        return fs::path(config.init);
    }
    Result<fs::path> found = find_model(config.init);
    if (!found) {
        return of_base(config, found.error());
    }
    return found;
}

/// Takes the model's shape. Values of the run file that are neither the default nor the model's are
/// refused, because somebody meant another model.
Result<> take_shape(const run::ModelConfig& shape, run::RunConfig& config) {
    const run::RunConfig standard;
    run::RunConfig base;
    base.model = shape;
    const bool says_context = config.model.context != standard.model.context;
    base.model.context =
        says_context ? config.model.context : std::min(config.model.context, shape.context);
    run::RunConfig said;
    said.model = config.model;
    said.model.context = base.model.context;
    for (const run::KeyChange& change : run::changes_between(base, said)) {
        const bool is_default = [&] {
            for (const run::KeyChange& other : run::changes_between(standard, said)) {
                if (other.key == change.key) {
                    return false;
                }
            }
            return true;
        }();
        if (!is_default) {
            return mismatch(
                config,
                ": its " + change.key + " is " + change.was + ", the run file says " + change.now +
                    "; leave it out"
            );
        }
    }
    if (base.model.context > shape.context) {
        return mismatch(
            config,
            ": model.context is " + std::to_string(config.model.context) +
                ", the model knows at most " + std::to_string(shape.context) + " positions"
        );
    }
    config.model = base.model;
    return {};
}

std::string name_of(const ModelTokenizer& tokenizer, const std::string& file) {
    if (file.empty()) {
        return kBytesTokenizer;
    }
    return tokenizer.pieces() != nullptr ? "spm:" + std::to_string(tokenizer.size())
                                         : std::string(run::kModelsTokenizer);
}

/// Whether token i is byte i, which needs no file.
bool is_of_bytes(const ModelTokenizer& tokenizer) {
    return tokenizer.bpe() != nullptr && tokenizer.size() == kBytes &&
           tokenizer.bpe()->vocabulary().merges.empty() && tokenizer.special_tokens().empty();
}

Result<std::string> take_tokenizer(
    const fs::path& path, std::uint32_t vocabulary, run::RunConfig& config
) {
    auto tokenizer = stacking::tokenizers::open_tokenizer(path);
    if (!tokenizer) {
        return of_base(config, tokenizer.error());
    }
    if (const auto fits = check_fits(*tokenizer, vocabulary); !fits) {
        return of_base(config, fits.error());
    }
    std::string file = is_of_bytes(*tokenizer) ? std::string() : make_tokenizer_file(*tokenizer);
    const std::string name = name_of(*tokenizer, file);
    if (config.tokenizer != run::RunConfig{}.tokenizer && config.tokenizer != name &&
        config.tokenizer != run::kModelsTokenizer) {
        return mismatch(
            config,
            " was trained with the tokenizer " + name + ", run.tokenizer says " + config.tokenizer +
                "; leave it out"
        );
    }
    config.tokenizer = name;
    return file;
}

/// Adapters are no part of the model: they begin as the seed says, and are not hashed. Copies of
/// its head are not hashed again.
Result<stages::StageState> first_state(
    const BaseModel& base,
    const run::RunConfig& config,
    const run::StageLayout& layout,
    Sha256& hash
) {
    std::vector<float> trained;
    std::vector<float> frozen;
    trained.reserve(layout.elements());
    frozen.reserve(layout.frozen_elements());
    for (const run::PlacedTensor& tensor : run::all_tensors(layout)) {
        std::vector<float>& all = tensor.frozen ? frozen : trained;
        if (config.lora.rank > 0 && !tensor.frozen) {
            all.resize(all.size() + tensor.spec->elements());
            const auto place = std::span(all).subspan(tensor.begin);
            stages::fill_initial(config.seed, *tensor.spec, place);
            continue;
        }
        const std::string& name = tensor.spec->name;
        SWARM_TRY(const std::vector<float> values, base.source.read(run::original_of(name)));
        if (!run::is_exit_head(name)) {
            hash.add(std::as_bytes(std::span(values)));
        }
        all.insert(all.end(), values.begin(), values.end());
    }
    const std::size_t count = trained.size();
    return stages::StageState::from_tensors(
        layout,
        {},
        std::move(trained),
        std::vector<float>(count),
        std::vector<float>(count),
        std::move(frozen)
    );
}

}  // namespace

Result<BaseModel> open_base_model(run::RunConfig& config, const fs::path& folder) {
    SWARM_TRY(const fs::path path, find_base(config, folder));
    auto source = stacking::models::open_model(path);
    if (!source) {
        return of_base(config, source.error());
    }
    const auto shape = stacking::models::as_trained(source->architecture());
    if (!shape) {
        return of_base(config, shape.error());
    }
    SWARM_TRY(take_shape(*shape, config));
    SWARM_TRY(std::string tokenizer, take_tokenizer(path, shape->vocabulary, config));
    return BaseModel{std::move(*source), std::move(tokenizer)};
}

Result<std::vector<stages::StageState>> first_states(
    const BaseModel& base, run::RunConfig& config
) {
    std::vector<stages::StageState> states;
    Sha256 hash;
    for (const run::StageLayout& layout : run::partition(config)) {
        auto state = first_state(base, config, layout, hash);
        if (!state) {
            return of_base(config, state.error());
        }
        states.push_back(std::move(*state));
    }
    const std::string digest = to_hex(hash.finish());
    const std::string wanted = std::exchange(config.init_sha256, digest);
    if (!wanted.empty() && wanted != digest) {
        config.init_sha256 = wanted;
        return mismatch(
            config, " has other weights than run.init_sha256 says; name the right model with --init"
        );
    }
    return states;
}

}  // namespace swarm::cli
