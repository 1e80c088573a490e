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

/// Makes a folder and those above it; success where it exists, and for an empty path. The error is
/// that of the folder, which a later attempt at a file in it would hide.
Result<> make_folder(
    const std::filesystem::path& folder, const std::string& elsewhere = "name another place"
);

/// Makes the folder in which a file is to be written.
Result<> make_folder_of(
    const std::filesystem::path& file, const std::string& elsewhere = "name another place"
);

}  // namespace swarm
