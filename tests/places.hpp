// Where tests find what lies outside their own binary. Only places.cpp is compiled with absolute
// paths, so that a compiler cache filled by one clone serves another clone at another path.
// Threading: pure. Errors: none; the folders are those that CMake was given.
#pragma once

#include <string>

namespace swarm::test {

/// The checkout, without a slash at the end.
std::string source_dir();

/// The folder of the programs swarm and swarm-bench, without a slash at the end.
std::string program_dir();

}  // namespace swarm::test
