// `swarm doctor`: what is wrong with this machine, and the command that mends it.
#include "swarm/cli/doctor/checks.hpp"
#include "swarm/cli/exit_code.hpp"
#include "swarm/cli/train.hpp"
#include "swarm/cli/verbs.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <cstdio>

namespace swarm::cli {
namespace {

namespace json = boost::json;

const char* name_of(Finding::Level level) {
    switch (level) {
        case Finding::Level::Good:
            return "good";
        case Finding::Level::Warning:
            return "warning";
        case Finding::Level::Bad:
            break;
    }
    return "bad";
}

void print(const Finding& finding) {
    std::printf(
        "%-8s %-11s %s\n", name_of(finding.level), finding.name.c_str(), finding.text.c_str()
    );
    if (!finding.mend.empty()) {
        std::printf("%-20s mend it: %s\n", "", finding.mend.c_str());
    }
}

}  // namespace

int doctor(const DoctorOptions& options) {
    Console console;
    const std::vector<Finding> findings = examine_machine();
    json::array report;
    for (const Finding& finding : findings) {
        print(finding);
        report.push_back(json::object{
            {"name", finding.name},
            {"level", name_of(finding.level)},
            {"text", finding.text},
            {"mend", finding.mend}});
    }
    std::fflush(stdout);
    if (!options.json_file.empty() &&
        !write_text(console, options.json_file, json::serialize(report) + "\n")) {
        return kRunFailed;
    }
    const bool bad = std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
        return finding.level == Finding::Level::Bad;
    });
    return bad ? kRunFailed : kDone;
}

}  // namespace swarm::cli
