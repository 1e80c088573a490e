// A sample of the texts of a data file, on which a tokenizer is trained.
// Invariant: a function of the data file and its inputs. Each source gives an equal share, from its
// beginning. Bad lines are left out; the build judges them.
// Threading: pure function. Errors: those of find_input_files() and DocumentReader.
// Memory: bytes_max, and that of a DocumentReader.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/data/data_file.hpp"

#include <cstddef>
#include <filesystem>
#include <string>

namespace swarm::data {

/// Returns documents, each with a line feed behind it; the last of a source may be cut.
Result<std::string> text_sample(
    const DataFile& data, const std::filesystem::path& folder, std::size_t bytes_max
);

}  // namespace swarm::data
