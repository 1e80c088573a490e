#include "stacking/tokenizers/chain/pattern_syntax.hpp"

#include "swarm/base/try.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace stacking::tokenizers {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;

namespace {

/// Unicode's White_Space, as items of a character class. PCRE2's \s has U+180E, too.
constexpr std::string_view kWhiteSpace =
    "\\x{9}-\\x{d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}"
    "\\x{205f}\\x{3000}";

constexpr std::array<std::string_view, 8> kGroups = {
    "(?:", "(?i:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "("};

constexpr std::array<std::string_view, 38> kProperties = {
    "C",  "Cc", "Cf", "Cn", "Co", "Han", "L",  "Ll", "Lm", "Lo", "Lt", "Lu",      "M",
    "Mc", "Me", "Mn", "N",  "Nd", "Nl",  "No", "P",  "Pc", "Pd", "Pe", "Pf",      "Pi",
    "Po", "Ps", "S",  "Sc", "Sk", "Sm",  "So", "Z",  "Zl", "Zp", "Zs", "Hiragana"};

bool is_digit(char letter) {
    return letter >= '0' && letter <= '9';
}

bool is_hex(char letter) {
    return is_digit(letter) || (letter >= 'a' && letter <= 'f') || (letter >= 'A' && letter <= 'F');
}

bool is_ascii_sign(char letter) {
    const auto byte = static_cast<unsigned char>(letter);
    const bool letter_or_digit =
        is_digit(letter) || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
    return byte > 0x20 && byte < 0x7F && !letter_or_digit;
}

class Translation {
 public:
    explicit Translation(std::string_view pattern) : rest_(pattern) {}

    Result<std::string> run() {
        while (!rest_.empty()) {
            SWARM_TRY(take_item());
        }
        return std::move(out_);
    }

 private:
    enum class Place { Outside, InClass };

    [[nodiscard]] static Error unknown(std::string_view what) {
        return {
            ErrorCode::Unsupported,
            Reaction::Reject,
            "a regular expression has \"" + std::string(what) + "\", which is not known here"};
    }

    void copy(std::size_t bytes) {
        out_ += rest_.substr(0, bytes);
        rest_.remove_prefix(bytes);
    }

    Result<> take_item() {
        const char first = rest_.front();
        switch (first) {
            case '\\':
                return take_escape(Place::Outside);
            case '[':
                return take_class();
            case '(':
                return take_group();
            case '{':
                return take_count();
            case '^':
            case ']':
            case '}':
                return unknown(rest_.substr(0, 1));
            default:
                copy(1);
                return {};
        }
    }

    Result<> take_group() {
        for (const std::string_view group : kGroups) {
            if (rest_.starts_with(group) && (group.size() > 1 || !rest_.starts_with("(?")) &&
                !rest_.starts_with("(*")) {
                copy(group.size());
                return {};
            }
        }
        return unknown(rest_.substr(0, 4));
    }

    /// Takes {n}, {n,} or {n,m}. What may follow each of them differs between the libraries.
    Result<> take_count() {
        const std::size_t end = rest_.find('}');
        const std::string_view inside = rest_.substr(1, end == rest_.npos ? 0 : end - 1);
        const bool known = !inside.empty() && is_digit(inside.front()) &&
                           std::count(inside.begin(), inside.end(), ',') <= 1 &&
                           std::all_of(inside.begin(), inside.end(), [](char letter) {
                               return is_digit(letter) || letter == ',';
                           });
        const char after = known && end + 1 < rest_.size() ? rest_[end + 1] : ' ';
        const bool is_range = inside.find(',') != inside.npos;
        if (!known || after == '+' || (after == '?' && !is_range)) {
            return unknown(rest_.substr(0, 8));
        }
        copy(end + 1);
        return {};
    }

    /// Whether a text begins with an escape that stands for several characters.
    static bool is_set(std::string_view text) {
        return text.size() > 1 && text[0] == '\\' &&
               std::string_view("sSdDpP").find(text[1]) != std::string_view::npos;
    }

    Result<> take_class() {
        copy(rest_.starts_with("[^") ? 2 : 1);
        const std::size_t begin = out_.size();
        while (!rest_.empty() && rest_.front() != ']') {
            // The libraries read a hyphen beside a set in different ways.
            if (rest_.front() == '[' || rest_.starts_with("&&") ||
                (rest_.front() == '-' && out_.size() > begin && is_set(rest_.substr(1)))) {
                return unknown(rest_.substr(0, 2));
            }
            const bool set = is_set(rest_);
            if (rest_.front() == '\\') {
                SWARM_TRY(take_escape(Place::InClass));
            } else {
                copy(1);
            }
            if (set && rest_.starts_with('-') && !rest_.starts_with("-]")) {
                return unknown(rest_.substr(0, 2));
            }
        }
        if (rest_.empty() || out_.size() == begin) {
            return unknown("[");
        }
        copy(1);
        return {};
    }

    void put_class(std::string_view negation, std::string_view items, Place place) {
        const bool inside = place == Place::InClass;
        out_ +=
            inside ? std::string(items) : "[" + std::string(negation) + std::string(items) + "]";
        rest_.remove_prefix(2);
    }

    Result<> take_escape(Place place) {
        const char letter = rest_.size() < 2 ? ' ' : rest_[1];
        switch (letter) {
            case 's':
                put_class("", kWhiteSpace, place);
                return {};
            case 'S':
                if (place == Place::InClass) {
                    return unknown("[\\S");
                }
                put_class("^", kWhiteSpace, place);
                return {};
            case 'd':
            case 'D':
                out_ += letter == 'd' ? "\\p{Nd}" : "\\P{Nd}";
                rest_.remove_prefix(2);
                return {};
            case 'n':
            case 'r':
            case 't':
            case 'f':
                copy(2);
                return {};
            case 'p':
            case 'P':
                return take_property();
            case 'x':
            case 'u':
                return take_code_point();
            default:
                if (!is_ascii_sign(letter)) {
                    return unknown(rest_.substr(0, 2));
                }
                copy(2);
                return {};
        }
    }

    Result<> take_property() {
        const std::size_t end = rest_.find('}');
        if (rest_.size() < 4 || rest_[2] != '{' || end == rest_.npos) {
            return unknown(rest_.substr(0, 3));
        }
        const std::string_view name = rest_.substr(3, end - 3);
        if (std::find(kProperties.begin(), kProperties.end(), name) == kProperties.end()) {
            return unknown(rest_.substr(0, std::min<std::size_t>(end + 1, 24)));
        }
        copy(end + 1);
        return {};
    }

    /// Takes \x{H...} or \uHHHH.
    Result<> take_code_point() {
        const bool braces = rest_.starts_with("\\x{");
        const std::size_t begin = braces ? 3 : 2;
        const std::size_t brace = rest_.find('}');
        if (braces && brace == rest_.npos) {
            return unknown(rest_.substr(0, 4));
        }
        const std::size_t end = braces ? brace : 6;
        const std::string_view digits = rest_.substr(begin, end - begin);
        const bool known = (braces || rest_[1] == 'u') && !digits.empty() && digits.size() <= 6 &&
                           end <= rest_.size() && std::all_of(digits.begin(), digits.end(), is_hex);
        if (!known) {
            return unknown(rest_.substr(0, 4));
        }
        out_ += "\\x{" + std::string(digits) + "}";
        rest_.remove_prefix(std::min(end + (braces ? 1 : 0), rest_.size()));
        return {};
    }

    std::string_view rest_;
    std::string out_;
};

}  // namespace

Result<std::string> to_pcre2(std::string_view pattern) {
    if (pattern.size() > kPatternBytesMax) {
        return Error{
            ErrorCode::TooLarge,
            Reaction::Reject,
            "a regular expression of " + std::to_string(pattern.size()) + " bytes; at most " +
                std::to_string(kPatternBytesMax)};
    }
    return Translation(pattern).run();
}

}  // namespace stacking::tokenizers
