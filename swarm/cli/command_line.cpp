#include "swarm/cli/command_line.hpp"

#include "swarm/base/check.hpp"
#include "swarm/cli/common/exit_code.hpp"
#include "swarm/cli/common/flags.hpp"
#include "swarm/cli/directory/directory.hpp"
#include "swarm/cli/doctor/doctor.hpp"
#include "swarm/cli/generate/generate.hpp"
#include "swarm/cli/local/local.hpp"
#include "swarm/cli/model/model.hpp"
#include "swarm/cli/plan/plan.hpp"
#include "swarm/cli/serve/serve.hpp"
#include "swarm/cli/sim/sim.hpp"
#include "swarm/cli/stack/stack.hpp"
#include "swarm/cli/train/train.hpp"

#include <CLI/CLI.hpp>
#include <sstream>

namespace swarm::cli {
namespace {

/// All verbs, in the order of `swarm --help`.
constexpr void (*kAddVerb[])(CLI::App& program, const OnChosen& on_chosen) = {
    add_train,
    add_serve,
    add_directory,
    add_generate,
    add_local,
    add_plan,
    add_doctor,
    add_sim,
    add_model,
    add_stack};

}  // namespace

std::variant<ChosenVerb, Exit> read_command_line(const std::vector<std::string>& words) {
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
        return Exit{kUsage, "swarm: " + std::string(error.what()) + "; see `swarm --help`\n"};
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
