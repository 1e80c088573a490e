#include "stacking/tokenizers/chain/normalizer.hpp"

#include "swarm/base/check.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utf8proc.h>
#include <utility>

namespace stacking::tokenizers {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;

namespace {

struct FreeText {
    void operator()(utf8proc_uint8_t* text) const { std::free(text); }
};

Error too_long() {
    return {ErrorCode::TooLarge, Reaction::Reject, "the normalizer makes the text too long"};
}

struct Step {
    std::string_view text;
    SearchBudget& budget;

    Result<std::string> operator()(const PrependText& step) const {
        return text.empty() ? std::string() : step.text + std::string(text);
    }

    Result<std::string> operator()(const ReplaceMatches& step) const {
        SWARM_TRY(const auto matches, step.pattern.find_all(text, budget));
        std::string changed;
        std::size_t done = 0;
        for (const Range& match : matches) {
            changed += text.substr(done, match.begin - done);
            changed += step.text;
            done = match.end;
            if (changed.size() > kChangedBytesMax) {
                return too_long();
            }
        }
        changed += text.substr(done);
        return changed;
    }

    Result<std::string> operator()(const ComposeCharacters& /*step*/) const {
        const bool ascii = std::all_of(text.begin(), text.end(), [](char letter) {
            return static_cast<unsigned char>(letter) < 0x80;
        });
        if (ascii) {
            return std::string(text);
        }
        utf8proc_uint8_t* result = nullptr;
        const utf8proc_ssize_t bytes = utf8proc_map(
            reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
            static_cast<utf8proc_ssize_t>(text.size()),
            &result,
            static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE)
        );
        const std::unique_ptr<utf8proc_uint8_t, FreeText> owner(result);
        if (bytes < 0) {
            return Error{
                ErrorCode::Malformed,
                Reaction::Reject,
                std::string("the text has no normal form: ") + utf8proc_errmsg(bytes)};
        }
        return std::string(reinterpret_cast<const char*>(result), static_cast<std::size_t>(bytes));
    }
};

}  // namespace

Result<std::string> normalize(
    const std::vector<NormalizerStep>& steps, std::string_view text, SearchBudget& budget
) {
    std::string changed(text);
    for (const NormalizerStep& step : steps) {
        SWARM_TRY(changed, std::visit(Step{changed, budget}, step));
        if (changed.size() > kChangedBytesMax) {
            return too_long();
        }
    }
    return changed;
}

}  // namespace stacking::tokenizers
