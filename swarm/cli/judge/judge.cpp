#include "swarm/cli/judge/judge.hpp"

#include "swarm/base/durable_file.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/answer/open_model.hpp"
#include "swarm/cli/common/clock.hpp"
#include "swarm/cli/common/files.hpp"
#include "swarm/cli/judge/judged_seed.hpp"
#include "swarm/cli/stack/member_files.hpp"
#include "swarm/cli/terminal/console.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/cli/terminal/printable.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <span>
#include <utility>

namespace swarm::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSettingsName = "judge.txt";

bool is_wanted(const JudgeOptions& options, const Recipe& recipe) {
    const auto means = [&](const std::string& name) {
        return name == kAllRecipes || name == recipe.name;
    };
    return options.recipes.empty() || std::ranges::any_of(options.recipes, means);
}

/// The settings that all trainings of a folder follow from.
std::string settings_text(const JudgeOptions& options) {
    std::string text = "base-steps " + std::to_string(options.base_steps) + "\nsteps " +
                       std::to_string(options.steps) + "\n";
    if (!options.init.empty()) {
        text += "init " + options.init + "\n";
    }
    for (const std::string& source : options.sources) {
        text += "source " + source + "\n";
    }
    for (const auto& [key, value] : options.settings) {
        text += "set " + key + "=" + value + "\n";
    }
    return text;
}

Result<> write_in(const fs::path& folder, const char* name, const std::string& text) {
    return write_durably(folder / name, std::as_bytes(std::span(text)), "choose another folder");
}

/// A folder has the trainings of one judge; those of another must not be taken for them.
Result<> check_folder(const JudgeOptions& options) {
    const fs::path file = fs::path(options.folder) / kSettingsName;
    std::error_code ignored;
    if (!fs::exists(file, ignored)) {
        return write_in(options.folder, kSettingsName, settings_text(options));
    }
    SWARM_TRY(const std::string before, read_file(file, 1U << 20));
    if (before != settings_text(options)) {
        return Error{
            ErrorCode::Mismatch,
            Reaction::Reject,
            options.folder + " has trainings of other texts, steps or settings (see " +
                file.string() + "); choose another folder"};
    }
    return {};
}

/// The exit code of a training that has ended badly; 0: none has.
Result<JudgeReport> judge(const JudgeOptions& options, Console& console, int& exit_code) {
    if (!options.init.empty()) {
        SWARM_TRY(open_model(options.init));  // before the folder belongs to a judge of it
    }
    SWARM_TRY(check_folder(options));
    const TimePoint began = clock_now();
    const auto may_begin = [&] { return !options.budget || clock_now() - began < *options.budget; };
    const JudgedSteps steps{options.base_steps, options.steps};
    JudgeReport report;
    for (const std::string& source : options.sources) {
        report.domains.push_back(member_name(source));
    }
    std::vector<Recipe> recipes = recipes_of(options.sources.size(), steps);
    std::erase_if(recipes, [&](const Recipe& recipe) { return !is_wanted(options, recipe); });
    for (const Recipe& recipe : recipes) {
        report.recipes.push_back({recipe.name, recipe.about, 0, {}, {}});
    }
    const std::uint64_t behind = std::uint64_t{options.first_seed} + options.seeds;
    for (std::uint64_t seed = options.first_seed; seed < behind; ++seed) {
        JudgedSeed judged(options, seed, may_begin);
        SWARM_TRY(judged.prepare());
        for (std::size_t i = 0; i < recipes.size(); ++i) {
            JudgedRecipe& row = report.recipes[i];
            if (!recipes[i].needs_base && !options.init.empty()) {
                row.left_out = "its members would not begin with the model of --init";
                continue;
            }
            console.info("seed " + std::to_string(seed) + ": " + recipes[i].name);
            auto one = judged.judge(recipes[i]);
            if (!one) {
                exit_code = judged.exit_code();
                return one.error();
            }
            row.training_tokens = batches_of(recipes[i], steps) * judged.tokens_per_batch();
            if (*one) {
                row.seeds.push_back(std::move(**one));
            } else if (row.left_out.empty()) {
                row.left_out = "the time was over at seed " + std::to_string(seed);
            }
        }
    }
    return report;
}

Result<> write_report(const JudgeOptions& options, const JudgeReport& report) {
    SWARM_TRY(write_in(options.folder, "table.md", judge_table(report)));
    SWARM_TRY(write_in(options.folder, "plot.svg", judge_plot(report)));
    return write_in(options.folder, "judge.json", judge_json(report));
}

}  // namespace

int judge_recipes(const JudgeOptions& options) {
    Console console;
    int exit_code = kDone;
    const auto report = judge(options, console, exit_code);
    if (!report) {
        const int code = end_with(console, report.error());
        return exit_code == kDone ? code : exit_code;
    }
    if (const Result<> written = write_report(options, *report); !written) {
        return end_with(console, written.error());
    }
    std::cout << printable(judge_table(*report)) << std::flush;
    const bool kept =
        options.json_file.empty() || write_text(console, options.json_file, judge_json(*report));
    return kept ? kDone : kRunFailed;
}

}  // namespace swarm::cli
