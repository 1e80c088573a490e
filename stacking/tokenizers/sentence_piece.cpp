#include "stacking/tokenizers/sentence_piece.hpp"

#include "stacking/tokenizers/utf8.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <optional>
#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>
#include <utility>

namespace stacking::tokenizers {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;

namespace {

/// U+2581, which stands for a space within a piece. So a U+2581 of a text has no piece.
constexpr std::string_view kSpace = "\xE2\x96\x81";

/// Maximum bytes that are encoded or trained on at once, because the library's time is not linear.
constexpr std::size_t kLineBytesMax = 4096;

constexpr std::size_t kBytes = 256;

Error refusal(ErrorCode code, std::string what) {
    return {code, Reaction::Reject, std::move(what)};
}

/// Returns the words of a library's message, which begins with a source line and the failed
/// condition: "(660) [...] words".
std::string words_of(const sentencepiece::util::Status& status) {
    std::string text = status.error_message();
    if (const std::size_t condition = text.rfind("] "); condition != std::string::npos) {
        text.erase(0, condition + 2);
    }
    text.erase(text.find_last_not_of(" \n") + 1);
    return text.empty() ? "the text is too short" : text;
}

/// Whether the library may see the character; any other character becomes the tokens of its bytes.
bool is_plain(std::string_view character, Utf8Kind kind) {
    return kind == Utf8Kind::Whole && static_cast<unsigned char>(character.front()) >= 0x20 &&
           character != kSpace;
}

/// Bytes of the longest plain beginning of `text`, at most kLineBytesMax.
std::size_t plain_prefix(std::string_view text) {
    std::size_t at = 0;
    while (at < text.size()) {
        const Utf8Character next = first_character(text.substr(at));
        if (!is_plain(text.substr(at, next.bytes), next.kind) || at + next.bytes > kLineBytesMax) {
            break;
        }
        at += next.bytes;
    }
    return at;
}

/// Gives the plain parts of a text in order; of a long text only each n-th part.
class PlainParts final : public sentencepiece::SentenceIterator {
 public:
    explicit PlainParts(std::string_view text)
        : rest_(text), every_(1 + text.size() / SentencePiece::kTrainingBytesMax) {
        Next();
    }

    [[nodiscard]] bool done() const override { return done_; }

    void Next() override {
        for (std::size_t i = 0; i < every_ && !done_; ++i) {
            advance();
        }
    }

    [[nodiscard]] const std::string& value() const override { return part_; }

    [[nodiscard]] sentencepiece::util::Status status() const override { return {}; }

 private:
    void advance() {
        std::size_t length = 0;
        while (!rest_.empty() && (length = plain_prefix(rest_)) == 0) {
            rest_.remove_prefix(1);
        }
        part_ = rest_.substr(0, length);
        rest_.remove_prefix(length);
        done_ = part_.empty();
    }

    std::string_view rest_;
    std::size_t every_;
    std::string part_;
    bool done_ = false;
};

/// Trains with options under which the library changes no text and depends on no machine.
sentencepiece::util::Status train_file(
    std::string_view text, std::uint32_t tokens, std::string& file
) {
    PlainParts parts(text);
    return sentencepiece::SentencePieceTrainer::Train(
        {{"model_type", "bpe"},
         {"vocab_size", std::to_string(tokens)},
         {"max_sentence_length", std::to_string(kLineBytesMax)},
         {"byte_fallback", "true"},
         {"character_coverage", "0.9995"},
         {"normalization_rule_name", "identity"},
         {"add_dummy_prefix", "false"},
         {"remove_extra_whitespaces", "false"},
         {"bos_id", "-1"},
         {"eos_id", "-1"},
         {"pad_id", "-1"},
         {"num_threads", "1"},
         {"minloglevel", "3"}},
        &parts,
        &file
    );
}

/// Returns the contents of the fields with one number of a protobuf message, one after another, or
/// nullopt when the bytes are no such message.
std::optional<std::string> field_of(std::string_view message, std::uint64_t wanted) {
    std::string found;
    const auto number = [&]() -> std::optional<std::uint64_t> {
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 64 && !message.empty(); shift += 7) {
            const auto byte = static_cast<unsigned char>(message.front());
            message.remove_prefix(1);
            value |= std::uint64_t{byte & 0x7FU} << shift;
            if (byte < 0x80) {
                return value;
            }
        }
        return std::nullopt;
    };
    while (!message.empty()) {
        const auto key = number();
        const std::uint64_t wire = key.value_or(0) & 7U;
        std::optional<std::uint64_t> length = wire == 1 ? 8 : 4;  // a double, or a float
        if (key && (wire == 0 || wire == 2)) {
            length = number();
        }
        const bool known = wire == 0 || wire == 1 || wire == 2 || wire == 5;
        if (!key || !known || !length || (wire != 0 && *length > message.size())) {
            return std::nullopt;
        }
        if (wire != 0) {
            found += *key >> 3 == wanted ? message.substr(0, *length) : std::string_view();
            message.remove_prefix(*length);
        }
    }
    return found;
}

/// Whether the file may hold a table of characters to replace. The library trusts such a table
/// without a check; our files have none.
bool may_have_characters(std::string_view file) {
    constexpr std::uint64_t kNormalizer = 3;
    constexpr std::uint64_t kDenormalizer = 5;
    constexpr std::uint64_t kCharacters = 2;
    for (const std::uint64_t specification : {kNormalizer, kDenormalizer}) {
        const auto found = field_of(file, specification);
        const auto characters = found ? field_of(*found, kCharacters) : found;
        if (!characters || !characters->empty()) {
            return true;
        }
    }
    return false;
}

std::string piece_bytes(const std::string& piece) {
    std::string bytes;
    for (std::size_t at = 0; at < piece.size();) {
        const bool space = piece.compare(at, kSpace.size(), kSpace) == 0;
        bytes += space ? ' ' : piece[at];
        at += space ? kSpace.size() : 1;
    }
    return bytes;
}

std::string byte_name(std::size_t byte) {
    constexpr const char* kDigits = "0123456789ABCDEF";
    return std::string("<0x") + kDigits[byte >> 4] + kDigits[byte & 15] + ">";
}

}  // namespace

/// A tokenizer.model that the library has loaded, with tables for decoding.
struct SentencePiece::Loaded {
    std::string file;
    sentencepiece::SentencePieceProcessor processor;
    std::vector<std::string> bytes;  // by id; empty for the unknown token
    std::array<std::uint32_t, kBytes> byte_tokens{};

    /// Fills the tables. Returns false when a byte has no token.
    bool add_tokens() {
        const int size = processor.GetPieceSize();
        for (int id = 0; id < size; ++id) {
            const bool piece = !processor.IsUnknown(id) && !processor.IsControl(id);
            bytes.push_back(piece ? piece_bytes(processor.IdToPiece(id)) : "");
        }
        for (std::size_t byte = 0; byte < kBytes; ++byte) {
            const int id = processor.PieceToId(byte_name(byte));
            if (id < 0 || id >= size || !processor.IsByte(id)) {
                return false;
            }
            byte_tokens[byte] = static_cast<std::uint32_t>(id);
            bytes[static_cast<std::size_t>(id)] = std::string(1, static_cast<char>(byte));
        }
        return true;
    }
};

Result<SentencePiece> SentencePiece::train(std::string_view text, std::uint32_t tokens) {
    if (tokens > kTokensMax) {
        return refusal(
            ErrorCode::TooLarge,
            std::to_string(tokens) + " tokens, more than " + std::to_string(kTokensMax)
        );
    }
    std::string file;
    try {
        const auto status = train_file(text, tokens, file);
        if (!status.ok()) {
            return refusal(
                ErrorCode::Mismatch,
                "the text gives no " + std::to_string(tokens) + " tokens: " + words_of(status)
            );
        }
    } catch (const std::exception& error) {
        return refusal(ErrorCode::Mismatch, std::string("no tokenizer: ") + error.what());
    }
    return parse(std::move(file));
}

Result<SentencePiece> SentencePiece::parse(std::string file) {
    if (file.size() > kFileBytesMax) {
        return refusal(
            ErrorCode::TooLarge,
            "a tokenizer of " + std::to_string(file.size()) + " bytes, more than " +
                std::to_string(kFileBytesMax)
        );
    }
    if (may_have_characters(file)) {
        return refusal(ErrorCode::Malformed, "no tokenizer of SentencePiece, or none of ours");
    }
    const auto loaded = std::make_shared<Loaded>();
    try {
        if (!loaded->processor.LoadFromSerializedProto(file).ok()) {
            return refusal(ErrorCode::Malformed, "no tokenizer of SentencePiece");
        }
        const int size = loaded->processor.GetPieceSize();
        if (size < 0 || static_cast<std::uint32_t>(size) > kTokensMax || !loaded->add_tokens()) {
            return refusal(
                ErrorCode::Unsupported, "a tokenizer of SentencePiece without a token for each byte"
            );
        }
    } catch (const std::exception&) {
        return refusal(ErrorCode::Malformed, "no tokenizer of SentencePiece");
    }
    loaded->file = std::move(file);
    SentencePiece made(loaded);
    // Other tokenizers add a space at the beginning, fold spaces, or normalise letters.
    constexpr std::string_view kProbe = "a  b \xEF\xAC\x81 ";
    const auto ids = made.encode(kProbe);
    const auto back = ids.has_value() ? made.decode(*ids) : Result<std::string>(ids.error());
    if (back.has_error() || *back != kProbe) {
        return refusal(
            ErrorCode::Unsupported,
            "a tokenizer of SentencePiece that changes texts: no run of ours has trained it"
        );
    }
    return made;
}

Result<std::vector<std::uint32_t>> SentencePiece::encode(std::string_view text) const {
    std::vector<std::uint32_t> ids;
    std::vector<int> part;
    while (!text.empty()) {
        const std::size_t plain = plain_prefix(text);
        if (plain == 0) {
            ids.push_back(loaded_->byte_tokens[static_cast<unsigned char>(text.front())]);
            text.remove_prefix(1);
            continue;
        }
        part.clear();
        bool encoded = false;
        try {
            encoded = loaded_->processor.Encode(text.substr(0, plain), &part).ok();
        } catch (const std::exception&) {
            encoded = false;
        }
        if (!encoded) {
            return refusal(ErrorCode::Malformed, "the tokenizer cannot encode the text");
        }
        for (const int id : part) {
            ids.push_back(static_cast<std::uint32_t>(id));
        }
        text.remove_prefix(plain);
    }
    return ids;
}

Result<std::string> SentencePiece::decode(std::span<const std::uint32_t> ids) const {
    std::string text;
    for (const std::uint32_t id : ids) {
        if (id >= loaded_->bytes.size()) {
            return refusal(
                ErrorCode::Mismatch,
                "token " + std::to_string(id) + " is not below the tokenizer's " +
                    std::to_string(loaded_->bytes.size())
            );
        }
        text += loaded_->bytes[id];
    }
    return text;
}

std::uint32_t SentencePiece::size() const {
    return static_cast<std::uint32_t>(loaded_->bytes.size());
}

const std::string& SentencePiece::file() const {
    return loaded_->file;
}

swarm::Digest SentencePiece::sha256() const {
    return swarm::sha256(std::as_bytes(std::span(loaded_->file)));
}

}  // namespace stacking::tokenizers
