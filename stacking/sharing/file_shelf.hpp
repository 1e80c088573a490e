// The seam to the files that a server gives to others, and the names of their manifest.
// Threading: the functions run as jobs of the device, one at a time.
#pragma once

#include "swarm/base/digest.hpp"
#include "swarm/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace stacking::sharing {

struct ManifestName {
    swarm::Digest digest;
    std::uint32_t bytes = 0;   // size of the manifest
    std::uint32_t chunks = 0;  // number of chunks of all files
};

struct FileShelf {
    /// Does the next piece of the work that makes the manifest; nothing: there is more to do.
    std::function<swarm::Result<std::optional<ManifestName>>()> prepare;
    /// Reads a chunk of the files or of the manifest, in whole.
    std::function<swarm::Result<std::vector<std::byte>>(bool of_manifest, std::uint32_t chunk)>
        read;
};

}  // namespace stacking::sharing
