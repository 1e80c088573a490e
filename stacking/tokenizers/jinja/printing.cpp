#include "stacking/tokenizers/jinja/printing.hpp"

#include "swarm/base/try.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace stacking::tokenizers::jinja {
namespace {

Result<> check_bytes(const Text& text) {
    if (text.size() > kTextBytesMax) {
        return beyond_bound("a text is longer than " + std::to_string(kTextBytesMax) + " bytes");
    }
    return {};
}

std::string hex_escape(const char* format, char32_t code_point) {
    char escape[16];
    std::snprintf(escape, sizeof escape, format, static_cast<unsigned>(code_point));
    return escape;
}

/// Appends each character of a text by `escape`, which returns what stands for it; empty: itself.
template <class Escape>
void append_escaped(Text& out, const Text& text, Escape escape) {
    const std::string_view bytes = text.bytes();
    std::size_t plain = 0;  // start of the characters that stand for themselves
    for (std::size_t at = 0; at < bytes.size();) {
        const std::size_t length = character_bytes(bytes[at]);
        const std::string replaced = escape(code_point_at(bytes.substr(at)));
        if (!replaced.empty()) {
            out.append(text, plain, at - plain);
            out.append(replaced, text.origin_at(at));
            plain = at + length;
        }
        at += length;
    }
    out.append(text, plain, bytes.size() - plain);
}

void append_quoted(Text& out, const Text& text) {
    const bool doubled =
        text.bytes().find('\'') != std::string::npos && text.bytes().find('"') == std::string::npos;
    const char quote = doubled ? '"' : '\'';
    out.append(std::string(1, quote), Origin::Template);
    append_escaped(out, text, [&](char32_t code_point) -> std::string {
        switch (code_point) {
            case '\n':
                return "\\n";
            case '\r':
                return "\\r";
            case '\t':
                return "\\t";
            case '\\':
                return "\\\\";
            default:
                break;
        }
        if (code_point == static_cast<char32_t>(quote)) {
            return std::string("\\") + quote;
        }
        if (is_printable(code_point)) {
            return {};
        }
        return hex_escape(
            code_point < 0x100     ? "\\x%02x"
            : code_point < 0x10000 ? "\\u%04x"
                                   : "\\U%08x",
            code_point
        );
    });
    out.append(std::string(1, quote), Origin::Template);
}

class ReprWriter {
 public:
    explicit ReprWriter(Text& out) : out_(out) {}

    Result<> write(const Value& value) {
        if (value.text() != nullptr) {
            append_quoted(out_, *value.text());
        } else if (value.list() != nullptr) {
            SWARM_TRY(write_list(*value.list()));
        } else if (value.dict() != nullptr) {
            SWARM_TRY(write_dict(*value.dict()));
        } else if (value.is_undefined()) {
            put("Undefined");
        } else {
            SWARM_TRY(const Text plain, to_text(value));
            out_.append(plain);
        }
        return check_bytes(out_);
    }

 private:
    void put(std::string_view text) { out_.append(text, Origin::Template); }

    Result<> write_list(const List& list) {
        using Kind = List::Kind;
        if (list.kind == Kind::Iterator) {
            return failure("a generator cannot be printed; put `|list` behind it");
        }
        if (list.kind == Kind::Range) {
            put(list.printed);
            return {};
        }
        const bool is_tuple = list.kind == Kind::Tuple;
        const bool is_view = !is_tuple && list.kind != Kind::List;
        put(list.kind == Kind::Keys     ? "dict_keys("
            : list.kind == Kind::Values ? "dict_values("
            : list.kind == Kind::Items  ? "dict_items("
                                        : "");
        put(is_tuple ? "(" : "[");
        for (std::size_t i = 0; i < list.items.size(); ++i) {
            put(i == 0 ? "" : ", ");
            SWARM_TRY(write(list.items[i]));
        }
        put(is_tuple && list.items.size() == 1 ? "," : "");
        put(is_tuple ? ")" : "]");
        put(is_view ? ")" : "");
        return {};
    }

    Result<> write_dict(const Dict& dict) {
        put("{");
        const char* before = "";
        for (const auto& [key, value] : dict.entries) {
            put(std::exchange(before, ", "));
            SWARM_TRY(write(key));
            put(": ");
            SWARM_TRY(write(value));
        }
        put("}");
        return {};
    }

    Text& out_;
};

class JsonWriter {
 public:
    JsonWriter(Text& out, const JsonStyle& style) : out_(out), style_(style) {}

    Result<> write(const Value& value, std::size_t level) {
        if (value.text() != nullptr) {
            write_text(*value.text());
        } else if (value.dict() != nullptr) {
            SWARM_TRY(write_dict(*value.dict(), level));
        } else if (value.list() != nullptr && (value.list()->kind == List::Kind::List ||
                                               value.list()->kind == List::Kind::Tuple)) {
            SWARM_TRY(write_list(*value.list(), level));
        } else {
            SWARM_TRY(const std::string plain, scalar(value));
            put(plain);
        }
        return check_bytes(out_);
    }

 private:
    void put(std::string_view text) { out_.append(text, Origin::Template); }

    static Result<std::string> scalar(const Value& value) {
        if (value.is_none()) {
            return std::string("null");
        }
        if (value.boolean() != nullptr) {
            return std::string(*value.boolean() ? "true" : "false");
        }
        if (value.integer() != nullptr) {
            return std::to_string(*value.integer());
        }
        if (value.real() != nullptr) {
            const double number = *value.real();
            return std::isnan(number)   ? std::string("NaN")
                   : std::isinf(number) ? std::string(number > 0 ? "Infinity" : "-Infinity")
                                        : real_text(number);
        }
        return failure("an object of type " + value.type_name() + " has no JSON");
    }

    void write_text(const Text& text) {
        put("\"");
        append_escaped(out_, text, [&](char32_t code_point) { return escape(code_point); });
        put("\"");
    }

    [[nodiscard]] std::string escape(char32_t code_point) const {
        switch (code_point) {
            case '"':
                return "\\\"";
            case '\\':
                return "\\\\";
            case '\n':
                return "\\n";
            case '\r':
                return "\\r";
            case '\t':
                return "\\t";
            case '\f':
                return "\\f";
            case '\b':
                return "\\b";
            default:
                break;
        }
        const bool is_foreign = style_.ensure_ascii && code_point >= 0x7f;
        if (code_point < 0x20 || (is_foreign && code_point < 0x10000)) {
            return hex_escape("\\u%04x", code_point);
        }
        if (is_foreign) {
            const char32_t above = code_point - 0x10000;
            return hex_escape("\\u%04x", 0xd800 + (above >> 10U)) +
                   hex_escape("\\u%04x", 0xdc00 + (above & 0x3ffU));
        }
        return {};
    }

    void begin_line(std::size_t level) {
        if (!style_.indent) {
            return;
        }
        put("\n");
        for (std::size_t i = 0; i < level; ++i) {
            put(*style_.indent);
        }
    }

    Result<> write_list(const List& list, std::size_t level) {
        put("[");
        for (std::size_t i = 0; i < list.items.size(); ++i) {
            put(i == 0 ? "" : style_.between_items);
            begin_line(level + 1);
            SWARM_TRY(write(list.items[i], level + 1));
        }
        if (!list.items.empty()) {
            begin_line(level);
        }
        put("]");
        return {};
    }

    Result<> write_dict(const Dict& dict, std::size_t level) {
        const std::vector<Dict::Entry>& entries = dict.entries;
        if (style_.sort_keys && std::any_of(entries.begin(), entries.end(), has_other_key)) {
            return unknown_part("sort_keys of keys that are no texts");
        }
        put("{");
        for (std::size_t i = 0; i < entries.size(); ++i) {
            const auto& [key, value] = entries[style_.sort_keys ? dict.by_key[i] : i];
            put(i == 0 ? "" : style_.between_items);
            begin_line(level + 1);
            if (key.text() != nullptr) {
                write_text(*key.text());
            } else {
                SWARM_TRY(const std::string plain, scalar(key));
                put("\"" + plain + "\"");
            }
            put(style_.after_key);
            SWARM_TRY(write(value, level + 1));
        }
        if (!entries.empty()) {
            begin_line(level);
        }
        put("}");
        return {};
    }

    static bool has_other_key(const Dict::Entry& entry) { return entry.first.text() == nullptr; }

    Text& out_;
    const JsonStyle& style_;
};

}  // namespace

std::string real_text(double number) {
    if (std::isnan(number)) {
        return "nan";
    }
    if (std::isinf(number)) {
        return number > 0 ? "inf" : "-inf";
    }
    char digits[64];
    auto end = std::to_chars(digits, digits + sizeof digits, number, std::chars_format::scientific);
    const std::string shortest(digits, end.ptr);
    const int exponent = std::stoi(shortest.substr(shortest.find('e') + 1));
    if (exponent >= -4 && exponent < 16) {
        end = std::to_chars(digits, digits + sizeof digits, number, std::chars_format::fixed);
        const std::string plain(digits, end.ptr);
        return plain.find('.') == std::string::npos ? plain + ".0" : plain;
    }
    return shortest;
}

Result<Text> to_text(const Value& value) {
    if (value.text() != nullptr) {
        return *value.text();
    }
    if (value.is_undefined()) {
        return Text();
    }
    if (value.is_none()) {
        return Text("None");
    }
    if (value.boolean() != nullptr) {
        return Text(*value.boolean() ? "True" : "False");
    }
    if (value.integer() != nullptr) {
        return Text(std::to_string(*value.integer()));
    }
    if (value.real() != nullptr) {
        return Text(real_text(*value.real()));
    }
    if (value.list() != nullptr || value.dict() != nullptr) {
        return to_repr(value);
    }
    return failure("a " + value.type_name() + " cannot be printed");
}

Result<Text> to_repr(const Value& value) {
    Text text;
    SWARM_TRY(ReprWriter(text).write(value));
    return text;
}

Result<Text> paid_text(Context& context, const Value& value) {
    SWARM_TRY(context.charge(value.weight()));
    if (value.text() != nullptr) {
        return *value.text();
    }
    SWARM_TRY(Text text, to_text(value));
    SWARM_TRY(context.charge(text.size() / kCharactersPerStep));
    return text;
}

Result<Text> paid_repr(Context& context, const Value& value) {
    SWARM_TRY(context.charge(value.weight()));
    SWARM_TRY(Text text, to_repr(value));
    SWARM_TRY(context.charge(text.size() / kCharactersPerStep));
    return text;
}

Result<Text> to_json(const Value& value, const JsonStyle& style) {
    Text text;
    SWARM_TRY(JsonWriter(text, style).write(value, 0));
    return text;
}

}  // namespace stacking::tokenizers::jinja
