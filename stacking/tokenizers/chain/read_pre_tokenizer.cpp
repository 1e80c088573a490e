#include "stacking/tokenizers/chain/json_fields.hpp"
#include "stacking/tokenizers/chain/part_readers.hpp"
#include "stacking/tokenizers/utf8.hpp"
#include "swarm/base/try.hpp"

#include <array>
#include <optional>
#include <utility>

namespace stacking::tokenizers {

namespace json = boost::json;
using swarm::Result;

namespace {

constexpr PartNames kPreTokenizerNames{"pre_tokenizer", "pretokenizers"};

/// Number characters. The reference asks a library that knows 13 more than its expressions do.
constexpr const char* kNumber = "[\\p{N}\\x{11de0}-\\x{11de9}\\x{16ff4}-\\x{16ff6}]";

constexpr const char* kOneSpace = "\\s";
constexpr const char* kPunctuation = "[\\p{P}$+<=>^`|~]";

/// GPT-2's words, which ByteLevel cuts.
constexpr const char* kByteLevelWords =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// Behaviours have other names in Split than in Punctuation's older files; both are taken.
Result<Cut> read_cut(const json::object& step, Cut by_default) {
    constexpr std::array<std::pair<std::string_view, Cut>, 5> kCuts = {
        {{"Removed", Cut::Removed},
         {"Isolated", Cut::Isolated},
         {"MergedWithPrevious", Cut::MergedWithPrevious},
         {"MergedWithNext", Cut::MergedWithNext},
         {"Contiguous", Cut::Contiguous}}};
    if (find_field(step, "behavior") == nullptr) {
        return by_default;
    }
    const std::string_view name = text_field(step, "behavior");
    for (const auto& [known, cut] : kCuts) {
        if (name == known) {
            return cut;
        }
    }
    return malformed_part("a step's behavior is \"" + shown(name) + "\"");
}

/// Switches of a step: an error when one is neither true nor false.
Result<bool> read_switch(const json::object& step, const char* key, bool by_default) {
    const auto found = switch_field(step, key, by_default);
    if (!found) {
        return malformed_part(std::string(key) + " is no switch");
    }
    return *found;
}

Result<> read_split(const json::object& step, Chain& chain) {
    if (find_field(step, "behavior") == nullptr) {
        return malformed_part("a Split lacks its behavior");
    }
    SWARM_TRY(auto pattern, read_pattern(step));
    SWARM_TRY(const Cut cut, read_cut(step, Cut::Isolated));
    SWARM_TRY(const bool inverted, read_switch(step, "invert", false));
    chain.pre_tokenizer.emplace_back(SplitStep{
        std::move(pattern), cut, inverted ? Matches::Inverted : Matches::AsFound});
    return {};
}

Result<> read_byte_level(const json::object& step, Chain& chain) {
    SWARM_TRY(const bool prefix, read_switch(step, "add_prefix_space", true));
    SWARM_TRY(const bool words, read_switch(step, "use_regex", true));
    if (prefix) {
        chain.pre_tokenizer.emplace_back(PrefixSpace{});
    }
    if (words) {
        SWARM_TRY(auto pattern, Pattern::expression(kByteLevelWords));
        chain.pre_tokenizer.emplace_back(SplitStep{std::move(pattern)});
    }
    chain.alphabet = Alphabet::Bytes;
    return {};
}

/// Older files say add_prefix_space where newer ones say prepend_scheme.
Result<> read_metaspace(const json::object& step, Chain& chain) {
    SWARM_TRY(auto space, read_step_text(step, "replacement"));
    SWARM_TRY(const bool prefix, read_switch(step, "add_prefix_space", true));
    SWARM_TRY(const bool cuts, read_switch(step, "split", true));
    const std::string_view scheme = text_field(step, "prepend_scheme");
    std::optional<Before> before;
    if (find_field(step, "prepend_scheme") == nullptr) {
        before = prefix ? Before::EachPiece : Before::Never;
    } else if (scheme == "always") {
        before = Before::EachPiece;
    } else if (scheme == "first") {
        before = Before::FirstPiece;
    } else if (scheme == "never") {
        before = Before::Never;
    }
    if (!before || !is_one_character(space)) {
        return malformed_part(
            "a Metaspace's replacement is no character, or its prepend_scheme is unknown"
        );
    }
    chain.pre_tokenizer.emplace_back(Metaspace{std::move(space), *before, cuts});
    return {};
}

Result<> read_digits(const json::object& step, Chain& chain) {
    SWARM_TRY(const bool single, read_switch(step, "individual_digits", false));
    chain.pre_tokenizer.emplace_back(SplitStep{
        Pattern::own(kNumber), single ? Cut::Isolated : Cut::Contiguous});
    return {};
}

Result<> add_split(const char* expression, Cut cut, Chain& chain) {
    SWARM_TRY(auto pattern, Pattern::expression(expression));
    chain.pre_tokenizer.emplace_back(SplitStep{std::move(pattern), cut});
    return {};
}

Result<> read_step(const json::object& step, Chain& chain) {
    const std::string_view type = text_field(step, "type");
    if (chain.alphabet == Alphabet::Bytes) {
        return unsupported_part("pre_tokenizer has a step after ByteLevel");
    }
    if (type == "Split") {
        return read_split(step, chain);
    }
    if (type == "ByteLevel") {
        return read_byte_level(step, chain);
    }
    if (type == "Metaspace") {
        return read_metaspace(step, chain);
    }
    if (type == "Digits") {
        return read_digits(step, chain);
    }
    if (type == "WhitespaceSplit") {
        return add_split(kOneSpace, Cut::Removed, chain);
    }
    if (type == "Punctuation") {
        SWARM_TRY(const Cut cut, read_cut(step, Cut::Isolated));
        return add_split(kPunctuation, cut, chain);
    }
    return unknown_step(kPreTokenizerNames, step);
}

}  // namespace

Result<> read_pre_tokenizer(const json::value& part, Chain& chain) {
    return for_each_step(part, kPreTokenizerNames, [&](const json::object& step) {
        return read_step(step, chain);
    });
}

}  // namespace stacking::tokenizers
