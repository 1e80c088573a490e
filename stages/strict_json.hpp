// JSON as our files have it: Boost.JSON, and besides, a key twice in one object is an error (the
// library would keep the last one), as is anything deeper than 16 levels.
// Errors: Malformed (Reject).
#pragma once

#include "swarm/base/result.hpp"

#include <boost/json/value.hpp>

#include <string_view>

namespace stages {

swarm::Result<boost::json::value> parse_strict_json(std::string_view text);

}  // namespace stages
