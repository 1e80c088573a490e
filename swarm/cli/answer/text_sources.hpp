// The texts of --text whose tokens are scored: the files that are named, and those in folders that
// are named; and a text as tokens.
// Threading: none. Errors: NotFound, TooLarge, Mismatch (a text without tokens), those of the
// tokenizer; Reject: one line that names the file.
#pragma once

#include "stacking/session_compute.hpp"
#include "stacking/tokenizers/model_tokenizer.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace swarm::cli {

/// Tokens of a window of a text, unless the model's context is less or somebody wants others.
inline constexpr std::uint32_t kUsualContext = 1024;

/// Maximum files of all folders together.
inline constexpr std::size_t kSourcesMax = 10'000;

/// Returns the files in the order of `named`, those of a folder and the folders in it by name.
/// Hidden files and empty ones in folders are left out.
Result<std::vector<std::filesystem::path>> find_sources(const std::vector<std::string>& named);

/// Returns the tokens that belong before each text.
std::span<const stacking::TokenId> tokens_before(
    const stacking::tokenizers::ModelTokenizer& tokenizer
);

struct EncodedText {
    std::vector<stacking::TokenId> tokens;  // without those that stand before a text
    std::size_t lost = 0;                   // characters or bytes that have no token
};

/// A byte that is no UTF-8 becomes the token of that byte where the tokenizer has one, and is lost
/// where it has none.
Result<EncodedText> encode_text(
    const stacking::tokenizers::ModelTokenizer& tokenizer, std::string_view text
);

struct TextSource {
    std::string name;
    std::string text;
    EncodedText encoded;
};

/// Returns a text of at least one token.
Result<TextSource> read_source(
    const std::filesystem::path& file, const stacking::tokenizers::ModelTokenizer& tokenizer
);

}  // namespace swarm::cli
