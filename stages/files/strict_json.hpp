// Strict JSON for our files. It is Boost.JSON with two more rules: a key that comes twice in one
// object is an error (the library would keep the last one), and so is a depth of more than 16
// levels.
// Threading: a pure function. Errors: Malformed (Reject): the file is damaged or not ours.
#pragma once

#include "swarm/base/result.hpp"

#include <boost/json/value.hpp>

#include <string_view>

namespace stages {

swarm::Result<boost::json::value> parse_strict_json(std::string_view text);

}  // namespace stages
