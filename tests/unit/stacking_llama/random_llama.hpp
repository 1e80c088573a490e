// A small Llama with random weights whose sizes fit no vector, panel, group or page: width 72, 6
// heads of 12, 2 key/value heads, feed-forward width 100, vocabulary 130, 5 layers, 200 positions.
// The class Stages runs all its stages one after the other in one process.
#pragma once

#include "stacking/llama/llama_sessions.hpp"
#include "stacking/models/model_source.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace stacking::llama::test {

inline constexpr std::uint32_t kLayers = 5;
inline constexpr std::uint32_t kWidth = 72;
inline constexpr std::uint32_t kVocabulary = 130;
inline constexpr std::uint32_t kContext = 200;

enum class Head { Tied, Own };

/// `spoiled`: name of a GGUF tensor whose first value becomes NaN.
models::ModelSource random_llama(Head head, const std::string& spoiled = "");

/// Writes the file of random_llama(Head::Own), and opens it.
models::ModelSource open_file_of(const std::filesystem::path& path);

/// A mixture of four experts, of which each token goes to two.
models::ModelSource random_mixture();

/// Returns the token at a position of the session with this number.
TokenId token_of(std::uint64_t session, std::uint32_t position);

class Stages {
 public:
    Stages(
        const models::ModelSource& model,
        std::uint32_t stages,
        WeightChoice choice,
        const LlamaSessions::Options& options = {}
    );

    void reserve(CacheId cache, std::uint32_t positions);
    void truncate(CacheId cache, std::uint32_t positions);

    /// Computes the logits of every row; the tokens are token_of(cache, position).
    std::vector<float> logits(std::span<const SessionRow> rows);

    /// Reads the next `count` positions of a session in calls of at most `chunk` rows, and returns
    /// the logits of all positions.
    std::vector<float> prefill(
        CacheId cache, std::uint32_t from, std::uint32_t count, std::uint32_t chunk
    );

    [[nodiscard]] LlamaSessions& stage(std::size_t index) { return *stages_[index]; }

 private:
    std::vector<std::unique_ptr<LlamaSessions>> stages_;
};

}  // namespace stacking::llama::test
