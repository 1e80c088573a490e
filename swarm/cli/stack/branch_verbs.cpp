// `swarm stack branch` and `grow`.
#include "stacking/models/averages/fresh_layers.hpp"
#include "stacking/models/averages/model_chain.hpp"
#include "swarm/base/durable_folder.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/answer/model_folder.hpp"
#include "swarm/cli/answer/open_model.hpp"
#include "swarm/cli/answer/open_stack.hpp"
#include "swarm/cli/common/files.hpp"
#include "swarm/cli/setup/base_model.hpp"
#include "swarm/cli/stack/average.hpp"
#include "swarm/cli/stack/branch.hpp"
#include "swarm/cli/stack/member_files.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/cli/terminal/printable.hpp"
#include "swarm/cli/terminal/usage.hpp"
#include "swarm/run/partition.hpp"
#include "swarm/run/run_file/config_settings.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>
#include <span>
#include <utility>

namespace swarm::cli {
namespace {

namespace fs = std::filesystem;
using stacking::composition::StackFile;

constexpr std::uint64_t kDealtBytesMax = 1ULL << 30;  // limit of one text
constexpr const char* kSeedFolder = "seed";
constexpr const char* kFreshFolder = "-fresh";  // end of the name of a fresh member's folder
constexpr const char* kFrozenOfFresh[] = {"embed", "head"};

struct Member {
    run::RunConfig config;
    std::string source;  // for people
};

Error refused(ErrorCode code, std::string what) {
    return {code, Reaction::Reject, std::move(what)};
}

Result<> check_source(const std::string& source, bool is_dealt) {
    std::error_code ignored;
    const bool is_folder = fs::is_directory(source, ignored);
    if (!is_folder && !fs::exists(source, ignored)) {
        return refused(ErrorCode::NotFound, source + " is not there");
    }
    if (fs::path(source).extension() == ".toml") {
        return refused(
            ErrorCode::Unsupported,
            source + " describes data; build it with swarm data build, and name its folder"
        );
    }
    if (is_dealt && is_folder) {
        return refused(ErrorCode::Unsupported, source + " is a folder; --deal wants texts");
    }
    return {};
}

/// Freezes what fresh members share. Their seeds must differ, or they would be one model.
Result<> make_fresh(const BranchOptions& options, run::RunConfig& config) {
    if (run::sets_key(options.settings, "run.seed")) {
        return usage("--set run.seed would give all fresh members the same layers; use --seed");
    }
    std::vector<std::string>& freeze = config.train.freeze;
    for (const char* const group : kFrozenOfFresh) {
        if (std::ranges::find(freeze, group) == freeze.end()) {
            freeze.emplace_back(group);
        }
    }
    return {};
}

/// The members, not yet checked. `init`: their first model as the run files name it.
Result<std::vector<Member>> members_of(const BranchOptions& options, const std::string& init) {
    std::vector<Member> members;
    std::set<std::string> names;
    for (std::size_t i = 0; i < options.sources.size(); ++i) {
        const std::string& source = options.sources[i];
        SWARM_TRY(check_source(source, options.deal));
        Member member;
        member.source = options.deal ? "paragraphs of all" : source;
        run::RunConfig& config = member.config;
        config.name = options.deal ? "dealt-" + std::to_string(i + 1) : member_name(source);
        if (!names.insert(config.name).second) {
            return refused(ErrorCode::Usage, "two sources make members of the name " + config.name);
        }
        config.init = init;
        config.corpus = options.deal ? config.name + ".txt" : fs::absolute(source).string();
        config.seed = options.seed.value_or(1) + i;
        config.train.freeze = options.freeze;
        SWARM_TRY(run::set_keys(config, options.settings));
        if (options.fresh) {
            SWARM_TRY(make_fresh(options, config));
        }
        members.push_back(std::move(member));
    }
    return members;
}

/// Takes the shape of the first model and checks the whole. `folder`: where the run file lies.
/// Lowers the number of stages to that of the layers, if nobody has chosen it.
Result<> check_member(Member& member, const BranchOptions& options, const fs::path& folder) {
    run::RunConfig judged = member.config;
    SWARM_TRY(open_base_model(judged, folder));
    if (!run::sets_key(options.settings, "run.stages")) {
        member.config.stages = std::min(member.config.stages, judged.model.layers);
        judged.stages = member.config.stages;
    }
    return run::check_run(judged);
}

Result<> write_text_file(const fs::path& file, const std::string& text) {
    return write_durably(file, std::as_bytes(std::span(text)));
}

Result<> write_dealt(
    const BranchOptions& options, const std::vector<Member>& members, const fs::path& folder
) {
    std::vector<std::string> texts;
    for (const std::string& source : options.sources) {
        SWARM_TRY(std::string text, read_file(source, kDealtBytesMax));
        texts.push_back(std::move(text));
    }
    const auto dealt = deal_paragraphs(texts, members.size(), options.seed.value_or(1));
    for (std::size_t i = 0; i < members.size(); ++i) {
        SWARM_TRY(write_text_file(folder / members[i].config.corpus, dealt[i]));
    }
    return {};
}

/// Writes the first model of each member into a folder beside its run file, which names it.
Result<> write_fresh(std::vector<Member>& members, const fs::path& folder, Console& console) {
    SWARM_TRY(OpenModel seed, open_model(members.front().config.init));
    SWARM_TRY(const auto tokenizer, open_tokenizer(seed));
    const auto source =
        std::make_shared<const stacking::models::ModelSource>(std::move(seed.source));
    for (Member& member : members) {
        run::RunConfig& config = member.config;
        SWARM_TRY(const auto model, stacking::models::with_fresh_layers(source, config.seed));
        config.init = config.name + kFreshFolder;
        SWARM_TRY(write_model_folder(model, &tokenizer, folder / config.init, console));
    }
    console.settle();
    return {};
}

/// Writes the files of the members into `folder`. `comment`: the first line of each run file.
Result<std::vector<Member>> write_members(
    const BranchOptions& options,
    const std::string& init,
    const std::string& comment,
    const fs::path& folder,
    Console& console
) {
    SWARM_TRY(std::vector<Member> members, members_of(options, init));
    for (Member& member : members) {
        SWARM_TRY(check_member(member, options, folder));
    }
    if (options.fresh) {
        SWARM_TRY(write_fresh(members, folder, console));
    }
    for (const Member& member : members) {
        const fs::path file = folder / (member.config.name + ".toml");
        SWARM_TRY(write_text_file(file, run_file_text(member.config, comment)));
    }
    if (options.deal) {
        SWARM_TRY(write_dealt(options, members, folder));
    }
    return members;
}

/// Prints the run files and what comes next.
void print_members(const std::string& folder, const std::vector<Member>& members) {
    for (const Member& member : members) {
        const fs::path file = fs::path(folder) / (member.config.name + ".toml");
        std::printf("%s: %s\n", printable(file.string()).c_str(), printable(member.source).c_str());
    }
    const std::string& first = members.front().config.name;
    std::printf(
        "swarm train %s trains the first of them\n",
        printable((fs::path(folder) / (first + ".toml")).string()).c_str()
    );
}

/// An absolute path where one is there; else the name of a model.
std::string init_of(const std::string& model) {
    std::error_code ignored;
    return fs::exists(model, ignored) ? fs::absolute(model).lexically_normal().string() : model;
}

Result<> branch(const StackBranchOptions& options, Console& console) {
    const std::string& folder = options.branch.folder;
    SWARM_TRY(check_free(folder));
    SWARM_TRY(DurableFolder written, DurableFolder::begin(folder, "choose another folder"));
    SWARM_TRY(
        const std::vector<Member> members,
        write_members(
            options.branch,
            init_of(options.model),
            std::string("A member that begins with the ") +
                (options.branch.fresh ? "embedding and the head of " : "model ") +
                printable(options.model) + ".",
            written.draft(),
            console
        )
    );
    SWARM_TRY(written.finish());
    print_members(folder, members);
    return {};
}

/// The average of the stack's members, in a folder.
Result<StackAverageOptions> average_of_stack(
    const std::string& file, const StackFile& stack, const fs::path& folder
) {
    StackAverageOptions average;
    for (const auto& member : stack.members) {
        if (member.layers) {
            return refused(
                ErrorCode::Unsupported,
                file + ": the member " + member.model +
                    " is a part of a model, which has no average; --fresh needs none"
            );
        }
        average.models.push_back(located_member(file, member.model));
        average.weights.push_back(member.prior);
    }
    average.folder = folder.string();
    return average;
}

/// Finds the model that gives fresh members of the stack their ends: the last member, with whose
/// head a chain answers. All members have its embedding and its head.
Result<std::string> ends_of_stack(const std::string& file, const StackFile& stack) {
    const std::string last = located_member(file, stack.members.back().model);
    SWARM_TRY(const OpenModel seed, open_model(last));
    for (const auto& member : stack.members) {
        SWARM_TRY(const OpenModel own, open_model(located_member(file, member.model)));
        for (const char* const tensor : {run::kEmbeddingTensor, run::kHeadTensor}) {
            SWARM_TRY(const bool is_same, have_equal(own.source, seed.source, tensor));
            if (!is_same) {
                return usage(
                    std::string(tensor) + " of " + member.model + " is not that of " +
                    stack.members.back().model +
                    ": --fresh wants members that share both ends (swarm stack branch --freeze "
                    "embed,head)"
                );
            }
        }
    }
    return init_of(last);
}

/// Writes what new members begin with, if it is not there. Returns how run files name it.
Result<std::string> write_seed(
    const StackGrowOptions& options,
    const StackFile& stack,
    const fs::path& folder,
    Console& console
) {
    if (options.branch.fresh) {
        return ends_of_stack(options.file, stack);
    }
    SWARM_TRY(
        const StackAverageOptions average,
        average_of_stack(options.file, stack, folder / kSeedFolder)
    );
    SWARM_TRY(write_average_model(average, console));
    return std::string(kSeedFolder);
}

Result<> grow(const StackGrowOptions& options, Console& console) {
    const std::string& folder = options.branch.folder;
    SWARM_TRY(check_free(folder));
    for (const std::string& source : options.branch.sources) {
        SWARM_TRY(check_source(source, options.branch.deal));
    }
    SWARM_TRY(const StackFile stack, read_stack(options.file));
    SWARM_TRY(DurableFolder written, DurableFolder::begin(folder, "choose another folder"));
    SWARM_TRY(const std::string init, write_seed(options, stack, written.draft(), console));
    BranchOptions branch = options.branch;
    if (branch.fresh && !branch.seed) {
        branch.seed = 1 + stack.members.size();
    }
    SWARM_TRY(
        const std::vector<Member> members,
        write_members(
            branch,
            init,
            std::string("A member that begins with the ") + (branch.fresh ? "ends" : "average") +
                " of the members of " + printable(options.file) + ".",
            written.draft(),
            console
        )
    );
    SWARM_TRY(written.finish());
    print_members(folder, members);
    return {};
}

}  // namespace

int branch_members(const StackBranchOptions& options) {
    Console console;
    const Result<> done = branch(options, console);
    return done ? kDone : end_with(console, done.error());
}

int grow_stack(const StackGrowOptions& options) {
    Console console;
    const Result<> done = grow(options, console);
    return done ? kDone : end_with(console, done.error());
}

}  // namespace swarm::cli
