// The question that helps a person after a dial that failed: one for a name that is not known, one
// for an address where nobody listens, and none where a process answered and hung up.
// Threading: a pure function. Errors: none.
#pragma once

#include "swarm/base/result.hpp"

#include <string>

namespace swarm::node {

/// Returns "; " and the question, or nothing where the error itself says what to do. `program`: the
/// command that should run at the address, for example "swarm train".
inline std::string dial_advice(ErrorCode failed, const std::string& program) {
    switch (failed) {
        case ErrorCode::NotFound:
            return "; is the name right, and does this machine have a name server?";
        case ErrorCode::Unreachable:
            return "; is `" + program + "` running there, and is the port right?";
        default:
            return "";  // a process has answered there
    }
}

}  // namespace swarm::node
