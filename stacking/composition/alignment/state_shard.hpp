// States of a model about texts, in files that go from the host of one member of a chain to that of
// the next one and back: rows behind the last layer of the first member, or targets for them.
// A shard is a safetensors file of two fp32 tensors: "tokens" (N, T + 1), whole numbers, and "rows"
// (N, T, C), row t of which belongs to token t. The manifest, manifest.json, is written last, so a
// folder with it is whole.
// Invariant: what parses has whole sequences, finite rows and ids below 2^24, which fp32 has all.
// Threading: values and pure functions. Errors: Malformed, TooLarge (Reject): one line that names
// the file. Memory: a shard has at most kShardSequences sequences.
#pragma once

#include "stacking/session_compute.hpp"
#include "swarm/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stacking::composition {

inline constexpr std::uint32_t kShardSequences = 64;
inline constexpr std::uint64_t kShardBytesMax = 1ULL << 32;
inline constexpr std::uint64_t kManifestBytesMax = 1ULL << 20;
inline constexpr std::uint32_t kShardsMax = 1'000'000;

struct StateShard {
    std::uint32_t context = 0;  // T
    std::uint32_t width = 0;    // C
    std::vector<TokenId> tokens{};
    std::vector<float> rows{};

    [[nodiscard]] std::uint32_t sequences() const {
        return static_cast<std::uint32_t>(tokens.size() / (std::size_t{context} + 1));
    }

    friend bool operator==(const StateShard&, const StateShard&) = default;
};

std::vector<std::byte> to_file(const StateShard& shard);
/// `name`: the file's, for errors.
swarm::Result<StateShard> parse_shard(std::span<const std::byte> file, const std::string& name);

/// "shard-000007.safetensors".
std::string shard_name(std::uint32_t number);

enum class StateKind : std::uint8_t { States, Targets };

struct StateManifest {
    StateKind kind = StateKind::States;
    std::uint32_t context = 0;
    std::uint32_t width = 0;
    std::uint32_t vocabulary = 0;
    std::uint32_t batch = 0;  // each shard has a multiple of so many sequences
    std::uint32_t shards = 0;
    /// The beginning of the first text, in UTF-8, and its tokens: a model with another tokenizer
    /// gives it other ones.
    std::string sample{};
    std::vector<TokenId> sample_tokens{};

    friend bool operator==(const StateManifest&, const StateManifest&) = default;
};

inline constexpr const char* kManifestName = "manifest.json";

std::string to_json(const StateManifest& manifest);
/// `name`: the file's, for errors.
swarm::Result<StateManifest> parse_state_manifest(std::string_view json, const std::string& name);

}  // namespace stacking::composition
