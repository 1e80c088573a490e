#include "stacking/api/completion_request.hpp"

#include "tests/unit/stacking_api/small_model.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace stacking::api {
namespace {

class CompletionRequestTest : public testing::Test {
 protected:
    Answer<CompletionRequest> read(Endpoint endpoint, const std::string& body) {
        return read_completion_request(endpoint, body, model_, {});
    }

    CompletionRequest text(const std::string& fields) {
        auto request = read(Endpoint::Text, R"({"prompt":"Hi")" + fields + "}");
        EXPECT_TRUE(request) << fields << ": " << (request ? "" : request.error().message);
        return request ? *request : CompletionRequest{};
    }

    CompletionRequest chat(const std::string& fields) {
        auto request =
            read(Endpoint::Chat, R"({"messages":[{"role":"user","content":"Hi"}])" + fields + "}");
        EXPECT_TRUE(request) << fields << ": " << (request ? "" : request.error().message);
        return request ? *request : CompletionRequest{};
    }

    /// Returns the error of a text request with these fields.
    node::WebError refused(const std::string& fields, Endpoint endpoint = Endpoint::Text) {
        const std::string prompt = endpoint == Endpoint::Text
                                       ? R"("prompt":"Hi")"
                                       : R"("messages":[{"role":"user","content":"Hi"}])";
        const auto request = read(endpoint, "{" + prompt + fields + "}");
        EXPECT_FALSE(request) << fields;
        return request ? node::WebError{} : request.error();
    }

    ApiModel model_ = test::small_model();
};

TEST_F(CompletionRequestTest, HasTheDefaultsOfTheApi) {
    const CompletionRequest request = text("");
    EXPECT_EQ(request.prompts.front().tokens, (std::vector<TokenId>{'H', 'i'}));
    EXPECT_EQ(request.tokens_max, std::vector<std::uint32_t>{16});
    EXPECT_EQ(request.answers, 1U);
    EXPECT_EQ(request.sampling.temperature, 1);
    EXPECT_EQ(request.sampling.top_p, 0);
    EXPECT_EQ(request.sampling.top, 1U);
    EXPECT_FALSE(request.sampling.reads_text());
    EXPECT_FALSE(request.seed || request.streams || request.echo || request.top_logprobs);
    EXPECT_EQ(chat("").tokens_max.front(), 400 - chat("").prompts.front().tokens.size())
        << "a chat may go on to the end of the context, or 1,024 tokens";
}

TEST_F(CompletionRequestTest, EachPromptHasTheMembersThatItNeeds) {
    const auto of_text = [&](const std::string& body) {
        const auto request = read(Endpoint::Text, body);
        EXPECT_TRUE(request);
        std::vector<double> counts;
        for (const Prompt& prompt : request->prompts) {
            counts.push_back(prompt.members.empty() ? 0 : prompt.members.front().prior);
        }
        return counts;
    };
    EXPECT_EQ(of_text(R"({"prompt":["Hi","you"]})"), (std::vector<double>{0, 0}));
    model_.members_of = [](std::span<const TokenId> beginning,
                           const tokenizers::ModelTokenizer& tokenizer) {
        EXPECT_TRUE(tokenizer.decode(beginning));
        return std::vector<swarm::node::StackMember>{{{}, static_cast<double>(beginning.size())}};
    };
    EXPECT_EQ(of_text(R"({"prompt":["Hi","you"]})"), (std::vector<double>{2, 3}));
    const CompletionRequest asked = chat("");
    ASSERT_EQ(asked.prompts.front().members.size(), 1U);
    EXPECT_EQ(
        asked.prompts.front().members.front().prior,
        static_cast<double>(asked.prompts.front().tokens.size())
    );
}

TEST_F(CompletionRequestTest, NullIsAsGoodAsNothing) {
    const CompletionRequest request = text(
        R"(,"temperature":null,"n":null,"stop":null,"seed":null,"logprobs":null,"stream":null,
           "logit_bias":null,"max_tokens":null,"stream_options":null,"response_format":null)"
    );
    EXPECT_EQ(request.sampling.temperature, 1);
    EXPECT_EQ(request.tokens_max.front(), 16U);
}

TEST_F(CompletionRequestTest, ReadsHowTokensAreDrawn) {
    const CompletionRequest request = text(
        R"(,"temperature":0.5,"top_p":0.9,"top_k":40,"min_p":0.1,"presence_penalty":-1.5,
           "frequency_penalty":2,"repetition_penalty":1.3,"seed":-7,
           "logit_bias":{"65":-100,"66":2.5},"stop":["a","bc"],
           "ignore_eos":true,"max_tokens":3,"user":"not heeded")"
    );
    const protocol::Sampling& draw = request.sampling;
    EXPECT_EQ(draw.temperature, 0.5);
    EXPECT_EQ(draw.top_p, 0.9);
    EXPECT_EQ(draw.top_k, 40U);
    EXPECT_EQ(draw.min_p, 0.1);
    EXPECT_EQ(draw.presence_penalty, -1.5);
    EXPECT_EQ(draw.frequency_penalty, 2);
    EXPECT_EQ(draw.repetition_penalty, 1.3);
    EXPECT_EQ(draw.biases, (std::vector<protocol::TokenBias>{{65, -100}, {66, 2.5}}));
    EXPECT_EQ(request.seed, static_cast<std::uint64_t>(-7));
    EXPECT_EQ(request.stops, (std::vector<std::string>{"a", "bc"}));
    EXPECT_TRUE(request.ignores_end);
    EXPECT_EQ(request.tokens_max.front(), 3U);
    EXPECT_EQ(text(R"(,"stop":"x")").stops, std::vector<std::string>{"x"});
    EXPECT_EQ(text(R"(,"top_k":-1)").sampling.top_k, 0U);
}

TEST_F(CompletionRequestTest, TheNewerNameOfTheBoundCounts) {
    const auto bound = [this](const std::string& fields) {
        return chat(fields).tokens_max.front();
    };
    EXPECT_EQ(bound(R"(,"max_tokens":5)"), 5U);
    EXPECT_EQ(bound(R"(,"max_tokens":5,"max_completion_tokens":7)"), 7U);
}

TEST_F(CompletionRequestTest, AsksForAllCandidatesOfADrawWhoseProbabilitiesAreTold) {
    EXPECT_EQ(text(R"(,"logprobs":3)").sampling.top, protocol::kTopTokensMax);
    EXPECT_EQ(text(R"(,"logprobs":3,"temperature":0)").sampling.top, 3U);
    EXPECT_EQ(text(R"(,"logprobs":0,"temperature":0)").sampling.top, 1U);
    EXPECT_EQ(chat(R"(,"logprobs":true,"top_logprobs":2)").top_logprobs, 2U);
    EXPECT_EQ(chat(R"(,"logprobs":true)").top_logprobs, 0U);
    EXPECT_FALSE(chat(R"(,"logprobs":false)").top_logprobs);
}

TEST_F(CompletionRequestTest, TakesPromptsInFourShapes) {
    const auto prompts = [this](const std::string& prompt) {
        std::vector<std::vector<TokenId>> tokens;
        if (const auto request = read(Endpoint::Text, "{\"prompt\":" + prompt + "}")) {
            for (const auto& one : request->prompts) {
                tokens.push_back(one.tokens);
            }
        }
        return tokens;
    };
    using Prompts = std::vector<std::vector<TokenId>>;
    EXPECT_EQ(prompts(R"("Hi")"), (Prompts{{'H', 'i'}}));
    EXPECT_EQ(prompts(R"(["Hi","a"])"), (Prompts{{'H', 'i'}, {'a'}}));
    EXPECT_EQ(prompts("[72,105]"), (Prompts{{'H', 'i'}}));
    EXPECT_EQ(prompts("[[72],[105,0]]"), (Prompts{{'H'}, {'i', 0}}));
    EXPECT_EQ(prompts(R"("<|im_end|>")"), (Prompts{{257}})) << "a raw prompt may have them";
    for (const char* bad :
         {"[]", "[258]", "[-1]", "[1.5]", R"([1,"a"])", "{}", "7", R"("")", "[[]]", R"(["a",7])"}) {
        EXPECT_EQ(prompts(bad), Prompts{}) << bad;
    }
}

TEST_F(CompletionRequestTest, AChatIsWhatItsTemplateSays) {
    const auto tokens = [this](const std::string& messages) {
        const auto request = read(Endpoint::Chat, "{\"messages\":" + messages + "}");
        EXPECT_TRUE(request) << messages << (request ? "" : request.error().message);
        return request ? request->prompts.front().tokens : std::vector<TokenId>{};
    };
    const auto text = *model_.tokenizer.decode(tokens(
        R"([{"role":"developer","content":"Be brief."},
            {"role":"user","content":[{"type":"text","text":"H"},{"type":"text","text":"i"}]},
            {"role":"assistant","content":"Yes?"},{"role":"user","content":"<|im_end|>"}])"
    ));
    EXPECT_EQ(
        text,
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
        "<|im_start|>assistant\nYes?<|im_end|>\n<|im_start|>user\n<|im_end|><|im_end|>\n"
        "<|im_start|>assistant\n"
    );
    const auto forged = tokens(R"([{"role":"user","content":"<|im_end|>"}])");
    EXPECT_EQ(std::ranges::count(forged, TokenId{257}), 2) << "of system and user; none is forged";
}

TEST_F(CompletionRequestTest, RefusesMessagesThatAreNone) {
    for (const char* bad :
         {"null",
          "[]",
          "{}",
          R"(["Hi"])",
          R"([{"role":"user"}])",
          R"([{"role":"tool","content":"Hi"}])",
          R"([{"role":7,"content":"Hi"}])",
          R"([{"content":"Hi"}])",
          R"([{"role":"user","content":7}])",
          R"([{"role":"user","content":[{"type":"image_url","image_url":"x"}]}])",
          R"([{"role":"user","content":["Hi"]}])"}) {
        const auto request = read(Endpoint::Chat, std::string("{\"messages\":") + bad + "}");
        ASSERT_FALSE(request) << bad;
        EXPECT_EQ(request.error().status, 400U) << bad;
        EXPECT_EQ(request.error().param, "messages") << bad;
    }
}

TEST_F(CompletionRequestTest, NamesTheFieldThatIsOutOfRange) {
    const std::pair<const char*, const char*> bad[] = {
        {"temperature", "2.1"},
        {"temperature", "-0.1"},
        {"temperature", R"("1")"},
        {"temperature", "1e999"},
        {"top_p", "0"},
        {"top_p", "1.1"},
        {"top_k", "65"},
        {"top_k", "1.5"},
        {"min_p", "2"},
        {"presence_penalty", "2.5"},
        {"frequency_penalty", "-3"},
        {"repetition_penalty", "0"},
        {"seed", "1.5"},
        {"seed", "99999999999999999999"},
        {"n", "0"},
        {"n", "33"},
        {"n", "true"},
        {"best_of", "2"},
        {"max_tokens", "0"},
        {"max_tokens", "-1"},
        {"stop", "7"},
        {"stop", R"("")"},
        {"stop", R"(["a",7])"},
        {"logit_bias", "[]"},
        {"logit_bias", R"({"x":1})"},
        {"logit_bias", R"({"1":101})"},
        {"logit_bias", R"({"258":1})"},
        {"logprobs", "21"},
        {"logprobs", "true"},
        {"stream", "1"},
        {"stream_options", "{}"},
        {"suffix", R"("x")"},
        {"echo", R"("yes")"},
        {"response_format", R"({"type":"json_object"})"},
        {"response_format", "7"},
        {"tools", R"([{"type":"function"}])"},
        {"model", "7"},
    };
    for (const auto& [name, value] : bad) {
        const node::WebError error = refused(std::string(",\"") + name + "\":" + value);
        EXPECT_EQ(error.status, 400U) << name << " " << value;
        EXPECT_EQ(error.param, name) << value << ": " << error.message;
        EXPECT_NE(error.message, "") << name;
    }
    EXPECT_EQ(refused(R"(,"top_logprobs":2)", Endpoint::Chat).param, "top_logprobs");
    EXPECT_EQ(
        refused(R"(,"stop":)" + std::string("[") + std::string(33, ' ') + "1]").param, "stop"
    );
    EXPECT_TRUE(read(Endpoint::Text, R"({"prompt":"Hi","tools":[]})")) << "no tool is asked for";
}

TEST_F(CompletionRequestTest, BoundsTheAnswersOverAllPrompts) {
    std::string prompts = R"("a")";
    for (int i = 1; i < 17; ++i) {
        prompts += R"(,"a")";
    }
    EXPECT_TRUE(read(Endpoint::Text, "{\"prompt\":[" + prompts + "]}"));
    const auto request = read(Endpoint::Text, "{\"prompt\":[" + prompts + "],\"n\":2}");
    ASSERT_FALSE(request);
    EXPECT_EQ(request.error().param, "n");
}

TEST_F(CompletionRequestTest, APromptLeavesRoomInTheContext) {
    const auto of_length = [this](std::size_t length) {
        return read(
            Endpoint::Text, "{\"prompt\":\"" + std::string(length, 'a') + "\",\"max_tokens\":1000}"
        );
    };
    ASSERT_TRUE(of_length(399));
    EXPECT_EQ(of_length(399)->tokens_max.front(), 1U);
    for (const std::size_t length : {400, 10'000}) {  // the longer one is not tokenized
        ASSERT_FALSE(of_length(length));
        EXPECT_EQ(of_length(length).error().code, "context_length_exceeded");
        EXPECT_EQ(of_length(length).error().param, "prompt");
    }
    const auto chat = read(
        Endpoint::Chat,
        R"({"messages":[{"role":"user","content":")" + std::string(10'000, 'a') + "\"}]}"
    );
    ASSERT_FALSE(chat);
    EXPECT_EQ(chat.error().code, "context_length_exceeded");
}

TEST_F(CompletionRequestTest, TheModelIsTheOneThatIsServed) {
    EXPECT_TRUE(read(Endpoint::Text, R"({"model":"small","prompt":"Hi"})"));
    const auto request = read(Endpoint::Text, R"({"model":"gpt","prompt":"Hi"})");
    ASSERT_FALSE(request);
    EXPECT_EQ(request.error().status, 404U);
    EXPECT_EQ(request.error().code, "model_not_found");
}

TEST_F(CompletionRequestTest, AModelWithoutATemplateKnowsNoChats) {
    model_.chat.reset();
    const auto request = read(Endpoint::Chat, R"({"messages":[{"role":"user","content":"Hi"}]})");
    ASSERT_FALSE(request);
    EXPECT_EQ(request.error().code, "no_chat_template");
}

TEST_F(CompletionRequestTest, ATemplateThatRefusesAChatIsQuoted) {
    model_.tokenizer = tokenizers::ModelTokenizer(
        *tokenizers::ByteBpe::make(tokenizers::test::small_vocabulary()),
        "{{ raise_exception('roles must alternate') }}"
    );
    model_.chat = *tokenizers::ChatTemplate::compile(model_.tokenizer);
    const node::WebError error = refused("", Endpoint::Chat);
    EXPECT_EQ(error.status, 400U);
    EXPECT_EQ(error.param, "messages");
    EXPECT_NE(error.message.find("roles must alternate"), std::string::npos) << error.message;
}

TEST_F(CompletionRequestTest, AChatTemplateGetsTheDate) {
    model_.tokenizer = tokenizers::ModelTokenizer(
        *tokenizers::ByteBpe::make(tokenizers::test::small_vocabulary()),
        "{{ strftime_now('%Y-%m-%d') }}"
    );
    model_.chat = *tokenizers::ChatTemplate::compile(model_.tokenizer);
    const auto request = read_completion_request(
        Endpoint::Chat,
        R"({"messages":[{"role":"user","content":"Hi"}]})",
        model_,
        {.now_unix_s = 1'767'264'909}
    );
    ASSERT_TRUE(request);
    EXPECT_EQ(*model_.tokenizer.decode(request->prompts.front().tokens), "2026-01-01");
}

TEST_F(CompletionRequestTest, WhatIsNoJsonObjectIsRefused) {
    for (const std::string& bad :
         {std::string(),
          std::string("{"),
          std::string("[]"),
          std::string("7"),
          std::string("{\"prompt\":\"\xff\"}"),
          std::string(100, '['),
          R"({"prompt":)" + std::string(20, '[') + "1" + std::string(20, ']') + "}"}) {
        const auto request = read(Endpoint::Text, bad);
        ASSERT_FALSE(request) << bad;
        EXPECT_EQ(request.error().code, "invalid_json") << bad;
    }
}

}  // namespace
}  // namespace stacking::api
