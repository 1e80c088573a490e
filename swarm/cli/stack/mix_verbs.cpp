// `swarm stack mix` and `join`.
#include "stacking/models/averages/model_mixture.hpp"
#include "swarm/base/durable_folder.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/stack/average_members.hpp"
#include "swarm/cli/stack/joined_chain.hpp"
#include "swarm/cli/stack/mix.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/cli/terminal/printable.hpp"

#include <cstdio>
#include <utility>

namespace swarm::cli {

using stacking::models::ModelSource;

Result<> write_joined(const StackJoinOptions& options, Console& console) {
    SWARM_TRY(check_free(options.folder));
    SWARM_TRY(const JoinedChain chain, open_joined(options.file));
    SWARM_TRY(DurableFolder written, DurableFolder::begin(options.folder, "choose another folder"));
    SWARM_TRY(chain.write(written.draft(), console));
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
