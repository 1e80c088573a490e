#include "stacking/tokenizers/word_splitter.hpp"

#include "swarm/base/check.hpp"
#include "swarm/base/try.hpp"

#include <optional>
#include <string>
#include <utility>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace stacking::tokenizers {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;

namespace {

/// Maximum steps of one match. The expressions backtrack by one character at most in every text.
constexpr std::uint32_t kMatchLimit = 10'000'000;

constexpr const char* kNumber = "\\p{N}";

#define WHITE_SPACE                                                           \
    "\\x{9}-\\x{d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}" \
    "\\x{2029}\\x{202f}\\x{205f}\\x{3000}"

// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
constexpr const char* kWord =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+"
    "| ?[^" WHITE_SPACE
    "\\p{L}\\p{N}]+"
    "|[" WHITE_SPACE "]+(?![^" WHITE_SPACE
    "])"
    "|[" WHITE_SPACE "]+";

#undef WHITE_SPACE

struct Free {
    void operator()(pcre2_code* code) const { pcre2_code_free(code); }

    void operator()(pcre2_match_data* found) const { pcre2_match_data_free(found); }

    void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};

using Code = std::unique_ptr<pcre2_code, Free>;
using MatchData = std::unique_ptr<pcre2_match_data, Free>;
using MatchContext = std::unique_ptr<pcre2_match_context, Free>;

Code compile(const char* pattern) {
    int code = 0;
    PCRE2_SIZE offset = 0;
    Code compiled(pcre2_compile(
        reinterpret_cast<PCRE2_SPTR>(pattern),
        PCRE2_ZERO_TERMINATED,
        PCRE2_UTF,
        &code,
        &offset,
        nullptr
    ));
    SWARM_ASSERT(compiled != nullptr);
    // Where a process may make no code at run time, PCRE2's interpreter gives the same result
    // slower.
    pcre2_jit_compile(compiled.get(), PCRE2_JIT_COMPLETE);
    return compiled;
}

MatchContext limited() {
    MatchContext context(pcre2_match_context_create(nullptr));
    SWARM_ASSERT(context != nullptr);
    pcre2_set_match_limit(context.get(), kMatchLimit);
    return context;
}

struct Range {
    std::size_t begin;
    std::size_t end;
};

}  // namespace

struct WordSplitter::Patterns {
    Code number = compile(kNumber);
    Code word = compile(kWord);
    MatchContext context = limited();

    /// Returns the first match at or after `from`.
    Result<std::optional<Range>> find(
        const Code& pattern, std::string_view text, std::size_t from, pcre2_match_data* found
    ) const {
        const int code = pcre2_match(
            pattern.get(),
            reinterpret_cast<PCRE2_SPTR>(text.data()),
            text.size(),
            from,
            PCRE2_NO_UTF_CHECK,  // the caller has checked the text once
            found,
            context.get()
        );
        if (code == PCRE2_ERROR_NOMATCH) {
            return std::optional<Range>();
        }
        if (code < 0) {
            return Error{
                ErrorCode::TooLarge,
                Reaction::Reject,
                "the text cannot be cut into words (PCRE2 error " + std::to_string(code) + ")"};
        }
        const PCRE2_SIZE* const ends = pcre2_get_ovector_pointer(found);
        return std::optional(Range{ends[0], ends[1]});
    }

    /// Splits a part without numbers. Text that no alternative matches would become a piece, too,
    /// but the alternatives match every text.
    Result<> split_part(
        std::string_view part, const WordSplitter::Take& take, pcre2_match_data* data
    ) const {
        std::size_t done = 0;
        while (done < part.size()) {
            SWARM_TRY(const auto found, find(word, part, done, data));
            const Range range = found.value_or(Range{part.size(), part.size()});
            if (range.begin > done) {
                take(part.substr(done, range.begin - done));
            }
            if (range.end > range.begin) {
                take(part.substr(range.begin, range.end - range.begin));
            }
            done = range.end;
        }
        return {};
    }
};

WordSplitter::WordSplitter() : patterns_(std::make_unique<const Patterns>()) {}

WordSplitter::WordSplitter(WordSplitter&&) noexcept = default;
WordSplitter& WordSplitter::operator=(WordSplitter&&) noexcept = default;
WordSplitter::~WordSplitter() = default;

Result<> WordSplitter::split(std::string_view text, const Take& take) const {
    const MatchData data(pcre2_match_data_create(1, nullptr));
    SWARM_ASSERT(data != nullptr);
    std::size_t done = 0;
    while (done < text.size()) {
        SWARM_TRY(const auto found, patterns_->find(patterns_->number, text, done, data.get()));
        const Range number = found.value_or(Range{text.size(), text.size()});
        const std::string_view part = text.substr(done, number.begin - done);
        SWARM_TRY(patterns_->split_part(part, take, data.get()));
        if (number.end > number.begin) {
            take(text.substr(number.begin, number.end - number.begin));
        }
        done = number.end;
    }
    return {};
}

}  // namespace stacking::tokenizers
