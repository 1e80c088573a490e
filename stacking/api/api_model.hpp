// The model, or the stack, that the peers of an API serve, as far as the API needs to know it.
// Threading: const and any thread.
#pragma once

#include "stacking/session_compute.hpp"
#include "stacking/tokenizers/chat_template.hpp"
#include "stacking/tokenizers/model_tokenizer.hpp"
#include "swarm/node/event.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace stacking::api {

/// Returns the members of an ensemble that a text needs which begins so, with what each counts.
using MembersOfText = std::function<std::vector<swarm::node::StackMember>(
    std::span<const TokenId> beginning, const tokenizers::ModelTokenizer& tokenizer
)>;

struct ApiModel {
    std::string name;  // under which clients ask for it
    tokenizers::ModelTokenizer tokenizer;
    std::optional<tokenizers::ChatTemplate> chat;  // none: it continues texts and knows no chats
    std::uint32_t context = 0;                     // positions of prompt and answer together
    std::uint32_t vocabulary = 0;
    std::vector<TokenId> end_tokens;  // an answer ends before any of them
    std::size_t token_bytes_max = 0;  // longest_token(); 0: not known
    MembersOfText members_of{};       // null: a text needs all members, or there is one model

    /// Tells whether a text of so many bytes has more tokens than the context.
    [[nodiscard]] bool is_too_long(std::size_t bytes) const {
        return token_bytes_max > 0 && bytes / token_bytes_max >= context;
    }
};

/// Returns the bytes of the longest token.
std::size_t longest_token(const tokenizers::ModelTokenizer& tokenizer);

}  // namespace stacking::api
