#include "swarm/cli/data/chat_encoder.hpp"

#include "stacking/tokenizers/chat_template.hpp"
#include "stacking/tokenizers/marked_text.hpp"
#include "stacking/tokenizers/model_tokenizer.hpp"
#include "swarm/base/token_flags.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/terminal/usage.hpp"

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace swarm::cli {
namespace {

namespace tokenizers = stacking::tokenizers;
using data::ChatMessage;
using data::ChatRole;
using Ids = std::vector<std::uint32_t>;

constexpr const char* kLinesText = "lines";

tokenizers::ChatRole role_of(ChatRole role) {
    switch (role) {
        case ChatRole::System:
            return tokenizers::ChatRole::System;
        case ChatRole::User:
            return tokenizers::ChatRole::User;
        case ChatRole::Assistant:
            return tokenizers::ChatRole::Assistant;
        case ChatRole::Tool:
            return tokenizers::ChatRole::Tool;
    }
    return tokenizers::ChatRole::User;
}

Error template_error(std::size_t message, const std::string& what) {
    return {
        ErrorCode::Mismatch,
        Reaction::Reject,
        "message " + std::to_string(message + 1) + ": the chat template " + what};
}

/// Chats by the template of a model.
class TemplateChats {
 public:
    TemplateChats(
        tokenizers::ChatTemplate chat,
        std::shared_ptr<const tokenizers::ModelTokenizer> own,
        Ids ends,
        std::uint32_t document_end
    )
        : chat_(std::move(chat)),
          own_(std::move(own)),
          ends_(std::move(ends)),
          document_end_(document_end) {}

    Result<Ids> operator()(std::span<const ChatMessage> messages) const {
        std::vector<tokenizers::ChatMessage> all;
        for (const ChatMessage& message : messages) {
            all.push_back({role_of(message.role), message.content, {}});
        }
        tokenizers::ChatSetting setting;
        setting.after = tokenizers::AfterMessages::Nothing;
        SWARM_TRY(const tokenizers::jinja::Text text, chat_.render(all, setting));
        SWARM_TRY(Ids ids, tokenizers::encode_marked(text, *own_));
        std::vector<bool> counted(ids.size());
        bool ended = true;
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (messages[i].role != ChatRole::Assistant) {
                continue;
            }
            SWARM_TRY(const std::size_t begin, answer_begin(all, i, text, ids));
            ended = count_answer(ids, begin, counted);
            if (!ended && i + 1 < all.size()) {
                return template_error(i, "puts no end token behind an answer");
            }
        }
        return flagged(std::move(ids), counted, !ended);
    }

 private:
    /// The first token behind what a model gets to read before it answers.
    [[nodiscard]] Result<std::size_t> answer_begin(
        std::span<const tokenizers::ChatMessage> all,
        std::size_t answer,
        const tokenizers::jinja::Text& whole,
        const Ids& ids
    ) const {
        tokenizers::ChatSetting setting;
        setting.after = tokenizers::AfterMessages::BeginAnswer;
        SWARM_TRY(const auto before, chat_.render(all.first(answer), setting));
        if (!whole.bytes().starts_with(before.bytes())) {
            return template_error(
                answer, "writes what is before it otherwise when more messages follow"
            );
        }
        SWARM_TRY(const Ids read, tokenizers::encode_marked(before, *own_));
        // A token may lie on both sides of the border: then it belongs to the answer.
        const auto [in_whole, in_read] =
            std::mismatch(ids.begin(), ids.end(), read.begin(), read.end());
        return static_cast<std::size_t>(in_whole - ids.begin());
    }

    /// Returns whether an end token ends the answer, which is counted with it.
    bool count_answer(const Ids& ids, std::size_t begin, std::vector<bool>& counted) const {
        for (std::size_t i = begin; i < ids.size(); ++i) {
            counted[i] = true;
            if (std::find(ends_.begin(), ends_.end(), ids[i]) != ends_.end()) {
                return true;
            }
        }
        return false;
    }

    [[nodiscard]] Ids flagged(Ids ids, const std::vector<bool>& counted, bool count_end) const {
        const bool has_end = !ids.empty() && ids.back() == document_end_;
        for (std::size_t i = 0; i < ids.size(); ++i) {
            ids[i] |= counted[i] ? 0 : kNoLossFlag;
        }
        if (!has_end) {
            ids.push_back(document_end_ | (count_end ? 0 : kNoLossFlag));
        }
        return ids;
    }

    tokenizers::ChatTemplate chat_;
    std::shared_ptr<const tokenizers::ModelTokenizer> own_;
    Ids ends_;
    std::uint32_t document_end_;
};

/// Chats as lines, for tokenizers without a template.
class LineChats {
 public:
    explicit LineChats(data::Encoder encoder) : encoder_(std::move(encoder)) {}

    Result<Ids> operator()(std::span<const ChatMessage> messages) const {
        Ids ids;
        std::string unread;  // text before the next answer
        for (const ChatMessage& message : messages) {
            if (message.role != ChatRole::Assistant) {
                unread += name_of(message.role) + std::string(": ") + message.content + "\n";
                continue;
            }
            SWARM_TRY(add(unread + name_of(message.role) + ":", kNoLossFlag, ids));
            SWARM_TRY(add(" " + message.content, 0, ids));
            ids.push_back(encoder_.end_token);
            unread.clear();
        }
        if (!unread.empty()) {
            SWARM_TRY(add(unread, kNoLossFlag, ids));
            ids.push_back(encoder_.end_token | kNoLossFlag);
        }
        return ids;
    }

 private:
    static const char* name_of(ChatRole role) {
        switch (role) {
            case ChatRole::System:
                return "System";
            case ChatRole::User:
                return "User";
            case ChatRole::Assistant:
                return "Assistant";
            case ChatRole::Tool:
                return "Tool";
        }
        return "User";
    }

    Result<> add(const std::string& text, std::uint32_t flag, Ids& ids) const {
        const auto place = ids.empty() ? data::TextPlace::Begin : data::TextPlace::Within;
        SWARM_TRY(const Ids more, encoder_.encode(text, place));
        for (const std::uint32_t id : more) {
            ids.push_back(id | flag);
        }
        return {};
    }

    data::Encoder encoder_;
};

}  // namespace

Result<> add_chat_template(data::ChatTemplateName name, DataTokenizer& tokenizer) {
    data::Encoder& encoder = tokenizer.encoder;
    if (name == data::ChatTemplateName::Lines) {
        encoder.encode_chat = LineChats(encoder);
        encoder.chat_template = kLinesText;
        return {};
    }
    const auto& own = tokenizer.own;
    if (own == nullptr || own->chat_template().empty()) {
        return usage(
            "chat_template: the tokenizer " + encoder.name +
            " has none; add chat_template = \"lines\" to the data file"
        );
    }
    auto chat = tokenizers::ChatTemplate::compile(*own);
    if (!chat) {
        const Error& error = chat.error();
        return Error{error.code, error.reaction, "the chat template of " + encoder.name + ": " +
                                                     error.detail};
    }
    Ids ends = tokenizer.ends;
    ends.push_back(encoder.end_token);
    encoder.encode_chat =
        TemplateChats(*std::move(chat), own, std::move(ends), encoder.end_token);
    encoder.chat_template = own->chat_template();
    return {};
}

}  // namespace swarm::cli
