#include "swarm/cli/chat/conversation.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <utility>

namespace swarm::cli {

namespace json = boost::json;
using stacking::tokenizers::ChatMessage;
using stacking::tokenizers::ChatRole;

namespace {

constexpr const char* kCommands =
    "/undo         takes back the last question and its answer\n"
    "/new          begins a new conversation\n"
    "/system TEXT  says what the model is told first; without TEXT, nothing\n"
    "/save FILE    writes the conversation as JSON\n"
    "/help         shows this\n"
    "Ctrl-C stops an answer; Ctrl-D or /end ends.";

std::string_view without_space(std::string_view text) {
    constexpr std::string_view kSpace = " \t\r\n";
    const std::size_t begin = text.find_first_not_of(kSpace);
    return begin == std::string_view::npos
               ? std::string_view()
               : text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

}  // namespace

Conversation::Step Conversation::take(std::string_view line) {
    const std::string_view text = without_space(line);
    if (text.empty()) {
        return {};
    }
    if (text.front() != '/') {
        turns_.push_back({ChatRole::User, std::string(text)});
        return {Kind::Ask};
    }
    const std::string_view command = text.substr(0, text.find_first_of(" \t"));
    const std::string_view rest = without_space(text.substr(command.size()));
    if (command == "/undo") {
        return undo();
    }
    if (command == "/new") {
        turns_.clear();
        return {Kind::Tell, "a new conversation"};
    }
    if (command == "/system") {
        return set_system(rest);
    }
    if (command == "/save") {
        return rest.empty() ? Step{Kind::Tell, "/save wants a file"}
                            : Step{Kind::Save, std::string(rest)};
    }
    if (command == "/end" || command == "/exit" || command == "/quit") {
        return {Kind::End};
    }
    return {
        Kind::Tell,
        (command == "/help" ? "" : "there is no " + std::string(command) + "\n") +
            std::string(kCommands)};
}

Conversation::Step Conversation::undo() {
    if (turns_.empty()) {
        return {Kind::Tell, "there is nothing to take back"};
    }
    while (!turns_.empty() && turns_.back().role != ChatRole::User) {
        turns_.pop_back();
    }
    drop_question();
    return {Kind::Tell, "taken back; " + std::to_string(turns_.size() / 2) + " questions are left"};
}

Conversation::Step Conversation::set_system(std::string_view text) {
    system_ = text.empty() ? std::nullopt : std::optional(std::string(text));
    return {Kind::Tell, text.empty() ? "no system message" : "the system message is set"};
}

void Conversation::add_answer(std::string text) {
    turns_.push_back({ChatRole::Assistant, std::move(text)});
}

void Conversation::drop_question() {
    if (!turns_.empty() && turns_.back().role == ChatRole::User) {
        turns_.pop_back();
    }
}

std::vector<ChatMessage> Conversation::messages() const {
    std::vector<ChatMessage> all;
    if (system_) {
        all.push_back({ChatRole::System, *system_});
    }
    all.insert(all.end(), turns_.begin(), turns_.end());
    return all;
}

std::string Conversation::to_json() const {
    json::array all;
    for (const ChatMessage& message : messages()) {
        const char* const role = message.role == ChatRole::System ? "system"
                                 : message.role == ChatRole::User ? "user"
                                                                  : "assistant";
        all.push_back(json::object{{"role", role}, {"content", message.content}});
    }
    return json::serialize(json::object{{"messages", std::move(all)}}) + "\n";
}

}  // namespace swarm::cli
