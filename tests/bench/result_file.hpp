// Writes what a bench has measured.
// Errors: Usage, one line; an empty name is no file and no error.
#pragma once

#include "swarm/base/result.hpp"

#include <boost/json/object.hpp>

#include <string>

namespace swarm::bench {

Result<> write_text(const std::string& file, const std::string& text);
Result<> write_json(const std::string& file, const boost::json::object& report);

}  // namespace swarm::bench
