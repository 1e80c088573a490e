// The errors of templates. The evaluator puts the line of the template in front of them.
#pragma once

#include "swarm/base/result.hpp"

#include <string>
#include <utility>

namespace stacking::tokenizers::jinja {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;

/// The template does what its language forbids.
inline Error failure(std::string what) {
    return {ErrorCode::Malformed, Reaction::Reject, std::move(what)};
}

/// The template uses a part of Jinja that is not known here.
inline Error unknown_part(std::string what) {
    return {ErrorCode::Unsupported, Reaction::Reject, std::move(what)};
}

/// A bound of limits.hpp is passed.
inline Error beyond_bound(std::string what) {
    return {ErrorCode::TooLarge, Reaction::Reject, std::move(what)};
}

/// The template called raise_exception(); `message` is what it says to the user.
inline Error raised_by_template(std::string message) {
    return {ErrorCode::Mismatch, Reaction::Reject, std::move(message)};
}

}  // namespace stacking::tokenizers::jinja
