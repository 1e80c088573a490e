#include "stacking/tokenizers/jinja/template.hpp"

#include "stacking/tokenizers/jinja/evaluator.hpp"
#include "stacking/tokenizers/jinja/limits.hpp"
#include "stacking/tokenizers/jinja/syntax/parser.hpp"
#include "swarm/base/try.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <limits>

namespace stacking::tokenizers::jinja {
namespace {

Error about_template(const Error& error, const std::string& where) {
    return {
        error.code, error.reaction, one_line("the chat template" + where + ": " + error.detail)};
}

Result<Value> from_json_at(const boost::json::value& json, Origin origin, std::uint32_t depth) {
    if (depth > kValueDepthMax) {
        return beyond_bound("JSON deeper than " + std::to_string(kValueDepthMax));
    }
    switch (json.kind()) {
        case boost::json::kind::null:
            return Value(None{});
        case boost::json::kind::bool_:
            return Value(json.get_bool());
        case boost::json::kind::int64:
            return Value(std::int64_t{json.get_int64()});
        case boost::json::kind::uint64:
            return json.get_uint64() > std::numeric_limits<std::int64_t>::max()
                       ? Result<Value>(failure("an integer has over 64 bits"))
                       : Value(static_cast<std::int64_t>(json.get_uint64()));
        case boost::json::kind::double_:
            return Value(json.get_double());
        case boost::json::kind::string:
            return Value(Text(json.get_string(), origin));
        case boost::json::kind::array: {
            std::vector<Value> items;
            for (const boost::json::value& item : json.get_array()) {
                SWARM_TRY(Value value, from_json_at(item, origin, depth + 1));
                items.push_back(std::move(value));
            }
            return make_list(std::move(items));
        }
        case boost::json::kind::object:
            break;
    }
    std::vector<Dict::Entry> entries;
    for (const auto& [key, item] : json.get_object()) {
        SWARM_TRY(Value value, from_json_at(item, origin, depth + 1));
        entries.emplace_back(Value(Text(key, origin)), std::move(value));
    }
    return make_dict(std::move(entries));
}

}  // namespace

struct Template::Tree {
    Body body;
};

Result<Template> Template::compile(std::string_view text) {
    if (text.size() > kTemplateBytesMax) {
        return about_template(
            beyond_bound("longer than " + std::to_string(kTemplateBytesMax) + " bytes"), ""
        );
    }
    if (!is_utf8(text)) {
        return about_template(failure("its text is no UTF-8"), "");
    }
    Result<Body> body = parse_template(text);
    if (!body) {
        return about_template(body.error(), "");
    }
    return Template(std::make_shared<const Tree>(Tree{std::move(*body)}));
}

Result<Text> Template::render(const Variables& variables, std::int64_t now_s) const {
    Evaluator evaluator(tree_->body, now_s);
    for (const auto& [name, value] : variables) {
        evaluator.set(name, value);
    }
    Result<Text> text = evaluator.render();
    if (!text && text.error().code != ErrorCode::Mismatch) {
        return about_template(text.error(), ", line " + std::to_string(evaluator.line()));
    }
    return text;
}

Result<Value> from_json(const boost::json::value& json, Origin origin) {
    return from_json_at(json, origin, 0);
}

}  // namespace stacking::tokenizers::jinja
