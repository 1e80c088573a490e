// The error of a file or folder that could not be written: its name, the reason that the system
// gave, and the advice that fits the reason.
// Threading: pure functions. Errors: none.
#pragma once

#include "swarm/base/result.hpp"

#include <filesystem>
#include <string>

namespace swarm {

/// Returns what to do after this error of the system (errno), for example "make room there".
/// `elsewhere`: how another place is named, for example "name another file".
std::string advice_after(int code, const std::string& elsewhere);

/// StorageFailed, Fatal: "cannot write PATH: REASON; ADVICE". `code`: errno; 0: not known.
Error write_error(
    const std::filesystem::path& path, int code, const std::string& elsewhere = "name another place"
);

}  // namespace swarm
