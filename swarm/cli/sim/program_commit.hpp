// The commit of the source from which this program was built, with which a failing seed is
// repeated.
#pragma once

namespace swarm::cli {

/// Returns the output of `git describe --always --dirty` during the build; "unknown" without git.
const char* program_commit();

}  // namespace swarm::cli
