// Builds a folder of shards from the sources of a data file.
//   build.json           what is built from what: written first, so that another build is refused
//   SOURCE-000000.shard  whole shards, each written durably
//   tokenizer            the file of the tokenizer, where it has one
//   manifest.json        written last: with it the folder is whole
// Invariant: the folder's bytes are a function of inputs, settings and encoder. A build that was
// killed or stopped goes on behind its last whole shard, and no document is lost or comes twice.
// Threading: one thread; one build per folder at a time (flock). Memory: below 300 MB, the encoder
// apart. Errors: Usage, Mismatch (the folder is another build's), Malformed (a bad line of a source
// with bad_lines = "fatal", or a source without documents; Reject), StorageFailed (Fatal).
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/data/data_file.hpp"
#include "swarm/data/document_reader.hpp"
#include "swarm/data/encoder.hpp"
#include "swarm/data/manifest.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace swarm::data {

/// The tokenizer of a built folder.
inline constexpr const char* kTokenizerName = "tokenizer";

struct BuildProgress {
    std::string source;
    std::uint64_t bytes = 0;  // read from the files of all sources, packed as they are
    std::uint64_t bytes_total = 0;
    std::uint64_t tokens = 0;     // made of all sources
    std::uint64_t documents = 0;  // begun in all sources
};

/// Calls by which a build tells how it goes. Each may be empty.
struct BuildEvents {
    /// Comes after each piece of text and each bad line; must be quick.
    std::function<void(const BuildProgress&)> progress{};
    std::function<void(const std::string& source, const BadLine&)> skipped{};
    std::function<void(const std::string& what)> note{};
    /// Ends the build behind the last whole shard.
    std::function<bool()> is_to_stop{};
};

struct BuildPlace {
    std::filesystem::path inputs;  // where relative paths of sources begin
    std::filesystem::path folder;  // where the shards are written
};

struct Built {
    bool is_whole = false;         // false: it was stopped
    Manifest manifest{};           // describes the whole folder
    Digest digest{};               // SHA-256 of manifest.json
    std::uint64_t new_shards = 0;  // written by this call
};

Result<Built> build_data(
    const DataFile& data, const Encoder& encoder, const BuildPlace& place, const BuildEvents& events
);

}  // namespace swarm::data
