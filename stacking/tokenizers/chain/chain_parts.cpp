#include "stacking/tokenizers/chain/chain_parts.hpp"

#include "stacking/tokenizers/chain/json_fields.hpp"
#include "stacking/tokenizers/chain/part_readers.hpp"
#include "stages/files/strict_json.hpp"
#include "swarm/base/try.hpp"

namespace stacking::tokenizers {

namespace json = boost::json;
using swarm::Error;
using swarm::Result;

namespace {

/// Maximum steps of one part, and bytes of a text that a step puts in.
constexpr std::size_t kStepsMax = 32;
constexpr std::size_t kStepTextBytesMax = 64;

Result<json::value> parse(const std::string& text) {
    auto parsed = stages::parse_strict_json(text);
    if (parsed.has_error()) {
        return malformed_part(parsed.error().detail);
    }
    return parsed;
}

}  // namespace

Error unknown_step(const PartNames& names, const json::object& step) {
    return unsupported_part(
        std::string(names.part) + " " + shown(text_field(step, "type")) + " is not known here"
    );
}

Result<> for_each_step(const json::value& part, const PartNames& names, const ReadStep& read) {
    if (part.is_null()) {
        return {};
    }
    const json::object* const object = part.if_object();
    if (object == nullptr) {
        return malformed_part(std::string(names.part) + " is no object");
    }
    if (text_field(*object, "type") != "Sequence") {
        return read(*object);
    }
    const json::array* const steps = find_array(*object, names.list);
    if (steps == nullptr || steps->size() > kStepsMax) {
        return malformed_part(std::string(names.part) + " has no steps, or too many");
    }
    for (const json::value& step : *steps) {
        if (!step.is_object()) {
            return malformed_part(std::string(names.part) + " has a step that is no object");
        }
        SWARM_TRY(read(step.get_object()));
    }
    return {};
}

Result<Pattern> read_pattern(const json::object& step) {
    const json::object* const pattern = find_object(step, "pattern");
    if (pattern == nullptr) {
        return malformed_part("a step lacks its pattern");
    }
    if (const std::string_view text = text_field(*pattern, "String"); !text.empty()) {
        return Pattern::text(std::string(text));
    }
    const std::string_view expression = text_field(*pattern, "Regex");
    if (expression.empty()) {
        return malformed_part("a pattern is empty, or of another kind");
    }
    return Pattern::expression(expression);
}

Result<std::string> read_step_text(const json::object& step, const char* key) {
    const json::value* const value = find_field(step, key);
    const json::string* const text = value == nullptr ? nullptr : value->if_string();
    if (text == nullptr || text->size() > kStepTextBytesMax) {
        return malformed_part(std::string("a step lacks its ") + key + ", or it is too long");
    }
    return std::string(*text);
}

Result<Chain> read_chain(const ChainParts& parts) {
    struct Reader {
        const std::string& text;
        Result<> (*read)(const json::value& part, Chain& chain);
    };

    Chain chain;
    for (const Reader& reader :
         {Reader{parts.normalizer, read_normalizer},
          Reader{parts.pre_tokenizer, read_pre_tokenizer},
          Reader{parts.post_processor, read_post_processor},
          Reader{parts.decoder, read_decoder}}) {
        SWARM_TRY(const auto part, parse(reader.text));
        SWARM_TRY(reader.read(part, chain));
    }
    return chain;
}

}  // namespace stacking::tokenizers
