// The seam to the tokenizer, which belongs to a higher layer.
// Threading: a call at a time. Errors: those of encode().
#pragma once

#include "swarm/base/digest.hpp"
#include "swarm/base/result.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace swarm::data {

/// Whether a text begins a document: some tokenizers put a token before it.
enum class TextPlace { Begin, Within };

enum class ChatRole { System, User, Assistant, Tool };

struct ChatMessage {
    ChatRole role = ChatRole::User;
    std::string content{};
};

struct Encoder {
    std::string name;              // text of the data file
    Digest digest{};               // equal digests: equal ids of every text
    std::uint32_t vocabulary = 0;  // ids are below it
    std::uint32_t end_token = 0;   // follows each document
    std::function<Result<std::vector<std::uint32_t>>(std::string_view text, TextPlace place)>
        encode{};
    std::string file{};  // bytes of its file, which the folder keeps; empty: a token is a byte
    /// Returns the tokens of a chat with the end token behind them. All but the answers of the
    /// assistant and what ends them have kNoLossFlag. Empty: the data has no chats.
    std::function<Result<std::vector<std::uint32_t>>(std::span<const ChatMessage> messages)>
        encode_chat{};
    std::string chat_template{};  // text of the template; equal texts: equal chats
};

}  // namespace swarm::data
