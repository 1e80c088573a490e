#include "swarm/cli/answer/model_folder.hpp"

#include "stacking/models/hf_folder.hpp"
#include "swarm/base/try.hpp"

#include <optional>
#include <string>

namespace swarm::cli {

Result<> write_model_folder(
    const stacking::models::ModelSource& model,
    const stacking::tokenizers::ModelTokenizer* tokenizer,
    const std::filesystem::path& folder,
    Console& console
) {
    const auto progress = [&](std::uint64_t written, std::uint64_t all) {
        if (console.is_terminal()) {
            console.status(
                std::to_string(written / 1'000'000) + "/" + std::to_string(all / 1'000'000) + " MB"
            );
        }
    };
    SWARM_TRY(stacking::models::write_hf_folder(model, folder, progress));
    if (tokenizer == nullptr) {
        return {};
    }
    const auto& end_tokens = model.architecture().end_tokens;
    const auto end = end_tokens.empty() ? std::nullopt : std::optional(end_tokens.front());
    return stacking::tokenizers::write_tokenizer(*tokenizer, end, folder);
}

}  // namespace swarm::cli
