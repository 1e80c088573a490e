#include "swarm/cli/command_line.hpp"

#include "swarm/base/check.hpp"
#include "swarm/base/edit_distance.hpp"
#include "swarm/cli/api/api.hpp"
#include "swarm/cli/chat/chat.hpp"
#include "swarm/cli/common/flags.hpp"
#include "swarm/cli/data/data.hpp"
#include "swarm/cli/directory/directory.hpp"
#include "swarm/cli/doctor/doctor.hpp"
#include "swarm/cli/eval/eval.hpp"
#include "swarm/cli/generate/generate.hpp"
#include "swarm/cli/judge/judge.hpp"
#include "swarm/cli/key/key.hpp"
#include "swarm/cli/local/local.hpp"
#include "swarm/cli/manual/manual.hpp"
#include "swarm/cli/model/model.hpp"
#include "swarm/cli/plan/plan.hpp"
#include "swarm/cli/plot/plot.hpp"
#include "swarm/cli/runs/runs.hpp"
#include "swarm/cli/serve/serve.hpp"
#include "swarm/cli/sim/sim.hpp"
#include "swarm/cli/stack/stack.hpp"
#include "swarm/cli/status/status.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/cli/train/train.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <sstream>
#include <string_view>
#include <utility>

namespace swarm::cli {
namespace {

/// All verbs, in the order of `swarm --help`.
constexpr void (*kAddVerb[])(CLI::App& program, const OnChosen& on_chosen) = {
    add_train,
    add_serve,
    add_directory,
    add_generate,
    add_chat,
    add_api,
    add_local,
    add_plan,
    add_plot,
    add_runs,
    add_status,
    add_doctor,
    add_key_verb,
    add_sim,
    add_data,
    add_model,
    add_stack,
    add_judge,
    add_eval,
    add_manual};

/// Returns the command whose help describes the words: "swarm", "swarm sim" or "swarm sim compare".
std::string helper(const CLI::App& parsed) {
    const std::vector<CLI::App*> verbs = parsed.get_subcommands();
    return verbs.empty() ? parsed.get_name() : parsed.get_name() + " " + helper(*verbs.front());
}

/// Returns what is wrong with a word where a verb should stand; nullopt: all verbs are known.
std::optional<std::string> unknown_verb(
    const CLI::App& app, const std::vector<std::string>& words
) {
    const CLI::App* command = &app;
    for (const std::string& word : words) {
        const std::vector<const CLI::App*> verbs =
            command->get_subcommands([](const CLI::App*) { return true; });
        if (command->get_require_subcommand_min() == 0 || word.starts_with("-")) {
            return std::nullopt;
        }
        const auto known = std::ranges::find(verbs, word, &CLI::App::get_name);
        if (known == verbs.end()) {
            const auto nearest = std::ranges::min_element(verbs, {}, [&](const CLI::App* verb) {
                return edit_distance(word, verb->get_name());
            });
            const std::string& name = (*nearest)->get_name();
            const std::size_t alike_most = std::max<std::size_t>(1, name.size() / 2);
            const bool alike = edit_distance(word, name) <= alike_most;
            return "there is no verb " + word + (alike ? "; is it " + name + "?" : "");
        }
        command = *known;
    }
    return std::nullopt;
}

/// Flags are -x or --word and may be followed by negative numbers, so "-hello" and "--verbose mode"
/// are texts.
bool is_text(const std::string& word) {
    const bool has_space = word.find_first_of(" \t\n") != std::string::npos;
    const bool has_letters = word.size() > 2 && std::string_view("-=.0123456789").find(word[1]) ==
                                                    std::string_view::npos;
    return word.starts_with("-") && (has_space || has_letters);
}

/// Whether the value of this flag is a text, which may begin with a dash.
bool takes_text(const std::string& flag) {
    return flag == "--prompt" || flag == "--stop" || flag == "--system";
}

/// Rewrites what CLI11 would take for something else: `help sim` is `sim --help`, and a prompt, a
/// stop text or a system message may begin with a dash.
std::vector<std::string> as_flags(std::vector<std::string> words) {
    if (!words.empty() && words.front() == "help") {
        words.erase(words.begin());
        words.emplace_back("--help");
    }
    const bool has_prompt = !words.empty() && (words.front() == "generate" ||
                                               words.front() == "local" || words.front() == "chat");
    for (std::size_t i = 1; has_prompt && i < words.size() && words[i] != "--"; ++i) {
        if (!is_text(words[i])) {
            continue;
        }
        if (takes_text(words[i - 1])) {
            words[i - 1] += "=" + words[i];
            words.erase(words.begin() + static_cast<std::ptrdiff_t>(i));
            --i;  // the next word has moved to this place
        } else if (words.front() == "generate") {
            words[i].insert(0, "--prompt=");
        }
    }
    return words;
}

}  // namespace

std::variant<ChosenVerb, Exit> read_command_line(const std::vector<std::string>& given) {
    const std::vector<std::string> words = as_flags(given);
    CLI::App app("Trains a model on machines that are unequal and come and go.", "swarm");
    app.set_version_flag("--version", "swarm " SWARM_VERSION);
    app.footer(std::string("swarm VERB --help shows examples.\n") + kExitCodes);
    app.require_subcommand(1);
    std::optional<ChosenVerb> chosen;
    for (const auto add : kAddVerb) {
        add(app, [&chosen](const ChosenVerb& verb) { chosen.emplace(verb); });
    }
    try {
        app.parse(std::vector<std::string>(words.rbegin(), words.rend())
        );  // CLI11 wants the last first
    } catch (const CLI::ParseError& error) {
        std::ostringstream out;
        std::ostringstream err;
        if (app.exit(error, out, err) == 0) {
            return Exit{kDone, out.str()};
        }
        const std::string what = unknown_verb(app, words).value_or(error.what());
        return Exit{kUsage, "swarm: " + what + "; see `" + helper(app) + " --help`\n"};
    }
    SWARM_ASSERT(chosen.has_value());
    return *chosen;
}

std::optional<std::string> usage_error(const std::vector<std::string>& words) {
    const auto read = read_command_line(words);
    const auto* const exit = std::get_if<Exit>(&read);
    return exit != nullptr && exit->code != kDone ? std::optional(exit->text) : std::nullopt;
}

}  // namespace swarm::cli
