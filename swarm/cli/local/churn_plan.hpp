// The plan of the disturbances of `swarm local`, from `--churn default`, a TOML file, or flags.
// Pauses between disturbances of a kind are drawn around their mean, so that runs with other seeds
// meet other moments. A kind without a mean never happens. `kill_after_step` names its moment.
// Errors: Usage, Reject: one line with file and line.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/base/units.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace swarm::cli {

struct ChurnPlan {
    std::optional<Duration> kill_every;   // SIGKILL; the same peer starts again after 2 s
    std::optional<Duration> drain_every;  // SIGINT; when it has left, a newcomer joins
    std::optional<Duration> freeze_every;
    Duration freeze_shortest = std::chrono::seconds(1);
    Duration freeze_longest = std::chrono::seconds(8);
    std::optional<Duration> coordinator_kill_every;  // SIGKILL; resumed after 2 s
    std::uint64_t kill_after_step = 0;  // one SIGKILL when so many steps are committed; 0: none
};

/// Returns a plan in which all kinds happen within a run of three minutes.
ChurnPlan default_churn();

/// The keys are the fields of ChurnPlan. `file` names the plan in errors.
Result<ChurnPlan> parse_churn(std::string_view toml, const std::string& file);

/// `name`: "default", or a file.
Result<ChurnPlan> load_churn(const std::string& name);

}  // namespace swarm::cli
