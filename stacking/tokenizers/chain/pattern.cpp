#include "stacking/tokenizers/chain/pattern.hpp"

#include "stacking/tokenizers/chain/pattern_syntax.hpp"
#include "stacking/tokenizers/chain/stand_ins.hpp"
#include "swarm/base/check.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace stacking::tokenizers {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;

namespace {

/// Memory of one match of PCRE2's interpreter, in KiB.
constexpr std::uint32_t kHeapKibMax = 64U << 10;

/// A match that runs out of steps is tried again with so many times more.
constexpr std::uint32_t kMoreSteps = 16;

struct FreePcre2 {
    void operator()(pcre2_code* code) const { pcre2_code_free(code); }

    void operator()(pcre2_match_data* found) const { pcre2_match_data_free(found); }

    void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }

    void operator()(pcre2_compile_context* context) const { pcre2_compile_context_free(context); }
};

Error too_costly(int code) {
    return {
        ErrorCode::TooLarge,
        Reaction::Reject,
        "the text cannot be cut into words (PCRE2 error " + std::to_string(code) + ")"};
}

}  // namespace

struct Pattern::Compiled {
    std::unique_ptr<pcre2_code, FreePcre2> code;
};

namespace {

/// One text that is searched.
class Search {
 public:
    Search(const pcre2_code* code, std::string_view text, SearchBudget& budget)
        : code_(code),
          text_(text),
          found_(pcre2_match_data_create(1, nullptr)),
          context_(pcre2_match_context_create(nullptr)),
          budget_(budget) {
        SWARM_ASSERT(found_ != nullptr && context_ != nullptr);
        pcre2_set_heap_limit(context_.get(), kHeapKibMax);
        pcre2_set_match_limit(context_.get(), Pattern::kStepsPerPosition);
    }

    /// Returns the first match at or after `from`. Nearly every match takes few steps; for the
    /// others the limit is raised, and they are paid for by the budget.
    Result<std::optional<Range>> find(std::size_t from) {
        std::uint32_t steps = Pattern::kStepsPerPosition;
        int code = match(from, 0);
        while (code == PCRE2_ERROR_MATCHLIMIT || code == PCRE2_ERROR_JIT_STACKLIMIT) {
            steps = code == PCRE2_ERROR_MATCHLIMIT ? steps * kMoreSteps : steps;
            const std::uint32_t interpret = code == PCRE2_ERROR_MATCHLIMIT ? 0 : PCRE2_NO_JIT;
            if (!budget_.take(steps)) {
                return too_costly(code);
            }
            pcre2_set_match_limit(context_.get(), steps);
            code = match(from, interpret);
        }
        if (steps != Pattern::kStepsPerPosition) {
            pcre2_set_match_limit(context_.get(), Pattern::kStepsPerPosition);
        }
        if (code == PCRE2_ERROR_NOMATCH) {
            return std::optional<Range>();
        }
        if (code < 0) {
            return too_costly(code);
        }
        const PCRE2_SIZE* const ends = pcre2_get_ovector_pointer(found_.get());
        return std::optional(Range{ends[0], std::max(ends[0], ends[1])});
    }

 private:
    int match(std::size_t from, std::uint32_t options) {
        return pcre2_match(
            code_,
            reinterpret_cast<PCRE2_SPTR>(text_.data()),
            text_.size(),
            from,
            PCRE2_NO_UTF_CHECK | options,  // the caller has checked the text once
            found_.get(),
            context_.get()
        );
    }

    const pcre2_code* code_;
    std::string_view text_;
    std::unique_ptr<pcre2_match_data, FreePcre2> found_;
    std::unique_ptr<pcre2_match_context, FreePcre2> context_;
    SearchBudget& budget_;
};

std::vector<Range> find_texts(std::string_view wanted, std::string_view text) {
    std::vector<Range> found;
    for (std::size_t at = text.find(wanted); at != std::string_view::npos;
         at = text.find(wanted, at + wanted.size())) {
        found.push_back({at, at + wanted.size()});
    }
    return found;
}

Result<std::vector<Range>> find_expressions(
    const pcre2_code* code, std::string_view text, SearchBudget& budget
) {
    Search search(code, text, budget);
    std::vector<Range> found;
    std::size_t from = 0;
    while (from <= text.size()) {
        SWARM_TRY(const auto match, search.find(from));
        if (!match) {
            break;
        }
        const bool empty = match->end == match->begin;
        if (empty && !found.empty() && found.back().end == match->end) {
            // An empty match right after another match counts for nothing.
            from = match->end < text.size() ? match->end + character_bytes(text[match->end])
                                            : text.size() + 1;
            continue;
        }
        found.push_back(*match);
        from = match->end;
    }
    return found;
}

}  // namespace

Result<Pattern> Pattern::text(std::string text) {
    if (text.empty() || text.size() > kPatternBytesMax) {
        return Error{
            ErrorCode::Unsupported, Reaction::Reject, "a pattern is an empty or a long text"};
    }
    Pattern pattern;
    pattern.text_ = std::move(text);
    return pattern;
}

Result<Pattern> Pattern::compile(const std::string& expression) {
    int code = 0;
    PCRE2_SIZE offset = 0;
    const std::unique_ptr<pcre2_compile_context, FreePcre2> context(
        pcre2_compile_context_create(nullptr)
    );
    SWARM_ASSERT(context != nullptr);
    pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
    const auto compiled = std::make_shared<Compiled>();
    compiled->code.reset(pcre2_compile(
        reinterpret_cast<PCRE2_SPTR>(expression.data()),
        expression.size(),
        // Multiline: Oniguruma's $ is the end of any line.
        PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_MULTILINE,
        &code,
        &offset,
        context.get()
    ));
    if (compiled->code == nullptr) {
        return Error{
            ErrorCode::Malformed,
            Reaction::Reject,
            "a regular expression is wrong (PCRE2 error " + std::to_string(code) + ")"};
    }
    // Where a process may make no code at run time, PCRE2's interpreter gives the same result
    // slower.
    pcre2_jit_compile(compiled->code.get(), PCRE2_JIT_COMPLETE);
    Pattern pattern;
    pattern.compiled_ = compiled;
    return pattern;
}

Result<Pattern> Pattern::expression(std::string_view expression) {
    SWARM_TRY(const std::string translated, to_pcre2(expression));
    return compile(translated);
}

Pattern Pattern::own(const char* expression) {
    auto pattern = compile(expression);
    SWARM_ASSERT(pattern.has_value());
    return *std::move(pattern);
}

Result<std::vector<Range>> Pattern::find_all(std::string_view text, SearchBudget& budget) const {
    if (compiled_ == nullptr) {
        return find_texts(text_, text);
    }
    const auto changed = with_stand_ins(text);
    return find_expressions(
        compiled_->code.get(), changed ? std::string_view(*changed) : text, budget
    );
}

}  // namespace stacking::tokenizers
