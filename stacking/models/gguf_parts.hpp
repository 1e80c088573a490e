// A GGUF model in several files, NAME-00001-of-00005.gguf, as one header over all of them. Each
// part has the keys split.no and split.count, and the table of its own tensors; the first has all
// other metadata and split.tensors.count.
// Invariant: all parts are there and say their place; no tensor comes twice; every tensor lies in
// its file. A file that is no part is a model of one.
// Threading: one thread. Errors: those of the headers; NotFound names a part that is missing;
// Malformed: a part of another model, or in another place; TooLarge: more than kModelFilesMax
// parts. All are Reject. Cost: reads the headers only.
// Source: llama.cpp/tools/gguf-split; the code is own.
#pragma once

#include "stacking/models/gguf_header.hpp"
#include "stacking/models/model_source.hpp"

#include <filesystem>
#include <vector>

namespace stacking::models {

struct GgufParts {
    ModelSource::Files files;  // in the order of the parts
    GgufHeader header;         // metadata of the first part, tensors of all
};

/// `path`: any part; `file` is its bytes.
swarm::Result<GgufParts> read_gguf_parts(
    const std::filesystem::path& path, std::unique_ptr<ByteSource> file
);

/// Returns the path of the first part when the name is that of a part, else `path`.
std::filesystem::path first_gguf_part(const std::filesystem::path& path);

/// Returns the paths of all parts, in their order, as the name of one says; else `path` alone.
std::vector<std::filesystem::path> gguf_part_paths(const std::filesystem::path& path);

}  // namespace stacking::models
