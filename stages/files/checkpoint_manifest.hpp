// The manifest.json of a checkpoint: {"sha256": <SHA-256 of the serialised body>, "body": {...}}.
// checkpoint.hpp uses it, and stacking/models/run_checkpoint, which reads weights without moments.
// Threading: pure functions. Errors: Malformed (Reject): the checkpoint is passed over.
#pragma once

#include "swarm/base/digest.hpp"
#include "swarm/base/ids.hpp"
#include "swarm/base/result.hpp"
#include "swarm/protocol/limits.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stages {

/// File name of the manifest, whose presence says that the checkpoint was finished.
inline constexpr const char* kManifestFile = "manifest.json";
/// File names of the run's tokenizer where tokens are not bytes, here and in the run's folder: of
/// SentencePiece, and of any other one.
inline constexpr const char* kTokenizerFile = "tokenizer.model";
inline constexpr const char* kTokenizerJsonFile = "tokenizer.json";
inline constexpr std::size_t kTokenizerBytesMax = swarm::protocol::kTokenizerBytesMax;

struct CheckpointManifest {
    struct File {
        std::string name;  // plain name: no folder, no leading dot
        std::uint64_t bytes = 0;
        std::string sha256;
    };

    swarm::ParameterVersion version;
    std::string run_file;
    std::vector<File> files;
};

/// Which of the two names a tokenizer with these bytes has.
const char* tokenizer_file_name(std::string_view bytes);
bool is_tokenizer_file(std::string_view name);

std::string to_json(const CheckpointManifest& manifest);
swarm::Result<CheckpointManifest> parse_manifest(std::string_view text);

}  // namespace stages
