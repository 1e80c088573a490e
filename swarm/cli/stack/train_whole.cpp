// `swarm stack train --whole`: a chain as one model, and a run file that trains it over peers with
// an exit behind each member but the last.
#include "stacking/models/averages/model_chain.hpp"
#include "swarm/base/durable_file.hpp"
#include "swarm/base/durable_folder.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/setup/base_model.hpp"
#include "swarm/cli/stack/average.hpp"
#include "swarm/cli/stack/joined_chain.hpp"
#include "swarm/cli/stack/member_files.hpp"
#include "swarm/cli/stack/stack.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/cli/terminal/printable.hpp"
#include "swarm/cli/terminal/usage.hpp"
#include "swarm/run/partition.hpp"
#include "swarm/run/run_file/config_settings.hpp"

#include <cstdio>
#include <span>
#include <system_error>

namespace swarm::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kJoinedFolder = "joined";

/// The head reads the output of every member: of the last one, whose head it is, and of the others,
/// which must have been trained with the same one and must be there to their ends.
Result<> check_members(const std::string& file, const JoinedChain& chain) {
    const auto& members = chain.stack->file().members;
    if (members.size() < 2) {
        return usage(file + " has one member, and so no exit: swarm train --init trains it");
    }
    const stacking::models::ModelSource& last = chain.stack->source(members.size() - 1);
    for (std::size_t i = 0; i + 1 < members.size(); ++i) {
        const stacking::models::ModelSource& own = chain.stack->source(i);
        const std::uint32_t layers = own.architecture().model.layers;
        if (members[i].layers && members[i].layers->last + 1 < layers) {
            return usage(
                member_text(members[i]) + " is cut before layer " + std::to_string(layers - 1) +
                ", the last one: its end is no exit"
            );
        }
        SWARM_TRY(const bool is_same, have_equal(own, last, run::kHeadTensor));
        if (!is_same) {
            return usage(
                "the head of " + members[i].model + " is not that of " + members.back().model +
                ": members with exits share one (swarm stack branch --freeze embed,head)"
            );
        }
    }
    return {};
}

/// The run, not yet checked, as a file beside the folder of the joined model describes it.
Result<run::RunConfig> run_of(const StackTrainOptions& options, const JoinedChain& chain) {
    run::RunConfig config;
    config.name = member_name(options.file);
    config.init = kJoinedFolder;
    config.corpus = fs::absolute(options.texts.front()).lexically_normal().string();
    config.train.freeze = {"embed", "head"};
    std::uint32_t end = 0;
    for (std::size_t i = 0; i + 1 < chain.layers.size(); ++i) {
        config.train.exits.push_back(end += chain.layers[i]);
    }
    if (!run::sets_key(options.settings, "run.stages")) {
        config.stages = static_cast<std::uint32_t>(chain.layers.size());
        config.layers_per_stage = chain.layers;
    }
    SWARM_TRY(run::set_keys(config, options.settings));
    return config;
}

Result<> check_text(const StackTrainOptions& options) {
    if (options.texts.size() > 1) {
        return usage("--whole wants one --text; swarm data build makes one of several");
    }
    std::error_code ignored;
    if (!fs::exists(options.texts.front(), ignored)) {
        return Error{
            ErrorCode::NotFound, Reaction::Reject, options.texts.front() + " is not there"};
    }
    return {};
}

std::string exits_text(const run::RunConfig& config) {
    std::string text;
    for (const std::uint32_t exit : config.train.exits) {
        text += (text.empty() ? "" : ", ") + std::to_string(exit);
    }
    return text;
}

Result<> write_whole(const StackTrainOptions& options, Console& console) {
    SWARM_TRY(check_free(options.folder));
    SWARM_TRY(check_text(options));
    SWARM_TRY(const JoinedChain chain, open_joined(options.file));
    SWARM_TRY(check_members(options.file, chain));
    SWARM_TRY(const run::RunConfig config, run_of(options, chain));
    SWARM_TRY(DurableFolder written, DurableFolder::begin(options.folder, "choose another folder"));
    SWARM_TRY(chain.write(written.draft() / kJoinedFolder, console));
    console.settle();
    run::RunConfig judged = config;
    SWARM_TRY(open_base_model(judged, written.draft()));
    SWARM_TRY(run::check_run(judged));
    const std::string text =
        run_file_text(config, "Trains the chain " + printable(options.file) + " as a whole.");
    const std::string name = config.name + ".toml";
    SWARM_TRY(write_durably(written.draft() / name, std::as_bytes(std::span(text))));
    SWARM_TRY(written.finish());
    const std::string shown = printable((fs::path(options.folder) / name).string());
    std::printf("%s: exits behind layers %s\n", shown.c_str(), exits_text(config).c_str());
    std::printf("swarm train %s trains it, with peers or with --single\n", shown.c_str());
    return {};
}

}  // namespace

int train_whole(const StackTrainOptions& options) {
    Console console;
    const Result<> done = write_whole(options, console);
    return done ? kDone : end_with(console, done.error());
}

}  // namespace swarm::cli
