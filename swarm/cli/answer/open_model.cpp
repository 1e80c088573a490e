#include "swarm/cli/answer/open_model.hpp"

#include "stacking/models/any_model.hpp"
#include "stacking/models/run_checkpoint.hpp"
#include "stacking/models/training/peft_folder.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/common/model_store.hpp"

#include <utility>

namespace swarm::cli {

Result<OpenModel> open_model(const std::string& name) {
    SWARM_TRY(std::filesystem::path path, find_model(name));
    SWARM_TRY(stacking::models::ModelSource source, stacking::models::open_model(path));
    return OpenModel{std::move(path), std::move(source)};
}

Result<OpenModel> open_model(const std::string& name, const std::string& adapter) {
    SWARM_TRY(OpenModel model, open_model(name));
    if (!adapter.empty()) {
        SWARM_TRY(stacking::models::add_peft_folder(adapter, model.source));
    }
    return model;
}

Result<std::vector<std::uint32_t>> trained_exits(const std::string& name) {
    SWARM_TRY(const std::filesystem::path path, find_model(name));
    if (!stacking::models::is_run_checkpoint(path)) {
        return std::vector<std::uint32_t>();
    }
    return stacking::models::read_run_exits(path);
}

Result<stacking::tokenizers::ModelTokenizer> open_tokenizer(const OpenModel& model) {
    SWARM_TRY(auto tokenizer, stacking::tokenizers::open_tokenizer(model.path));
    SWARM_TRY(check_fits(tokenizer, model.source.architecture().model.vocabulary));
    return tokenizer;
}

}  // namespace swarm::cli
