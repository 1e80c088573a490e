// manifest.json of a checkpoint: {"sha256": <of the body as serialised>, "body": {…}}.
// For checkpoint, and for who reads weights without moments (stacking/models/run_checkpoint).
// Errors: Malformed (Reject).
#pragma once

#include "swarm/base/digest.hpp"
#include "swarm/base/ids.hpp"
#include "swarm/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stages {

/// The run's tokenizer, where its tokens are not bytes: as it lies in the run's folder.
inline constexpr const char* kTokenizerFile = "tokenizer.model";
inline constexpr std::size_t kTokenizerBytesMax = 8U << 20;

struct CheckpointManifest {
    struct File {
        std::string name;  // plain: no folder, no leading dot
        std::uint64_t bytes = 0;
        std::string sha256;
    };

    swarm::ParameterVersion version;
    std::string run_file;
    std::vector<File> files;
};

std::string to_json(const CheckpointManifest& manifest);
swarm::Result<CheckpointManifest> parse_manifest(std::string_view text);

}  // namespace stages
