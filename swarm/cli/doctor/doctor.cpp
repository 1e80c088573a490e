#include "swarm/cli/doctor/doctor.hpp"

#include "swarm/cli/common/files.hpp"
#include "swarm/cli/common/flags.hpp"
#include "swarm/cli/common/join_address.hpp"
#include "swarm/cli/doctor/checks.hpp"
#include "swarm/cli/terminal/console.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/cli/terminal/printable.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>

namespace swarm::cli {
namespace {

constexpr const char* kExamples = R"(
examples:
  swarm doctor
  swarm doctor --json machine.json
  swarm doctor --join example.org:7117                # can the peers there reach this machine?
  swarm doctor --join example.org:7117 --listen :7200 # ... at the port that the router forwards?)";

void print(const Finding& finding) {
    std::printf(
        "%-8s %-11s %s\n",
        name_of(finding.level),
        finding.name.c_str(),
        printable(finding.text).c_str()
    );
    if (!finding.mend.empty()) {
        std::printf("%-20s mend it: %s\n", "", printable(finding.mend).c_str());
    }
}

}  // namespace

void add_doctor(CLI::App& program, const OnChosen& on_chosen) {
    CLI::App& app =
        add_verb(program, "doctor", "What is wrong with this machine, and a remedy", kExamples);
    const auto options = std::make_shared<DoctorOptions>();
    ReachFlags& reach = options->reach;
    add_json(app, "write the findings", options->json_file);
    CLI::Option* const join = app.add_option(
        "--join",
        reach.join,
        "ask this coordinator, directory or peer whether it can dial this machine"
    );
    join->type_name("[NAME@]HOST[:PORT]");
    add_forget(app, reach.owner.forget)->needs(join);
    add_listen(app, "where that dial should arrive, as for serve (a free port)", reach.listen)
        ->needs(join);
    app.add_option("--advertise", reach.advertise, "as for serve; the port counts here")
        ->type_name("HOST:PORT")
        ->needs(join);
    add_swarm_key(app, "the key of a private run", reach.swarm_key_file)->needs(join);
    when_named(app, [on_chosen, options] {
        if (!options->reach.join.empty()) {
            split_join(options->reach.join, options->reach.owner, kCoordinatorPort);
        }
        on_chosen(ChosenVerb(*options, cli::doctor));
    });
}

int doctor(const DoctorOptions& options) {
    Console console;
    std::vector<Finding> findings = examine_machine();
    if (!options.reach.join.empty()) {
        findings.push_back(check_reach(options.reach, console));
    }
    for (const Finding& finding : findings) {
        print(finding);
    }
    std::fflush(stdout);
    if (!options.json_file.empty() && !write_text(console, options.json_file, to_json(findings))) {
        return kRunFailed;
    }
    const bool bad = std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
        return finding.level == Finding::Level::Bad;
    });
    return bad ? kRunFailed : kDone;
}

}  // namespace swarm::cli
