// An error that the server itself answers.
// Invariant: nothing that a client sent comes back in it.
#pragma once

#include "swarm/node/web_error.hpp"

namespace swarm::http {

using Refusal = node::WebError;

}  // namespace swarm::http
