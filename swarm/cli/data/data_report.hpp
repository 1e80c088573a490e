// The reports of `swarm data`: what a folder holds, and samples of it, as text and as JSON.
// Threading: pure functions. Errors: none.
#pragma once

#include "swarm/base/digest.hpp"
#include "swarm/data/build.hpp"
#include "swarm/data/manifest.hpp"
#include "swarm/data/samples.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace swarm::cli {

std::string data_text(const data::Manifest& manifest, const Digest& digest);
std::string data_json(const data::Manifest& manifest, const Digest& digest);

struct ShownSample {
    std::uint64_t number = 0;
    std::string source;
    data::SamplePlace place{};
    std::vector<std::uint32_t> ids{};  // some with kNoLossFlag
    std::string text{};
};

std::string samples_text(std::span<const ShownSample> samples);
std::string samples_json(std::span<const ShownSample> samples);

/// "prose: 123 of 456 MB, 12.3 MB/s, 30.1 M tokens, ETA 0:27". `bytes_before`: those that an
/// earlier process had read; `seconds`: since this one began.
std::string build_line(
    const data::BuildProgress& progress, std::uint64_t bytes_before, double seconds
);

}  // namespace swarm::cli
