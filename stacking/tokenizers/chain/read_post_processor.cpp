#include "stacking/tokenizers/chain/json_fields.hpp"
#include "stacking/tokenizers/chain/part_readers.hpp"
#include "swarm/base/try.hpp"

#include <cstdint>
#include <limits>

namespace stacking::tokenizers {

namespace json = boost::json;
using swarm::Result;

namespace {

constexpr PartNames kProcessorNames{"post_processor", "processors"};

/// Maximum tokens that belong before a text, or after it.
constexpr std::size_t kTokensAroundMax = 8;

/// Appends the ids of a token that the template names.
Result<> add_named(
    const json::object& step, std::string_view name, std::vector<std::uint32_t>& tokens
) {
    const json::object* const names = find_object(step, "special_tokens");
    const json::object* const named = names == nullptr ? nullptr : find_object(*names, name);
    const json::array* const ids = named == nullptr ? nullptr : find_array(*named, "ids");
    if (ids == nullptr || ids->size() > kTokensAroundMax - tokens.size()) {
        return malformed_part("a template names no token, or too many");
    }
    for (const json::value& value : *ids) {
        const auto id = to_id(&value, std::numeric_limits<std::uint32_t>::max());
        if (!id) {
            return malformed_part("a template has an id that is none");
        }
        tokens.push_back(*id);
    }
    return {};
}

/// Reads what a template puts around one text.
Result<> read_template(const json::object& step, Chain& chain) {
    const json::array* const single = find_array(step, "single");
    if (single == nullptr || !chain.begin_tokens.empty() || !chain.end_tokens.empty()) {
        return malformed_part("a template has no list single, or there are two");
    }
    bool after_text = false;
    for (const json::value& value : *single) {
        const json::object* const entry = value.if_object();
        const json::object* const token =
            entry == nullptr ? nullptr : find_object(*entry, "SpecialToken");
        if (token != nullptr) {
            SWARM_TRY(add_named(
                step, text_field(*token, "id"), after_text ? chain.end_tokens : chain.begin_tokens
            ));
        } else if (entry == nullptr || find_object(*entry, "Sequence") == nullptr || after_text) {
            return malformed_part("a template is no text with tokens around it");
        } else {
            after_text = true;
        }
    }
    return after_text ? Result<>() : malformed_part("a template has no text");
}

}  // namespace

Result<> read_post_processor(const json::value& part, Chain& chain) {
    return for_each_step(part, kProcessorNames, [&](const json::object& step) -> Result<> {
        const std::string_view type = text_field(step, "type");
        if (type == "ByteLevel") {
            return {};  // it moves offsets, and no tokens
        }
        return type == "TemplateProcessing" ? read_template(step, chain)
                                            : unknown_step(kProcessorNames, step);
    });
}

}  // namespace stacking::tokenizers
