#include "swarm/cli/local/churn_plan.hpp"

#include "swarm/cli/common/flags.hpp"
#include "swarm/cli/terminal/usage.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <toml++/toml.h>
#include <utility>

namespace swarm::cli {
namespace {

Error usage_in(const std::string& place, const std::string& what) {
    return usage(place + ": " + what);
}

/// A shorter pause would leave no commit between two faults.
constexpr Duration kShortestPause = std::chrono::milliseconds(100);

}  // namespace

ChurnPlan default_churn() {
    ChurnPlan plan;
    plan.kill_every = std::chrono::seconds(20);
    plan.freeze_every = std::chrono::seconds(30);
    plan.drain_every = std::chrono::seconds(40);
    plan.coordinator_kill_every = std::chrono::seconds(60);
    return plan;
}

Result<ChurnPlan> parse_churn(std::string_view toml, const std::string& file) {
    toml::table document;
    try {
        document = toml::parse(toml, std::string_view(file));
    } catch (const toml::parse_error& error) {
        return usage_in(
            file + ":" + std::to_string(error.source().begin.line), std::string(error.description())
        );
    }
    ChurnPlan plan;
    std::optional<Duration> shortest = plan.freeze_shortest;
    std::optional<Duration> longest = plan.freeze_longest;
    const std::pair<std::string_view, std::optional<Duration>*> fields[] = {
        {"kill_every", &plan.kill_every},
        {"drain_every", &plan.drain_every},
        {"freeze_every", &plan.freeze_every},
        {"freeze_shortest", &shortest},
        {"freeze_longest", &longest},
        {"coordinator_kill_every", &plan.coordinator_kill_every}};
    for (const auto& [key, node] : document) {
        const std::string place = file + ":" + std::to_string(node.source().begin.line);
        if (key.str() == "kill_after_step") {
            const std::optional<std::int64_t> step = node.value_exact<std::int64_t>();
            if (!step || *step < 1) {
                return usage_in(place, "kill_after_step must be a number of steps, 1 or more");
            }
            plan.kill_after_step = static_cast<std::uint64_t>(*step);
            continue;
        }
        const auto* const field = std::find_if(
            std::begin(fields),
            std::end(fields),
            [name = key.str()](const auto& known) { return known.first == name; }
        );
        if (field == std::end(fields)) {
            return usage_in(place, "unknown key " + std::string(key.str()));
        }
        const std::optional<std::string> text = node.value_exact<std::string>();
        const std::optional<Duration> value = text ? parse_duration(*text) : std::nullopt;
        if (!value || *value < kShortestPause) {
            return usage_in(
                place, std::string(key.str()) + " must be a time of at least 100ms, like \"20s\""
            );
        }
        *field->second = value;
    }
    if (*shortest > *longest) {
        return usage_in(file, "freeze_shortest must not be above freeze_longest");
    }
    plan.freeze_shortest = *shortest;
    plan.freeze_longest = *longest;
    return plan;
}

Result<ChurnPlan> load_churn(const std::string& name) {
    if (name == "default") {
        return default_churn();
    }
    std::ifstream in(name);
    const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    if (!in.is_open() || in.bad()) {
        return usage_in(name, "cannot be read; --churn takes `default` or a TOML file");
    }
    return parse_churn(text, name);
}

}  // namespace swarm::cli
