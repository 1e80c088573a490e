// A conversation as the token ids that a chat model was trained on.
// Templates are Jinja programs; none is run. The one of SmolLM2-Instruct is known by its text:
//   <|im_start|>ROLE\nCONTENT<|im_end|>\n per message, a system message of its own where the first
//   is none, and <|im_start|>assistant\n before the answer
// Invariant: names of special tokens in a message stay text, so that nobody forges a turn.
// Threading: const and any thread. Errors: Unsupported (another template, tokens that are missing):
// the caller offers a raw prompt instead; those of ByteBpe::encode(); Reject.
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
    /// `jinja`: as the model's files have it.
    static swarm::Result<ChatTemplate> recognise(std::string_view jinja, const ByteBpe& bpe);

    [[nodiscard]] swarm::Result<std::vector<std::uint32_t>> encode(
        const ByteBpe& bpe, std::span<const ChatMessage> messages, AfterMessages after
    ) const;

 private:
    ChatTemplate(std::uint32_t begin_turn, std::uint32_t end_turn)
        : begin_turn_(begin_turn), end_turn_(end_turn) {}

    std::uint32_t begin_turn_;
    std::uint32_t end_turn_;
};

}  // namespace stacking::tokenizers
