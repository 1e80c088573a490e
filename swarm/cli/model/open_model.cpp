#include "swarm/cli/model/open_model.hpp"

#include "stacking/models/any_model.hpp"
#include "swarm/cli/model/model_store.hpp"

#include <utility>

namespace swarm::cli {

Result<OpenModel> open_model(const std::string& name) {
    Result<std::filesystem::path> path = find_model(name);
    if (!path) {
        return path.error();
    }
    auto source = stacking::models::open_model(*path);
    if (!source) {
        return source.error();
    }
    return OpenModel{std::move(*path), std::move(*source)};
}

Result<stacking::tokenizers::ModelTokenizer> open_tokenizer(const OpenModel& model) {
    auto tokenizer = stacking::tokenizers::open_tokenizer(model.path);
    if (tokenizer) {
        const std::uint32_t vocabulary = model.source.architecture().model.vocabulary;
        if (const auto fits = check_fits(*tokenizer, vocabulary); !fits) {
            return fits.error();
        }
    }
    return tokenizer;
}

}  // namespace swarm::cli
