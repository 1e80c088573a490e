#include "tests/golden/tokenizers/tokenizer_lines.hpp"

#include <array>
#include <cstdint>
#include <iterator>

namespace swarm::golden {

namespace {

constexpr std::array<const char*, 42> kWords = {
    "def",
    "return",
    "std::vector<int>",
    "x",
    "i++",
    "==",
    "!=",
    "->",
    "{",
    "}",
    "(",
    ")",
    ";",
    "//",
    "#include",
    "\"str\\n\"",
    "'c'",
    "0x1F",
    "1e-5",
    "3.14",
    "10000",
    "for",
    "if",
    "self.it's",
    "we'll",
    "WE'LL",
    "I'd",
    "they've",
    "\t",
    "    ",
    "  ",
    "\n\n",
    "lambda:",
    "<|im_start|>",
    "<|im_end|>",
    "<file_sep>",
    "&&",
    "||",
    "%d",
    "@",
    "$PATH",
    "__init__"};

// clang-format off
constexpr std::string_view kOdd[] = {
    "<s>", "</s>", "<unk>", "<|begin_of_text|>", "<|eot|>", "<think>", "[L]", " [R]  ", "word",
    "words", "\x0a\x0a", "\x0a", "\x0d\x0a", "  ", "   ", "    ", "\x09", " ", " ", "<0x0A>",
    "\xe2\x96\x81", "\xe2\x96\x81\xe2\x96\x81", "\xc5\xbf\xe2\x84\xaa'\xc5\xbf 'S'll'LL",
    "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb",
    "\xf0\x9f\x91\xa8\xe2\x80\x8d\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7",
    "\xf0\x9f\x8f\xb3\xef\xb8\x8f\xe2\x80\x8d\xf0\x9f\x8c\x88", "e\xcc\x81", "\xc3\xa9",
    "A\xcc\x8a\xcc\xa3", "\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8", "\xea\xb0\x81", "\xe2\x84\xa6",
    "\xe0\xb8\xaa\xe0\xb8\xa7\xe0\xb8\xb1\xe0\xb8\xaa\xe0\xb8\x94\xe0\xb8\xb5",
    "\xd9\x85\xd8\xb1\xd8\xad\xd8\xa8\xd8\xa7", "\xe4\xbd\xa0\xe5\xa5\xbd",
    "\xf0\xb1\x8d\x90\xf0\xb2\x8e\xaf", "\xf0\xae\xaf\xb0", "\xf0\x90\xb5\x90\xe1\xb2\x89",
    "\xf0\x90\xb5\xb0", "\xf0\x91\xbd\x90\xf0\x91\xbd\x91", "\xf0\x9c\xb0\x80\xf0\x9c\xb3\xb0",
    "\xf0\x91\xb7\xa0\xf0\x96\xbf\xb4", "\xe0\xa2\x97", "12345", "1234567",
    "\xd9\xa3\xd9\xa4\xd9\xa5\xd9\xa6", std::string_view("\x00\x01\x1b", 3), "\xff", "\xc3",
    "\xe2\x82", "\xf0\x9f\x98", "\xed\xa0\x80", "don't", "HTTPServer", "camelCase", "a/b/c//",
    "!!!\x0a\x0a", "x = [1, 2];\x0a    return", "\xc2\xab\xc2\xbb\xe2\x80\x94\xe2\x80\xa6",
    "+<=>^`|~$"};

// clang-format on

struct Range {
    std::uint32_t first;
    std::uint32_t last;
};

constexpr std::array<Range, 43> kRanges = {
    {{0x0, 0x1f},        {0x20, 0x7e},       {0x20, 0x7e},       {0x20, 0x2f},
     {0x30, 0x39},       {0x80, 0xa0},       {0xa1, 0x17f},      {0x300, 0x36f},
     {0x391, 0x3a1},     {0x410, 0x44f},     {0x5d0, 0x5ea},     {0x621, 0x64a},
     {0x660, 0x669},     {0x905, 0x939},     {0xe01, 0xe30},     {0x1100, 0x1112},
     {0x1680, 0x1680},   {0x180e, 0x180e},   {0x2000, 0x200f},   {0x2028, 0x202f},
     {0x205f, 0x2060},   {0x2070, 0x2071},   {0x20a0, 0x20bf},   {0x2150, 0x2188},
     {0x2190, 0x21ff},   {0x2460, 0x24ff},   {0x3000, 0x3029},   {0x3041, 0x3096},
     {0x30a1, 0x30fa},   {0x4e00, 0x9fa5},   {0x4e00, 0x9fa5},   {0xac00, 0xd7a3},
     {0xe000, 0xe010},   {0xfe00, 0xfe0f},   {0xff01, 0xff5e},   {0xfffd, 0xfffd},
     {0x1d7ce, 0x1d7ff}, {0x1f300, 0x1f5ff}, {0x1f600, 0x1f64f}, {0x1f3fb, 0x1f3ff},
     {0x20000, 0x2a6d6}, {0x40000, 0x40010}, {0xf0000, 0xf0010}}};

/// The generator splitmix64 of the script.
class Numbers {
 public:
    explicit Numbers(std::uint64_t seed) : state_(seed) {}

    std::uint64_t below(std::uint64_t bound) {
        state_ += 0x9E3779B97F4A7C15;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9;
        z = (z ^ (z >> 27U)) * 0x94D049BB133111EB;
        return (z ^ (z >> 31U)) % bound;
    }

 private:
    std::uint64_t state_;
};

void append_utf8(std::string& text, std::uint32_t code_point) {
    const auto tail = [&](unsigned shift) {
        text += static_cast<char>(0x80U | ((code_point >> shift) & 0x3fU));
    };
    if (code_point < 0x80) {
        text += static_cast<char>(code_point);
    } else if (code_point < 0x800) {
        text += static_cast<char>(0xc0U | (code_point >> 6U));
        tail(0);
    } else if (code_point < 0x10000) {
        text += static_cast<char>(0xe0U | (code_point >> 12U));
        tail(6);
        tail(0);
    } else {
        text += static_cast<char>(0xf0U | (code_point >> 18U));
        tail(12);
        tail(6);
        tail(0);
    }
}

std::string make_code(Numbers& numbers) {
    std::vector<std::string> words(numbers.below(16));
    for (std::string& word : words) {
        word = kWords[numbers.below(kWords.size())];
    }
    std::string text(4 * numbers.below(4), ' ');
    const char* const between = numbers.below(2) != 0 ? " " : "";
    for (std::size_t i = 0; i < words.size(); ++i) {
        text += (i == 0 ? "" : between) + words[i];
    }
    return text;
}

/// Makes runs of characters of one kind.
std::string make_mixture(Numbers& numbers) {
    std::string text;
    const std::uint64_t runs = numbers.below(24);
    for (std::uint64_t run = 0; run < runs; ++run) {
        const Range range = kRanges[numbers.below(kRanges.size())];
        const std::uint64_t length = 1 + numbers.below(4);
        for (std::uint64_t i = 0; i < length; ++i) {
            const std::uint64_t offset = numbers.below(range.last - range.first + 1);
            append_utf8(text, range.first + static_cast<std::uint32_t>(offset));
        }
        if (numbers.below(3) == 0) {
            text.append(1 + numbers.below(3), ' ');
        }
    }
    return text;
}

}  // namespace

std::string make_family_line(std::size_t number, const std::vector<std::string>& prose) {
    if (number % 10 != 9) {
        return make_line(number, prose);
    }
    Numbers numbers(1'000'000 + number);
    std::string text;
    for (std::uint64_t pieces = numbers.below(16); pieces > 0; --pieces) {
        text += kOdd[numbers.below(std::size(kOdd))];
    }
    return text;
}

std::vector<std::string> lines_of(std::string_view text) {
    std::vector<std::string> lines;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        lines.emplace_back(text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    return lines;
}

std::string make_line(std::size_t number, const std::vector<std::string>& prose) {
    Numbers numbers(number);
    if (number % 5 < 2) {
        return prose.at(number * 7 % prose.size());
    }
    return number % 5 == 2 ? make_code(numbers) : make_mixture(numbers);
}

}  // namespace swarm::golden
