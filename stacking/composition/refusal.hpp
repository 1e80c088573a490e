// The error of an input that this folder refuses; the caller names the file or the member.
#pragma once

#include "swarm/base/result.hpp"

#include <string>
#include <utility>

namespace stacking::composition {

inline swarm::Error refusal(swarm::ErrorCode code, std::string what) {
    return {code, swarm::Reaction::Reject, std::move(what)};
}

}  // namespace stacking::composition
