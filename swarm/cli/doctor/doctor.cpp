#include "swarm/cli/doctor/doctor.hpp"

#include "swarm/cli/common/files.hpp"
#include "swarm/cli/common/flags.hpp"
#include "swarm/cli/doctor/checks.hpp"
#include "swarm/cli/terminal/console.hpp"
#include "swarm/cli/terminal/exit_code.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>

namespace swarm::cli {
namespace {

constexpr const char* kExamples = R"(
examples:
  swarm doctor
  swarm doctor --json machine.json)";

void print(const Finding& finding) {
    std::printf(
        "%-8s %-11s %s\n", name_of(finding.level), finding.name.c_str(), finding.text.c_str()
    );
    if (!finding.mend.empty()) {
        std::printf("%-20s mend it: %s\n", "", finding.mend.c_str());
    }
}

}  // namespace

void add_doctor(CLI::App& program, const OnChosen& on_chosen) {
    CLI::App& app =
        add_verb(program, "doctor", "What is wrong with this machine, and a remedy", kExamples);
    const auto options = std::make_shared<DoctorOptions>();
    add_json(app, "write the findings", options->json_file);
    when_named<DoctorOptions>(app, on_chosen, options, cli::doctor);
}

int doctor(const DoctorOptions& options) {
    Console console;
    const std::vector<Finding> findings = examine_machine();
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
