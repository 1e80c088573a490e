#include "swarm/cli/stack/joined_chain.hpp"

#include "stacking/models/averages/model_chain.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/answer/model_folder.hpp"
#include "swarm/cli/terminal/usage.hpp"

#include <utility>

namespace swarm::cli {

using stacking::composition::StackFile;
using stacking::composition::StackMode;
using stacking::models::ChainPart;
using stacking::models::ModelSource;

Result<JoinedChain> open_joined(const std::string& file) {
    SWARM_TRY(StackFile described, read_stack(file));
    if (described.mode != StackMode::Chain) {
        return usage(file + " is no chain: only layers that follow each other can be one model");
    }
    SWARM_TRY(
        OpenStack opened,
        OpenStack::open(file, std::move(described), stacking::llama::WeightChoice::as_is())
    );
    const auto stack = std::make_shared<const OpenStack>(std::move(opened));
    std::vector<ChainPart> parts;
    std::vector<std::uint32_t> layers;
    for (std::size_t i = 0; i < stack->file().members.size(); ++i) {
        const ModelSource& source = stack->source(i);
        const auto& span = stack->file().members[i].layers;
        parts.push_back(
            {std::shared_ptr<const ModelSource>(stack, &source),
             span ? span->first : 0,
             span ? span->last + 1 : source.architecture().model.layers}
        );
        layers.push_back(parts.back().end - parts.back().first);
    }
    SWARM_TRY(ModelSource model, chain_of(std::move(parts)));
    return JoinedChain{stack, std::move(model), std::move(layers)};
}

Result<> JoinedChain::write(const std::filesystem::path& folder, Console& console) const {
    return write_model_folder(model, &stack->tokenizer(), folder, console);
}

}  // namespace swarm::cli
