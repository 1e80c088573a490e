// The error of a command line, or of a file that a person wrote, which asks for what cannot be.
#pragma once

#include "swarm/base/result.hpp"

#include <string>
#include <utility>

namespace swarm::cli {

inline Error usage(std::string what) {
    return {ErrorCode::Usage, Reaction::Reject, std::move(what)};
}

}  // namespace swarm::cli
