#include "swarm/data/chat_rows.hpp"

#include "swarm/data/limits.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace swarm::data {
namespace {

namespace json = boost::json;

constexpr std::size_t kShownRoleBytes = 24;

constexpr std::array<std::pair<std::string_view, ChatRole>, 4> kRoles{
    {{"system", ChatRole::System},
     {"user", ChatRole::User},
     {"assistant", ChatRole::Assistant},
     {"tool", ChatRole::Tool}}};

const json::string* text_in(const json::object& message, std::string_view key) {
    const json::value* const value = message.if_contains(key);
    return value == nullptr ? nullptr : value->if_string();
}

/// The role as part of an error, which is one line.
std::string shown(std::string_view role) {
    std::string text(role.substr(0, kShownRoleBytes));
    std::replace_if(
        text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?'
    );
    return text;
}

std::optional<std::string> read_message(const json::value& value, ChatMessage& message) {
    const json::object* const object = value.if_object();
    if (object == nullptr) {
        return kNoObject;
    }
    const json::string* const role = text_in(*object, "role");
    const auto role_text = role == nullptr ? std::nullopt : std::optional<std::string_view>(*role);
    if (auto fault = read_role(role_text, message.role)) {
        return fault;
    }
    const json::string* const content = text_in(*object, "content");
    if (content == nullptr) {
        return kNoContent;
    }
    message.content.assign(content->data(), content->size());
    return std::nullopt;
}

}  // namespace

std::optional<std::string> read_role(std::optional<std::string_view> role, ChatRole& to) {
    if (!role) {
        return "has no role";
    }
    const auto known = std::find_if(kRoles.begin(), kRoles.end(), [&](const auto& one) {
        return one.first == *role;
    });
    if (known == kRoles.end()) {
        return "has the unknown role \"" + shown(*role) +
               "\"; known are system, user, assistant and tool";
    }
    to = known->second;
    return std::nullopt;
}

std::optional<std::string> judge_count(std::size_t messages) {
    if (messages == 0) {
        return "has no messages";
    }
    if (messages > kMessagesMax) {
        return "has more than " + std::to_string(kMessagesMax) + " messages";
    }
    return std::nullopt;
}

std::optional<std::string> judge_answers(std::span<const ChatMessage> messages) {
    const bool has_answer = std::any_of(messages.begin(), messages.end(), [](const auto& message) {
        return message.role == ChatRole::Assistant;
    });
    return has_answer ? std::nullopt : std::optional<std::string>("has no answer of the assistant");
}

std::optional<std::string> read_chat(const json::value& field, std::vector<ChatMessage>& messages) {
    const json::array* const list = field.if_array();
    if (list == nullptr) {
        return kNoList;
    }
    if (auto fault = judge_count(list->size())) {
        return fault;
    }
    messages.resize(list->size());
    for (std::size_t i = 0; i < list->size(); ++i) {
        if (const auto fault = read_message((*list)[i], messages[i])) {
            return "message " + std::to_string(i + 1) + " " + *fault;
        }
    }
    return judge_answers(messages);
}

}  // namespace swarm::data
