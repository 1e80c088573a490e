// Which source this program was built from: what a failing seed is repeated with.
#pragma once

namespace swarm::cli {

/// As `git describe --always --dirty` said during the build; "unknown" without git.
const char* program_commit();

}  // namespace swarm::cli
