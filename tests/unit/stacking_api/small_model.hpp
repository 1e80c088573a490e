// A model of bytes for tests of the API: ids 0 to 255 are the bytes of the text, two more tokens
// begin and end the messages of a chat, and the second one ends an answer.
#pragma once

#include "stacking/api/api_model.hpp"
#include "tests/unit/stacking_tokenizers/small_vocabulary.hpp"

namespace stacking::api {

namespace protocol = swarm::protocol;

}  // namespace stacking::api

namespace stacking::api::test {

inline constexpr const char* kTemplate =
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face"
    "<|im_end|>\n' }}{% endif %}"
    "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

inline ApiModel small_model(std::uint32_t context = 400) {
    tokenizers::Vocabulary vocabulary = tokenizers::test::small_vocabulary();
    vocabulary.merges.clear();
    vocabulary.tokens.resize(256);
    vocabulary.special_tokens = {256, 257};
    vocabulary.tokens.emplace_back("<|im_start|>");
    vocabulary.tokens.emplace_back("<|im_end|>");
    ApiModel model{
        "small",
        tokenizers::ModelTokenizer(*tokenizers::ByteBpe::make(std::move(vocabulary)), kTemplate),
        std::nullopt,
        context,
        258,
        {257}};
    model.chat = *tokenizers::ChatTemplate::compile(model.tokenizer);
    model.token_bytes_max = longest_token(model.tokenizer);
    return model;
}

}  // namespace stacking::api::test
