// A text that knows of each byte whether the template or its data wrote it.
// Invariant: operations keep the origin of each byte that they copy. So a name of a special token
// that holds a byte of data, whatever filters it went through, can be told from the template's own.
// The bytes are UTF-8.
// Threading: const and any thread. Cost: a run per change of origin; part() searches them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stacking::tokenizers::jinja {

enum class Origin : std::uint8_t { Template, Data };

class Text {
 public:
    /// Bytes of one origin, up to `end`.
    struct Run {
        std::size_t end = 0;
        Origin origin = Origin::Template;
    };

    Text() = default;

    explicit Text(std::string_view bytes, Origin origin = Origin::Template) {
        append(bytes, origin);
    }

    [[nodiscard]] const std::string& bytes() const { return bytes_; }

    [[nodiscard]] std::size_t size() const { return bytes_.size(); }

    [[nodiscard]] bool empty() const { return bytes_.empty(); }

    [[nodiscard]] const std::vector<Run>& runs() const { return runs_; }

    /// Cost of a copy of it, in steps.
    [[nodiscard]] std::uint64_t weight() const;

    /// REQUIRES: `at` < size().
    [[nodiscard]] Origin origin_at(std::size_t at) const;

    /// Whether a byte of the part comes from data.
    [[nodiscard]] bool has_data(std::size_t begin, std::size_t count) const;

    void append(std::string_view bytes, Origin origin);

    void append(const Text& other) { append(other, 0, other.size()); }

    void append(const Text& other, std::size_t begin, std::size_t count);

    /// `begin` <= size(); the part ends at the end of the text at the latest.
    [[nodiscard]] Text part(std::size_t begin, std::size_t count = std::string::npos) const;

 private:
    [[nodiscard]] std::size_t run_at(std::size_t at) const;

    std::string bytes_;
    std::vector<Run> runs_;  // in the order of their ends; neighbours differ in origin
};

/// Number of bytes of the character that begins with `first`.
std::size_t character_bytes(char first);

/// Number of characters.
std::size_t count_characters(std::string_view text);

/// Number of bytes of the first so many characters, or of all.
std::size_t bytes_of_characters(std::string_view text, std::size_t count);

/// Whether the bytes are UTF-8 of code points that are no surrogates.
bool is_utf8(std::string_view bytes);

/// Puts a space for each control character, and cuts what is longer than kMessageBytesMax.
std::string one_line(std::string_view text);

/// Where each character begins, and the end of the text.
std::vector<std::size_t> character_starts(std::string_view text);

/// Returns the code point at the beginning of a text that is not empty.
char32_t code_point_at(std::string_view text);

void append_code_point(std::string& text, char32_t code_point);

/// Python's str.isspace() of one character.
bool is_space(char32_t code_point);

/// Python's str.isprintable() of one character, but for code points that are not assigned.
bool is_printable(char32_t code_point);

}  // namespace stacking::tokenizers::jinja
