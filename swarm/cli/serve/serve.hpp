// `swarm serve`: lends this machine to a training run, or to the sessions of a model.
// Threading: the main thread; the device has its own. Errors: an exit code, and one line on stderr.
#pragma once

#include "swarm/base/digest.hpp"
#include "swarm/base/units.hpp"
#include "swarm/cli/common/join_address.hpp"
#include "swarm/cli/common/peer_flags.hpp"
#include "swarm/cli/common/verb.hpp"
#include "swarm/cli/compute/threads.hpp"
#include "swarm/cli/serve/lending.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace swarm::cli {

struct ServeOptions {
    std::string join;     // one address or several
    ExpectedOwner owner;  // that must answer there
    Duration wait = std::chrono::seconds(60);
    Duration keeps_for = std::chrono::minutes(10);  // caches of ended sessions
    PeerFlags peer{.listen = "*:0"};
    ThreadsFlag threads;  // none: 1 for a run, auto for a model
    std::optional<int> nice;
    std::optional<LendingHours> hours;  // none: at any time
    // For a run:
    std::string device = "auto";
    std::uint64_t memory_bytes = 0;  // 0: no bound
    std::string cache_folder;        // empty: no state is kept
    // For a model:
    std::string model;            // a path or a name; empty: a run is served
    std::optional<Digest> files;  // digest of its files' manifest; none: any that peers agree on
    std::uint32_t stages = 1;     // number of parts in which the model is offered
    std::string layers;           // "A-B"; empty: the layers that the directory needs most
    std::string experts;          // "0,2": these alone; "none": all but experts; empty: all
    bool trunk = false;           // all but experts, and those of `experts`
    std::string weights = "as-is";
    std::uint64_t kv_bytes = 1ULL << 30;
    bool exits = false;       // with the head of the model, whatever the layers are
    std::string bridge_file;  // the bridge that leads to this model from another one
};

void add_serve(CLI::App& program, const OnChosen& on_chosen);

int serve(const ServeOptions& options);

}  // namespace swarm::cli
