#include "swarm/data/parquet/columns.hpp"

#include "swarm/data/parquet/file_bytes.hpp"
#include "swarm/data/utf8.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace swarm::data::parquet {
namespace {

constexpr std::size_t kShownNamesMax = 8;
constexpr std::size_t kShownNameBytes = 40;

/// Returns the indices of the nodes right below a group.
std::vector<std::uint32_t> children_of(const Footer& footer, std::uint32_t group) {
    std::vector<std::uint32_t> children;
    for (std::uint32_t i = group + 1; i < footer.nodes[group].end; i = footer.nodes[i].end) {
        children.push_back(i);
    }
    return children;
}

std::optional<std::uint32_t> find_child(
    const Footer& footer, std::uint32_t group, std::string_view name
) {
    for (const std::uint32_t child : children_of(footer, group)) {
        if (footer.nodes[child].name == name) {
            return child;
        }
    }
    return std::nullopt;
}

bool is_text_column(const SchemaNode& node) {
    return node.type == kByteArray && node.repetition != Repetition::Repeated;
}

std::uint32_t level_of(const SchemaNode& node) {
    return node.repetition == Repetition::Required ? 0 : 1;
}

/// The name as part of an error, which is one line of UTF-8.
std::string shown_name(std::string_view name) {
    Utf8Check check;
    check.add(name);
    const bool is_valid = check.finish();
    std::string text(name);
    std::replace_if(
        text.begin(),
        text.end(),
        [is_valid](char c) { return (c >= 0 && c < ' ') || c == 0x7F || (c < 0 && !is_valid); },
        '?'
    );
    return '"' + text.substr(0, piece_end(text, kShownNameBytes)) + '"';
}

std::string type_name(const SchemaNode& node) {
    constexpr std::array<const char*, 8> kTypes = {
        "BOOLEAN",
        "INT32",
        "INT64",
        "INT96",
        "FLOAT",
        "DOUBLE",
        "BYTE_ARRAY",
        "FIXED_LEN_BYTE_ARRAY"};
    if (node.repetition == Repetition::Repeated) {
        return "a list";
    }
    if (!node.type) {
        return "a group of columns";
    }
    const bool is_known = *node.type >= 0 && static_cast<std::size_t>(*node.type) < kTypes.size();
    return is_known ? kTypes[static_cast<std::size_t>(*node.type)] : "of an unknown type";
}

/// "; it could be "a" or "b"", or that there is none.
std::string could_be(
    const Footer& footer, const std::vector<std::uint32_t>& nodes, const std::string& what
) {
    if (nodes.empty()) {
        return "; the file has no column of " + what;
    }
    std::string text = "; its columns of " + what + ": ";
    for (std::size_t i = 0; i < nodes.size() && i < kShownNamesMax; ++i) {
        text += (i == 0 ? "" : ", ") + shown_name(footer.nodes[nodes[i]].name);
    }
    return text + (nodes.size() > kShownNamesMax ? ", .." : "");
}

/// Returns the columns of a node of the top, if it is a list of messages.
std::optional<ChatColumns> as_chats(const Footer& footer, std::uint32_t top) {
    const std::vector<SchemaNode>& nodes = footer.nodes;
    if (nodes[top].type) {
        return std::nullopt;
    }
    ChatColumns chats;
    std::uint32_t list = top;
    if (nodes[top].repetition != Repetition::Repeated) {
        chats.list_level = level_of(nodes[top]);
        const auto below = children_of(footer, top);
        if (below.size() != 1 || nodes[below[0]].repetition != Repetition::Repeated ||
            nodes[below[0]].type) {
            return std::nullopt;
        }
        list = below[0];
    }
    chats.item_level = chats.list_level + 1;
    chats.message_level = chats.item_level;
    std::uint32_t message = list;
    const auto items = children_of(footer, list);
    if (list != top && items.size() == 1 && !nodes[items[0]].type) {
        message = items[0];  // three levels
        if (nodes[message].repetition == Repetition::Repeated) {
            return std::nullopt;
        }
        chats.message_level += level_of(nodes[message]);
    }
    const auto leaf = [&](const char* name) -> std::optional<LeafColumn> {
        const auto found = find_child(footer, message, name);
        if (!found || !is_text_column(nodes[*found])) {
            return std::nullopt;
        }
        return LeafColumn{
            nodes[*found].leaf, chats.message_level + level_of(nodes[*found]), 1, name};
    };
    const auto role = leaf("role");
    const auto content = leaf("content");
    if (!role || !content) {
        return std::nullopt;
    }
    chats.role = *role;
    chats.content = *content;
    return chats;
}

}  // namespace

Result<LeafColumn> find_text_column(const Footer& footer, const std::string& field) {
    const auto found = find_child(footer, 0, field);
    if (found && is_text_column(footer.nodes[*found])) {
        const SchemaNode& node = footer.nodes[*found];
        return LeafColumn{node.leaf, level_of(node), 0, field};
    }
    std::vector<std::uint32_t> texts;
    for (const std::uint32_t child : children_of(footer, 0)) {
        if (is_text_column(footer.nodes[child]) && footer.nodes[child].is_text) {
            texts.push_back(child);
        }
    }
    const std::string others = could_be(footer, texts, "texts");
    if (!found) {
        return damaged("has no column \"" + field + "\"" + others);
    }
    return damaged(
        "column \"" + field + "\" has no texts: it is " + type_name(footer.nodes[*found]) + others
    );
}

Result<ChatColumns> find_chat_columns(const Footer& footer, const std::string& field) {
    const auto found = find_child(footer, 0, field);
    if (found) {
        if (const auto chats = as_chats(footer, *found)) {
            return *chats;
        }
    }
    std::vector<std::uint32_t> lists;
    for (const std::uint32_t child : children_of(footer, 0)) {
        if (as_chats(footer, child)) {
            lists.push_back(child);
        }
    }
    const std::string others = could_be(footer, lists, "chats");
    if (!found) {
        return damaged("has no column \"" + field + "\"" + others);
    }
    return damaged(
        "column \"" + field + "\" has no chats, lists of groups with texts \"role\" and " +
        "\"content\": it is " + type_name(footer.nodes[*found]) + others
    );
}

}  // namespace swarm::data::parquet
