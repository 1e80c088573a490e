// The manifest of a built folder, manifest.json: it is written last, so a folder with it is whole.
// Its SHA-256 names the data: it holds the SHA-256 of each shard.
// Threading: values. Errors: Malformed, TooLarge, NotFound (the build has not ended), Reject.
#pragma once

#include "swarm/base/digest.hpp"
#include "swarm/base/result.hpp"
#include "swarm/data/data_file.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace swarm::data {

inline constexpr const char* kManifestName = "manifest.json";

struct ManifestSource {
    std::string name;
    std::optional<double> weight{};
    std::uint64_t tokens = 0;
    std::uint64_t documents = 0;
    std::uint64_t text_bytes = 0;
    std::uint64_t bad_lines = 0;
    std::vector<Digest> shards;  // in their order
    std::uint64_t no_loss_tokens = 0;  // those with kNoLossFlag; 0: the source has no chats
    bool has_inner_ends = false;       // a document has the end token before its end, too

    friend bool operator==(const ManifestSource&, const ManifestSource&) = default;
};

struct Manifest {
    std::string tokenizer;  // text of the data file
    Digest tokenizer_digest{};
    std::uint32_t vocabulary = 0;
    std::uint32_t end_token = 0;
    std::vector<ManifestSource> sources;

    friend bool operator==(const Manifest&, const Manifest&) = default;
};

std::string to_json(const Manifest& manifest);
Result<Manifest> parse_manifest(std::string_view json);

/// The file's text, for its digest, and what it says.
struct ReadManifest {
    Manifest manifest;
    Digest digest{};
};

Result<ReadManifest> read_manifest(const std::filesystem::path& folder);

}  // namespace swarm::data
