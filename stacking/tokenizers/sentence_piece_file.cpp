#include "stacking/tokenizers/sentence_piece_file.hpp"

#include "stacking/tokenizers/gguf_chains.hpp"
#include "stacking/tokenizers/tokenizer_json.hpp"
#include "stacking/tokenizers/utf8.hpp"
#include "swarm/base/try.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stacking::tokenizers {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;

namespace {

Error bad_file(ErrorCode code, const std::string& what) {
    return {code, Reaction::Reject, "tokenizer.model: " + what};
}

Error damaged() {
    return bad_file(ErrorCode::Malformed, "no tokenizer of SentencePiece");
}

/// One field of a protobuf message.
struct Field {
    std::uint64_t number = 0;
    std::uint64_t value = 0;  // a number, or the bits of a float
    std::string_view bytes;   // a text or a message
};

/// Reads the fields of a message, one after another.
class Message {
 public:
    explicit Message(std::string_view bytes) : rest_(bytes) {}

    [[nodiscard]] bool is_at_end() const { return rest_.empty(); }

    /// Returns nullopt when the bytes are no field.
    std::optional<Field> next() {
        const auto key = number();
        if (!key) {
            return std::nullopt;
        }
        Field field{*key >> 3U, 0, {}};
        switch (*key & 7U) {
            case 0: {
                const auto value = number();
                field.value = value.value_or(0);
                return value ? std::optional(field) : std::nullopt;
            }
            case 1:
                return take(8) ? std::optional(field) : std::nullopt;
            case 2: {
                const auto length = number();
                const auto bytes = length ? take(*length) : std::nullopt;
                field.bytes = bytes.value_or(std::string_view());
                return bytes ? std::optional(field) : std::nullopt;
            }
            case 5: {
                const auto bytes = take(4);
                if (!bytes) {
                    return std::nullopt;
                }
                for (unsigned i = 0; i < 4; ++i) {
                    field.value |= std::uint64_t{static_cast<unsigned char>((*bytes)[i])}
                                   << (8 * i);
                }
                return field;
            }
            default:
                return std::nullopt;
        }
    }

 private:
    std::optional<std::uint64_t> number() {
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
            const auto byte = static_cast<unsigned char>(rest_.front());
            rest_.remove_prefix(1);
            value |= std::uint64_t{byte & 0x7FU} << shift;
            if (byte < 0x80) {
                return value;
            }
        }
        return std::nullopt;
    }

    std::optional<std::string_view> take(std::uint64_t length) {
        if (length > rest_.size()) {
            return std::nullopt;
        }
        const std::string_view taken = rest_.substr(0, length);
        rest_.remove_prefix(length);
        return taken;
    }

    std::string_view rest_;
};

float to_float(std::uint64_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}

/// Numbers of the file's grammar.
enum class PieceType : std::uint64_t {
    Normal = 1,
    Unknown = 2,
    Control = 3,
    UserDefined = 4,
    Unused = 5,
    Byte = 6
};

constexpr std::uint64_t kBpe = 2;

/// Settings that say what happens to a text.
struct Settings {
    std::uint64_t model = 1;  // the file's default: Unigram
    bool byte_fallback = false;
    bool space_prefix = true;
    bool folds_spaces = true;
    bool escapes_spaces = true;
    bool spaces_after = false;
    bool replaces_characters = false;
    std::optional<std::uint32_t> begin = 1;
    std::optional<std::uint32_t> end = 2;
};

/// Reads an id, where -1 says that there is no such token.
std::optional<std::uint32_t> to_token(std::uint64_t value) {
    return value < kTokensMax ? std::optional(static_cast<std::uint32_t>(value)) : std::nullopt;
}

bool read_trainer(std::string_view bytes, Settings& settings) {
    Message message(bytes);
    while (!message.is_at_end()) {
        const auto field = message.next();
        if (!field) {
            return false;
        }
        switch (field->number) {
            case 3:
                settings.model = field->value;
                break;
            case 24:
                settings.spaces_after = field->value != 0;
                break;
            case 35:
                settings.byte_fallback = field->value != 0;
                break;
            case 41:
                settings.begin = to_token(field->value);
                break;
            case 42:
                settings.end = to_token(field->value);
                break;
            default:
                break;
        }
    }
    return true;
}

bool read_normalizer_settings(std::string_view bytes, Settings& settings) {
    Message message(bytes);
    while (!message.is_at_end()) {
        const auto field = message.next();
        if (!field) {
            return false;
        }
        switch (field->number) {
            case 2:
                settings.replaces_characters = !field->bytes.empty();
                break;
            case 3:
                settings.space_prefix = field->value != 0;
                break;
            case 4:
                settings.folds_spaces = field->value != 0;
                break;
            case 5:
                settings.escapes_spaces = field->value != 0;
                break;
            default:
                break;
        }
    }
    return true;
}

struct Piece {
    std::string text;
    float score = 0;
    PieceType type = PieceType::Normal;
};

std::optional<Piece> read_piece(std::string_view bytes) {
    Piece piece;
    Message message(bytes);
    while (!message.is_at_end()) {
        const auto field = message.next();
        if (!field) {
            return std::nullopt;
        }
        if (field->number == 1) {
            piece.text = field->bytes;
        } else if (field->number == 2) {
            piece.score = to_float(field->value);
        } else if (field->number == 3) {
            piece.type = static_cast<PieceType>(field->value);
        }
    }
    return utf8_prefix(piece.text) == piece.text.size() ? std::optional(piece) : std::nullopt;
}

/// Adds a piece by its type. A piece that merges never make gets no score.
Result<> add_piece(Piece piece, Vocabulary& vocabulary) {
    const auto id = static_cast<std::uint32_t>(vocabulary.tokens.size());
    if (id == kTokensMax) {
        return bad_file(ErrorCode::TooLarge, "too many pieces");
    }
    if (!std::isfinite(piece.score)) {
        return bad_file(ErrorCode::NotFinite, "the score of a piece is no number");
    }
    switch (piece.type) {
        case PieceType::Normal:
            break;
        case PieceType::UserDefined:
            vocabulary.added_tokens.push_back({id});
            break;
        case PieceType::Unknown:
        case PieceType::Control:
            if (piece.type == PieceType::Unknown) {
                vocabulary.unknown = id;
            }
            vocabulary.special_tokens.push_back(id);
            piece.score = kNoScore;
            break;
        case PieceType::Byte:
            piece.score = kNoScore;
            break;
        default:
            return bad_file(ErrorCode::Unsupported, "a piece is of a type that is not known here");
    }
    vocabulary.tokens.push_back(std::move(piece.text));
    vocabulary.scores.push_back(piece.score);
    return {};
}

Result<> check(const Settings& settings) {
    struct Rule {
        bool broken;
        const char* what;
    };

    const Rule rules[] = {
        {settings.model != kBpe, "its model is not BPE"},
        {settings.replaces_characters, "it replaces characters by a table"},
        {settings.folds_spaces, "it folds spaces"},
        {!settings.escapes_spaces, "it does not write spaces as U+2581"},
        {settings.spaces_after, "it writes spaces after words"},
    };
    for (const Rule& rule : rules) {
        if (rule.broken) {
            return bad_file(
                ErrorCode::Unsupported, std::string(rule.what) + ", which is not known here"
            );
        }
    }
    return {};
}

}  // namespace

bool has_control_tokens(std::string_view file) {
    Message message(file);
    while (!message.is_at_end()) {
        const auto field = message.next();
        const auto piece =
            field && field->number == 1 ? read_piece(field->bytes) : std::optional<Piece>();
        if (!field) {
            return false;
        }
        if (piece && piece->type == PieceType::Control) {
            return true;
        }
    }
    return false;
}

Result<Vocabulary> read_sentence_piece_file(std::string_view file, TokensAround around) {
    Vocabulary vocabulary;
    Settings settings;
    Message message(file);
    while (!message.is_at_end()) {
        const auto field = message.next();
        if (!field || (field->number == 2 && !read_trainer(field->bytes, settings)) ||
            (field->number == 3 && !read_normalizer_settings(field->bytes, settings))) {
            return damaged();
        }
        if (field->number == 1) {
            auto piece = read_piece(field->bytes);
            if (!piece) {
                return damaged();
            }
            SWARM_TRY(add_piece(std::move(*piece), vocabulary));
        }
    }
    SWARM_TRY(check(settings));
    vocabulary.byte_fallback = settings.byte_fallback;
    vocabulary.unknowns_merge = true;
    vocabulary.parts = sentence_piece_parts(settings.space_prefix);
    const auto tokens_of = [&](const std::optional<std::uint32_t>& id, bool wanted) {
        const bool there = wanted && id && *id < vocabulary.tokens.size();
        return there ? std::vector<std::uint32_t>{*id} : std::vector<std::uint32_t>();
    };
    vocabulary.parts.post_processor = make_template(
        vocabulary, tokens_of(settings.begin, around.begin), tokens_of(settings.end, around.end)
    );
    return vocabulary;
}

}  // namespace stacking::tokenizers
