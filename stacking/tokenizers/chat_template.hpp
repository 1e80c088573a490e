// A conversation as the token ids that a chat model was trained on.
// Templates are Jinja programs, and this program runs none. It knows the template of
// SmolLM2-Instruct by its text:
//   <|im_start|>ROLE\nCONTENT<|im_end|>\n per message, a default system message if the first
//   message is no system message, and <|im_start|>assistant\n before the answer
// Invariant: names of special tokens in a message stay text, so that nobody can forge a message.
// Threading: const and any thread. Errors: Unsupported (another template, missing tokens): the
// caller offers a raw prompt instead; those of ByteBpe::encode(); Reject. Cost: that of
// ByteBpe::encode().
#pragma once

#include "stacking/tokenizers/byte_bpe.hpp"
#include "swarm/base/result.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stacking::tokenizers {

enum class ChatRole { System, User, Assistant };

struct ChatMessage {
    ChatRole role = ChatRole::User;
    std::string content;
};

enum class AfterMessages { Nothing, BeginAnswer };

class ChatTemplate {
 public:
    /// `jinja`: text of the template in the model's files.
    static swarm::Result<ChatTemplate> recognise(std::string_view jinja, const ByteBpe& bpe);

    [[nodiscard]] swarm::Result<std::vector<std::uint32_t>> encode(
        const ByteBpe& bpe, std::span<const ChatMessage> messages, AfterMessages after
    ) const;

 private:
    ChatTemplate(std::uint32_t begin_message, std::uint32_t end_message)
        : begin_message_(begin_message), end_message_(end_message) {}

    std::uint32_t begin_message_;  // token <|im_start|>
    std::uint32_t end_message_;    // token <|im_end|>
};

}  // namespace stacking::tokenizers
