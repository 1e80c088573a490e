// The files that the paths of a source stand for: files, globs (* ? [..]), and folders, with all
// that is below them.
// Invariant: the order is that of the paths, and by name below each of them, so it is the same on
// every machine with the same files. No file comes twice.
// Threading: values. Errors (Reject): NotFound (nothing is there), Unsupported (an ending that is
// not read, which the line names), TooLarge; one line each.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/data/data_file.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace swarm::data {

/// Text: a file is a document. Lines: each line is a JSON object with a document. Parquet: each
/// row of a table has a document in a column.
enum class InputFormat { Text, Lines, LinesGzip, LinesZstd, Parquet };

struct InputFile {
    std::filesystem::path path;
    InputFormat format = InputFormat::Text;
    std::uint64_t bytes = 0;
    std::int64_t changed_ns = 0;  // when the content was changed last
};

struct InputFiles {
    std::vector<InputFile> files;
    std::uint64_t ignored = 0;  // files in folders whose ending is not read
};

/// Returns the format that the name of a file stands for.
std::optional<InputFormat> format_of(const std::filesystem::path& path);

/// `folder`: where relative paths begin.
Result<InputFiles> find_input_files(const Source& source, const std::filesystem::path& folder);

}  // namespace swarm::data
