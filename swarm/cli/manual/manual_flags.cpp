#include "swarm/cli/common/flags.hpp"
#include "swarm/cli/manual/manual.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string_view>

namespace swarm::cli {
namespace {

constexpr const char* kManualExamples = R"(
examples:
  swarm manual share && man share/man/man1/swarm-train.1
  swarm manual ~/.local/share        # where man and bash look for them)";

/// Takes "{fp32,bf16,int8}" off the type: "TEXT:{fp32,bf16,int8}".
std::vector<std::string> take_choices(std::string& type) {
    std::vector<std::string> choices;
    const std::size_t open = type.find(":{");
    const std::size_t close = type.find('}', open == std::string::npos ? 0 : open);
    if (open == std::string::npos || close == std::string::npos) {
        return choices;
    }
    std::string_view rest = std::string_view(type).substr(open + 2, close - open - 2);
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find(','), rest.size());
        choices.emplace_back(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    type.erase(open, close + 1 - open);
    return choices;
}

/// "UINT:UINT in [1 - 16]" -> "UINT"; "HOST:PORT" stays.
std::string without_limits(const std::string& type) {
    const std::string name = type.substr(0, type.find(':'));
    return type.starts_with(name + ":" + name) ? name : type;
}

FlagText text_of(const CLI::Option& option) {
    FlagText flag;
    flag.is_word = !option.nonpositional();
    flag.names = option.get_name(flag.is_word, true);
    flag.meaning = option.get_description();
    if (option.get_items_expected_max() > 0) {
        flag.value = option.get_type_name();
        flag.choices = take_choices(flag.value);
        flag.value = without_limits(flag.value);
    }
    if (const std::string preset = option.get_default_str(); !preset.empty()) {
        flag.meaning += " (default: " + preset + ")";
    }
    return flag;
}

/// The footer of a verb is its examples, a line feed, and the exit codes; that of `swarm` has a
/// sentence in the place of examples.
VerbText text_of(const CLI::App& app, const std::string& name) {
    VerbText verb{name, app.get_description()};
    for (const CLI::Option* const option : app.get_options()) {
        if (!option->get_group().empty()) {
            verb.flags.push_back(text_of(*option));
        }
    }
    const std::string footer = app.get_footer();
    const std::size_t codes = footer.find(kExitCodes);
    verb.examples = footer.substr(0, codes);
    verb.exit_codes = codes == std::string::npos ? "" : footer.substr(codes);
    for (const CLI::App* const below : app.get_subcommands([](const CLI::App*) { return true; })) {
        verb.verbs.push_back(text_of(*below, name + " " + below->get_name()));
    }
    return verb;
}

}  // namespace

void add_manual(CLI::App& program, const OnChosen& on_chosen) {
    CLI::App& app = add_verb(
        program, "manual", "Write manual pages and the completion of bash", kManualExamples
    );
    const auto options = std::make_shared<ManualOptions>();
    app.add_option("folder", options->folder, "where to: the share folder of a prefix")
        ->type_name("FOLDER")
        ->required();
    when_named(app, [on_chosen, options, &program] {
        options->swarm = text_of(program, program.get_name());
        on_chosen(ChosenVerb(*options, &manual));
    });
}

}  // namespace swarm::cli
