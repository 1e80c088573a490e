// The target of a request line, taken apart: /v1/models?limit=1, or the same after http://host.
// Invariant: the path begins with '/' and is decoded once. It is UTF-8 without control characters,
// and no segment of it is "." or "..", also none that was written with percent signs.
// Threading: any. Errors: Malformed (Reject).
#pragma once

#include "swarm/base/result.hpp"

#include <string>
#include <string_view>

namespace swarm::http {

struct Target {
    std::string path;
    std::string query;  // it is not decoded, and lacks the '?'
};

Result<Target> parse_target(std::string_view text);

}  // namespace swarm::http
