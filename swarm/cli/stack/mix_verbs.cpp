// `swarm stack mix` and `join`.
#include "stacking/models/averages/model_chain.hpp"
#include "stacking/models/averages/model_mixture.hpp"
#include "swarm/base/durable_folder.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/answer/model_folder.hpp"
#include "swarm/cli/answer/open_stack.hpp"
#include "swarm/cli/stack/average_members.hpp"
#include "swarm/cli/stack/mix.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/cli/terminal/printable.hpp"

#include <cstdio>
#include <memory>
#include <utility>

namespace swarm::cli {

using stacking::composition::StackFile;
using stacking::composition::StackMode;
using stacking::models::ChainPart;
using stacking::models::ModelSource;

Result<> write_joined(const StackJoinOptions& options, Console& console) {
    SWARM_TRY(check_free(options.folder));
    SWARM_TRY(StackFile file, read_stack(options.file));
    if (file.mode != StackMode::Chain) {
        return Error{
            ErrorCode::Usage,
            Reaction::Reject,
            options.file + " is no chain: only layers that follow each other can be one model"};
    }
    SWARM_TRY(
        OpenStack opened,
        OpenStack::open(options.file, file, stacking::llama::WeightChoice::as_is())
    );
    const auto stack = std::make_shared<const OpenStack>(std::move(opened));
    std::vector<ChainPart> parts;
    for (std::size_t i = 0; i < file.members.size(); ++i) {
        const ModelSource& source = stack->source(i);
        const auto& layers = file.members[i].layers;
        parts.push_back(
            {std::shared_ptr<const ModelSource>(stack, &source),
             layers ? layers->first : 0,
             layers ? layers->last + 1 : source.architecture().model.layers}
        );
    }
    SWARM_TRY(const ModelSource model, chain_of(std::move(parts)));
    SWARM_TRY(DurableFolder written, DurableFolder::begin(options.folder, "choose another folder"));
    SWARM_TRY(write_model_folder(model, &stack->tokenizer(), written.draft(), console));
    SWARM_TRY(written.finish());
    console.settle();
    std::printf("%s\n", printable(options.folder).c_str());
    return {};
}

Result<> write_mixture(const StackMixOptions& options, Console& console) {
    SWARM_TRY(check_free(options.folder));
    SWARM_TRY(const AverageMembers members, open_members(options.models));
    SWARM_TRY(
        const ModelSource model,
        mixture_of(members.models, {options.top, options.copies, options.seed})
    );
    return members.write(model, options.folder, console);
}

int mix_models(const StackMixOptions& options) {
    Console console;
    const Result<> done = write_mixture(options, console);
    return done ? kDone : end_with(console, done.error());
}

int join_chain(const StackJoinOptions& options) {
    Console console;
    const Result<> done = write_joined(options, console);
    return done ? kDone : end_with(console, done.error());
}

}  // namespace swarm::cli
