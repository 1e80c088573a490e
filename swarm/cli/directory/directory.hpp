// `swarm directory`: tells clients which peers serve which layers of which models.
// Threading: the main thread. Errors: an exit code, and one line on stderr.
#pragma once

#include "swarm/cli/common/peer_flags.hpp"
#include "swarm/cli/common/verb.hpp"

namespace swarm::cli {

struct DirectoryOptions {
    PeerFlags peer{.listen = "*:7118"};
    bool qr = false;  // the line that others type as a QR code, too
};

void add_directory(CLI::App& program, const OnChosen& on_chosen);

int directory(const DirectoryOptions& options);

}  // namespace swarm::cli
