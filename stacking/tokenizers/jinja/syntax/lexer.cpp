#include "stacking/tokenizers/jinja/syntax/lexer.hpp"

#include "stacking/tokenizers/jinja/limits.hpp"
#include "stacking/tokenizers/jinja/text.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace stacking::tokenizers::jinja {
namespace {

constexpr std::array<std::string_view, 26> kOperators = {
    "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
    "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};

bool is_digit(char letter) {
    return letter >= '0' && letter <= '9';
}

bool begins_name(char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || letter == '_' ||
           static_cast<unsigned char>(letter) >= 0x80;
}

bool is_space_byte(char letter) {
    return letter == ' ' || (letter >= '\t' && letter <= '\r');
}

/// Gives every line end as a line feed, and drops the one at the end of the text.
std::string with_line_feeds(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] != '\r') {
            out += text[at];
        } else if (at + 1 == text.size() || text[at + 1] != '\n') {
            out += '\n';
        }
    }
    if (out.ends_with('\n')) {
        out.pop_back();
    }
    return out;
}

/// Length of the white space at the end of a text.
std::size_t space_before_end(std::string_view text) {
    std::size_t length = 0;
    const auto starts = character_starts(text);
    for (std::size_t i = starts.size() - 1; i > 0; --i) {
        if (!is_space(code_point_at(text.substr(starts[i - 1])))) {
            break;
        }
        length = text.size() - starts[i - 1];
    }
    return length;
}

class Lexer {
 public:
    explicit Lexer(std::string_view text) : source_(with_line_feeds(text)), rest_(source_) {}

    Result<std::vector<Token>> read() {
        while (!rest_.empty()) {
            SWARM_TRY(read_piece());
        }
        add(Token::Kind::End, "");
        return std::move(tokens_);
    }

 private:
    using Kind = Token::Kind;

    [[nodiscard]] Error at_line(const std::string& what) const {
        return failure("line " + std::to_string(line_) + ": " + what);
    }

    void add(Kind kind, std::string text) { tokens_.push_back({kind, std::move(text), line_}); }

    void skip(std::size_t bytes) {
        const std::string_view gone = rest_.substr(0, bytes);
        line_ += static_cast<std::uint32_t>(std::count(gone.begin(), gone.end(), '\n'));
        begins_line_ = gone.empty() ? begins_line_ : gone.back() == '\n';
        rest_.remove_prefix(gone.size());
    }

    void skip_space() {
        std::size_t length = 0;
        while (length < rest_.size() && is_space(code_point_at(rest_.substr(length)))) {
            length += character_bytes(rest_[length]);
        }
        skip(length);
    }

    /// Returns the text before a tag without the white space that the tag takes away.
    [[nodiscard]] std::string_view trimmed(std::string_view data, char sign, bool strips_line)
        const {
        if (sign == '-') {
            data.remove_suffix(space_before_end(data));
        } else if (sign != '+' && strips_line) {
            const std::size_t line = data.rfind('\n') + 1;  // 0: the text has none
            const std::string_view last = data.substr(line);
            if ((line > 0 || begins_line_) && space_before_end(last) == last.size()) {
                data.remove_suffix(last.size());
            }
        }
        return data;
    }

    static char sign_at(std::string_view text, std::size_t at) {
        return at < text.size() && (text[at] == '-' || text[at] == '+') ? text[at] : '\0';
    }

    /// Reads a text and the tag behind it.
    Result<> read_piece() {
        std::size_t tag = rest_.find('{');
        while (tag != std::string_view::npos &&
               (tag + 1 == rest_.size() ||
                std::string_view("{%#").find(rest_[tag + 1]) == std::string_view::npos)) {
            tag = rest_.find('{', tag + 1);
        }
        const std::string_view data = rest_.substr(0, tag);
        const char kind = tag == std::string_view::npos ? '\0' : rest_[tag + 1];
        const char sign = kind == '\0' ? '\0' : sign_at(rest_, tag + 2);
        const std::string_view kept = kind == '\0' ? data : trimmed(data, sign, kind != '{');
        if (!kept.empty()) {
            add(Kind::Data, std::string(kept));
        }
        skip(data.size());
        if (kind == '\0') {
            return {};
        }
        if (tokens_.size() > kTokensMax) {
            return beyond_bound("more than " + std::to_string(kTokensMax) + " tokens");
        }
        if (kind == '#') {
            skip(sign == '\0' ? 2 : 3);
            return read_comment();
        }
        SWARM_TRY(const bool was_raw, kind == '%' ? read_raw(sign) : Result<bool>(false));
        if (was_raw) {
            return {};
        }
        skip(sign == '\0' ? 2 : 3);
        add(kind == '%' ? Kind::BlockBegin : Kind::PrintBegin, "");
        return kind == '%' ? read_code("%}", Kind::BlockEnd) : read_code("}}", Kind::PrintEnd);
    }

    /// Skips the end of a block or comment, with the line feed or the white space behind it.
    void skip_end(char sign) {
        skip(sign == '\0' ? 2 : 3);
        if (sign == '-') {
            skip_space();
        } else if (sign != '+' && rest_.starts_with('\n')) {
            skip(1);
        }
    }

    Result<> read_comment() {
        const std::size_t end = rest_.find("#}");
        if (end == std::string_view::npos) {
            return at_line("a comment has no end");
        }
        const char sign = end == 0 ? '\0' : sign_at(rest_, end - 1);
        skip(sign == '\0' ? end : end - 1);
        skip_end(sign);
        return {};
    }

    /// Length of white space at an offset of the rest.
    [[nodiscard]] std::size_t space_at(std::size_t at) const {
        std::size_t length = 0;
        while (at + length < rest_.size() && is_space_byte(rest_[at + length])) {
            ++length;
        }
        return length;
    }

    /// Length of "{%- WORD -%}" at an offset of the rest, up to the word's end; 0: there is none.
    [[nodiscard]] std::size_t tag_at(std::size_t at, std::string_view word) const {
        if (!rest_.substr(at).starts_with("{%")) {
            return 0;
        }
        std::size_t end = at + 2 + (sign_at(rest_, at + 2) == '\0' ? 0 : 1);
        end += space_at(end);
        if (!rest_.substr(end).starts_with(word)) {
            return 0;
        }
        end += word.size();
        end += space_at(end);
        const std::string_view after = rest_.substr(end);
        return after.starts_with("%}") || after.starts_with("-%}") || after.starts_with("+%}")
                   ? end - at
                   : 0;
    }

    /// Reads {% raw %} ... {% endraw %}, if it stands here.
    Result<bool> read_raw(char) {
        const std::size_t length = tag_at(0, "raw");
        if (length == 0 || rest_[length] == '+') {
            return false;
        }
        const bool strips = rest_[length] == '-';
        skip(length + (strips ? 3 : 2));
        if (strips) {
            skip_space();
        }
        std::size_t end = rest_.find("{%");
        while (end != std::string_view::npos && tag_at(end, "endraw") == 0) {
            end = rest_.find("{%", end + 2);
        }
        if (end == std::string_view::npos) {
            return at_line("{% raw %} has no end");
        }
        const std::string_view kept = trimmed(rest_.substr(0, end), sign_at(rest_, end + 2), true);
        if (!kept.empty()) {
            add(Kind::Data, std::string(kept));
        }
        skip(end);
        skip(tag_at(0, "endraw"));
        skip_end(rest_[0] == '%' ? '\0' : rest_[0]);
        return true;
    }

    /// Reads the tokens of {{ }} or {% %} up to its end.
    Result<> read_code(std::string_view end, Kind end_kind) {
        std::string open;  // brackets that wait for their partners
        while (!rest_.empty()) {
            const bool minus = rest_.front() == '-' && rest_.substr(1).starts_with(end);
            const bool plus =
                end == "%}" && rest_.front() == '+' && rest_.substr(1).starts_with(end);
            if (open.empty() && (minus || plus || rest_.starts_with(end))) {
                add(end_kind, "");
                if (end == "%}") {
                    skip_end(minus ? '-' : plus ? '+' : '\0');
                } else {
                    skip(minus ? 3 : 2);
                    if (minus) {
                        skip_space();
                    }
                }
                return {};
            }
            SWARM_TRY(read_code_token(open));
            if (tokens_.size() > kTokensMax) {
                return beyond_bound("more than " + std::to_string(kTokensMax) + " tokens");
            }
        }
        return at_line("a tag has no end");
    }

    Result<> read_code_token(std::string& open) {
        const char first = rest_.front();
        if (is_space(code_point_at(rest_))) {
            skip_space();
            return {};
        }
        if (is_digit(first)) {
            return read_number();
        }
        if (begins_name(first)) {
            std::size_t length = 1;
            while (length < rest_.size() && (begins_name(rest_[length]) || is_digit(rest_[length]))
            ) {
                ++length;
            }
            if (length > kNameBytesMax) {
                return beyond_bound(
                    "line " + std::to_string(line_) + ": a name is longer than " +
                    std::to_string(kNameBytesMax) + " bytes"
                );
            }
            add(Kind::Name, std::string(rest_.substr(0, length)));
            skip(length);
            return {};
        }
        if (first == '\'' || first == '"') {
            return read_text(first);
        }
        return read_operator(open);
    }

    Result<> read_operator(std::string& open) {
        for (const std::string_view name : kOperators) {
            if (!rest_.starts_with(name)) {
                continue;
            }
            if (name == "(" || name == "[" || name == "{") {
                open += name == "(" ? ')' : name == "[" ? ']' : '}';
            } else if (name == ")" || name == "]" || name == "}") {
                if (open.empty() || open.back() != name.front()) {
                    return at_line("unexpected '" + std::string(name) + "'");
                }
                open.pop_back();
            }
            add(Kind::Operator, std::string(name));
            skip(name.size());
            return {};
        }
        const std::size_t length = character_bytes(rest_.front());
        return at_line("unexpected character '" + std::string(rest_.substr(0, length)) + "'");
    }

    /// Length of digits with single underscores between them.
    [[nodiscard]] std::size_t digits_at(std::size_t at) const {
        std::size_t length = 0;
        while (at + length < rest_.size() &&
               (is_digit(rest_[at + length]) ||
                (length > 0 && rest_[at + length] == '_' && at + length + 1 < rest_.size() &&
                 is_digit(rest_[at + length + 1])))) {
            ++length;
        }
        return length;
    }

    Result<> read_number() {
        const bool after_dot =
            !tokens_.empty() && tokens_.back().kind == Kind::Operator && tokens_.back().text == ".";
        std::size_t length = digits_at(0);
        bool is_real = false;
        const auto is_at = [&](std::size_t at, std::string_view any) {
            return at < rest_.size() && any.find(rest_[at]) != std::string_view::npos;
        };
        if (!after_dot && is_at(length, ".") && digits_at(length + 1) > 0) {
            length += 1 + digits_at(length + 1);
            is_real = true;
        }
        if (!after_dot && is_at(length, "eE")) {
            const std::size_t sign = is_at(length + 1, "+-") ? 1 : 0;
            if (const std::size_t digits = digits_at(length + 1 + sign); digits > 0) {
                length += 1 + sign + digits;
                is_real = true;
            }
        }
        std::string digits(rest_.substr(0, length));
        std::erase(digits, '_');
        if (!is_real && digits.size() > 1 && digits.front() == '0' &&
            digits.find_first_not_of('0') != std::string::npos) {
            return at_line("the number " + digits.substr(0, 40) + " begins with 0");
        }
        if (is_at(length, "xXoObB") && digits == "0") {
            return at_line("only decimal numbers are known here");
        }
        add(is_real ? Kind::Real : Kind::Integer, std::move(digits));
        skip(length);
        return {};
    }

    Result<> read_text(char quote) {
        std::size_t end = 1;
        while (end < rest_.size() && rest_[end] != quote) {
            end += rest_[end] == '\\' ? 2 : 1;
        }
        if (end >= rest_.size()) {
            return at_line("a text has no closing quote");
        }
        SWARM_TRY(std::string text, unescape(rest_.substr(1, end - 1)));
        add(Kind::Text, std::move(text));
        skip(end + 1);
        return {};
    }

    Result<std::string> unescape(std::string_view raw) const {
        std::string text;
        while (!raw.empty()) {
            if (raw.front() != '\\') {
                const std::size_t plain = std::min(raw.find('\\'), raw.size());
                text += raw.substr(0, plain);
                raw.remove_prefix(plain);
                continue;
            }
            SWARM_TRY(const std::size_t length, read_escape(raw, text));
            raw.remove_prefix(length);
        }
        return text;
    }

    /// Appends what an escape stands for, and returns the escape's length.
    Result<std::size_t> read_escape(std::string_view raw, std::string& text) const {
        static constexpr std::string_view kLetters = "\\'\"abfnrtv";
        static constexpr std::string_view kMeant = "\\'\"\a\b\f\n\r\t\v";
        const char letter = raw[1];
        if (const std::size_t at = kLetters.find(letter); at != std::string_view::npos) {
            text += kMeant[at];
            return std::size_t{2};
        }
        if (letter == '\n') {
            return std::size_t{2};
        }
        const std::size_t digits = letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
        if (digits > 0) {
            const std::string hex(raw.substr(2, digits));
            if (hex.size() < digits ||
                hex.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos) {
                return at_line("a text has a wrong escape");
            }
            SWARM_TRY(append_code(std::stoul(hex, nullptr, 16), text));
            return 2 + digits;
        }
        if (letter >= '0' && letter <= '7') {
            std::size_t length = 1;
            while (length < 3 && 1 + length < raw.size() && raw[1 + length] >= '0' &&
                   raw[1 + length] <= '7') {
                ++length;
            }
            SWARM_TRY(append_code(std::stoul(std::string(raw.substr(1, length)), nullptr, 8), text)
            );
            return 1 + length;
        }
        if (letter == 'N') {
            return at_line("an escape by a character's name is not known here");
        }
        text += '\\';  // the letter behind it follows as it is
        return std::size_t{1};
    }

    Result<> append_code(unsigned long code, std::string& text) const {
        if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
            return at_line("an escape stands for no character");
        }
        append_code_point(text, static_cast<char32_t>(code));
        return {};
    }

    std::string source_;
    std::string_view rest_;
    std::uint32_t line_ = 1;
    bool begins_line_ = true;  // nothing of the line stands before `rest_`
    std::vector<Token> tokens_;
};

}  // namespace

Result<std::vector<Token>> read_tokens(std::string_view text) {
    return Lexer(text).read();
}

}  // namespace stacking::tokenizers::jinja
