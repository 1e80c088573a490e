#include "swarm/cli/answer/text_sources.hpp"

#include "stacking/tokenizers/utf8.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/common/files.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

namespace swarm::cli {
namespace {

namespace fs = std::filesystem;
using stacking::TokenId;
using stacking::tokenizers::ModelTokenizer;
using stacking::tokenizers::SpecialTokens;

constexpr std::uint64_t kSourceBytesMax = 64U << 20;

Error refused_source(ErrorCode code, const fs::path& path, const std::string& why) {
    return {code, Reaction::Reject, path.string() + ": " + why};
}

bool is_hidden(const fs::path& path) {
    return path.filename().string().starts_with(".");
}

/// Appends the files of a folder, which are sorted as whole paths.
Result<> add_folder(const fs::path& folder, std::vector<fs::path>& found) {
    std::error_code error;
    std::vector<fs::path> files;
    fs::recursive_directory_iterator entry(folder, error);
    const fs::recursive_directory_iterator end;
    while (!error && entry != end) {
        const fs::path& path = entry->path();
        std::error_code ignored;  // a name that leads nowhere is no file
        if (is_hidden(path)) {
            entry.disable_recursion_pending();
        } else if (entry->is_regular_file(ignored) && fs::file_size(path, ignored) > 0) {
            files.push_back(path);
        }
        if (found.size() + files.size() > kSourcesMax) {
            return refused_source(
                ErrorCode::TooLarge,
                folder,
                "more than " + std::to_string(kSourcesMax) + " files in all"
            );
        }
        entry.increment(error);
    }
    if (error) {
        return refused_source(ErrorCode::NotFound, folder, "cannot read it: " + error.message());
    }
    if (files.empty()) {
        return refused_source(ErrorCode::NotFound, folder, "no text is in this folder");
    }
    std::ranges::sort(files);
    found.insert(found.end(), files.begin(), files.end());
    return {};
}

/// The tokens that mean a single byte.
class ByteTokens {
 public:
    explicit ByteTokens(const ModelTokenizer& tokenizer) : tokenizer_(tokenizer) {}

    std::optional<TokenId> find(char byte) {
        if (!std::exchange(filled_, true)) {
            fill();
        }
        return ids_[static_cast<unsigned char>(byte)];
    }

 private:
    void fill() {
        for (TokenId id = 0; id < tokenizer_.size(); ++id) {
            const auto bytes = tokenizer_.decode(std::span(&id, 1));
            if (bytes && bytes->size() == 1) {
                std::optional<TokenId>& entry = ids_[static_cast<unsigned char>(bytes->front())];
                entry = entry.value_or(id);
            }
        }
    }

    const ModelTokenizer& tokenizer_;
    std::array<std::optional<TokenId>, 256> ids_{};
    bool filled_ = false;
};

}  // namespace

Result<std::vector<fs::path>> find_sources(const std::vector<std::string>& named) {
    std::vector<fs::path> found;
    for (const std::string& name : named) {
        std::error_code ignored;  // a file that cannot be read says so when it is read
        if (fs::is_directory(name, ignored)) {
            SWARM_TRY(add_folder(name, found));
        } else {
            found.emplace_back(name);
        }
    }
    return found;
}

std::span<const TokenId> tokens_before(const ModelTokenizer& tokenizer) {
    const auto* const bpe = tokenizer.bpe();
    return bpe == nullptr ? std::span<const TokenId>() : bpe->begin_tokens();
}

Result<EncodedText> encode_text(const ModelTokenizer& tokenizer, std::string_view text) {
    EncodedText encoded;
    ByteTokens bytes(tokenizer);
    const bool takes_any_byte = tokenizer.pieces() != nullptr;
    while (!text.empty()) {
        const std::size_t good =
            takes_any_byte ? text.size() : stacking::tokenizers::utf8_prefix(text);
        if (good > 0) {
            const std::string_view part = text.substr(0, good);
            SWARM_TRY(const auto counted, tokenizer.encode_counted(part, SpecialTokens::AsText));
            encoded.tokens.insert(encoded.tokens.end(), counted.ids.begin(), counted.ids.end());
            encoded.lost += counted.lost;
        }
        text.remove_prefix(good);
        if (text.empty()) {
            break;
        }
        if (const auto token = bytes.find(text.front())) {
            encoded.tokens.push_back(*token);
        } else {
            ++encoded.lost;
        }
        text.remove_prefix(1);
    }
    return encoded;
}

Result<TextSource> read_source(const fs::path& file, const ModelTokenizer& tokenizer) {
    SWARM_TRY(std::string text, read_file(file, kSourceBytesMax));
    if (text.empty()) {
        return refused_source(ErrorCode::Mismatch, file, "the text is empty");
    }
    Result<EncodedText> encoded = encode_text(tokenizer, text);
    if (!encoded) {
        return refused_source(encoded.error().code, file, encoded.error().detail);
    }
    if (encoded->tokens.empty()) {
        return refused_source(
            ErrorCode::Mismatch, file, "no byte of the text has a token in this model"
        );
    }
    return TextSource{file.string(), std::move(text), std::move(*encoded)};
}

}  // namespace swarm::cli
