#include "tests/unit/stacking_api/api_bench.hpp"

#include <gtest/gtest.h>

namespace stacking::api {
namespace {

using namespace std::chrono_literals;
using test::ApiBench;

std::string text_of(const boost::json::value& answer, std::size_t choice = 0) {
    return std::string(answer.at("choices").at(choice).at("text").as_string());
}

std::string end_of(const boost::json::value& answer, std::size_t choice = 0) {
    return std::string(answer.at("choices").at(choice).at("finish_reason").as_string());
}

/// Returns the JSON of each event of a stream, without comments and the last line.
std::vector<boost::json::value> events_of(const std::string& stream) {
    std::vector<boost::json::value> events;
    std::size_t at = 0;
    while (at < stream.size()) {
        const std::size_t end = stream.find("\n\n", at);
        EXPECT_NE(end, std::string::npos) << "each event ends with an empty line";
        const std::string event = stream.substr(at, end - at);
        at = end == std::string::npos ? stream.size() : end + 2;
        if (event.starts_with("data: {")) {
            events.push_back(boost::json::parse(event.substr(6)));
        }
    }
    return events;
}

TEST(ApiServer, AnswersAWholeText) {
    ApiBench bench;
    bench.serve();
    const auto exchange = bench.complete(R"(,"max_tokens":3)");
    bench.run();
    ASSERT_EQ(bench.told(exchange).status, 200U);
    EXPECT_TRUE(bench.told(exchange).is_whole);
    const auto answer = bench.json(exchange);
    EXPECT_EQ(text_of(answer), "abc");
    EXPECT_EQ(end_of(answer), "length");
    EXPECT_EQ(answer.at("object").as_string(), "text_completion");
    EXPECT_EQ(answer.at("model").as_string(), "small");
    EXPECT_EQ(answer.at("created").as_int64(), 1'000'000);
    EXPECT_EQ(answer.at("usage").at("prompt_tokens").as_int64(), 2);
    EXPECT_EQ(answer.at("usage").at("completion_tokens").as_int64(), 3);
    EXPECT_TRUE(bench.sessions_.empty());
}

TEST(ApiServer, StreamsAChat) {
    ApiBench bench;
    bench.serve();
    const auto exchange = bench.ask(
        "/v1/chat/completions",
        R"({"messages":[{"role":"user","content":"Hi"}],"max_tokens":3,"stream":true,
            "stream_options":{"include_usage":true}})"
    );
    bench.run();
    EXPECT_EQ(bench.told(exchange).type, "text/event-stream");
    EXPECT_TRUE(bench.told(exchange).is_whole);
    EXPECT_TRUE(bench.told(exchange).bytes.ends_with("data: [DONE]\n\n"));
    const auto events = events_of(bench.told(exchange).bytes);
    ASSERT_EQ(events.size(), 6U);
    const auto delta = [&](std::size_t i) { return events[i].at("choices").at(0).at("delta"); };
    EXPECT_EQ(delta(0).at("role").as_string(), "assistant");
    for (std::size_t i = 1; i <= 3; ++i) {
        EXPECT_EQ(delta(i).at("content").as_string(), std::string(1, static_cast<char>('`' + i)));
        EXPECT_TRUE(events[i].at("choices").at(0).at("finish_reason").is_null());
    }
    EXPECT_EQ(end_of(events[4]), "length");
    EXPECT_TRUE(events[5].at("choices").as_array().empty());
    EXPECT_EQ(events[5].at("usage").at("completion_tokens").as_int64(), 3);
    for (const auto& event : events) {
        EXPECT_EQ(event.at("id"), events[0].at("id"));
        EXPECT_EQ(event.at("object").as_string(), "chat.completion.chunk");
    }
}

TEST(ApiServer, AnEndTokenEndsTheTextAndTheSession) {
    ApiBench bench;
    bench.serve();
    bench.script = [](const auto&, std::uint32_t at) { return at == 2 ? TokenId{257} : 'x'; };
    const auto exchange = bench.complete(R"(,"max_tokens":9)");
    bench.run();
    EXPECT_EQ(text_of(bench.json(exchange)), "xx");
    EXPECT_EQ(end_of(bench.json(exchange)), "stop");
    EXPECT_TRUE(bench.sessions_.empty()) << "its pages are free";
    const auto longer = bench.complete(R"(,"max_tokens":4,"ignore_eos":true)");
    bench.run();
    EXPECT_EQ(text_of(bench.json(longer)), "xx<|im_end|>x");
    EXPECT_EQ(end_of(bench.json(longer)), "length");
}

TEST(ApiServer, AStopTextNeverLeaks) {
    for (const char* stream : {"false", "true"}) {
        ApiBench bench;
        bench.serve();
        const auto exchange = bench.complete(
            std::string(R"(,"max_tokens":26,"stop":["xyz","efg"],"stream":)") + stream
        );
        bench.run();
        std::string text;
        if (stream == std::string("true")) {
            for (const auto& event : events_of(bench.told(exchange).bytes)) {
                text += text_of(event);
                EXPECT_EQ(text_of(event).find('e'), std::string::npos) << "held until it is known";
            }
            EXPECT_EQ(end_of(events_of(bench.told(exchange).bytes).back()), "stop");
        } else {
            text = text_of(bench.json(exchange));
        }
        EXPECT_EQ(text, "abcd");
        EXPECT_TRUE(bench.sessions_.empty());
    }
}

TEST(ApiServer, ACharacterOfSeveralTokensComesWhole) {
    ApiBench bench;
    bench.serve();
    const std::string smile = "\xf0\x9f\x98\x80";
    bench.script = [&](const auto&, std::uint32_t at) {
        return TokenId{static_cast<unsigned char>(smile[at % 4])};
    };
    const auto exchange = bench.complete(R"(,"max_tokens":8,"stream":true)");
    bench.run();
    std::string text;
    for (const auto& event : events_of(bench.told(exchange).bytes)) {
        text += text_of(event);
    }
    EXPECT_EQ(text, smile + smile);
    const auto cut = bench.complete(R"(,"max_tokens":6)");
    bench.run();
    EXPECT_EQ(text_of(bench.json(cut)), smile + "\xef\xbf\xbd") << "a part is no character";
}

TEST(ApiServer, GivesEachAnswerASeedOfItsOwn) {
    ApiBench bench;
    bench.serve();
    bench.complete(R"(,"max_tokens":1,"n":3,"seed":11)");
    bench.run();
    ASSERT_EQ(bench.opened.size(), 3U);
    EXPECT_EQ(bench.opened[0].sampling.seed, 11U);
    EXPECT_NE(bench.opened[1].sampling.seed, bench.opened[0].sampling.seed);
    EXPECT_NE(bench.opened[2].sampling.seed, bench.opened[1].sampling.seed);
    bench.complete(R"(,"max_tokens":1,"n":3,"seed":11)");
    bench.run();
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(bench.opened[i].sampling, bench.opened[i + 3].sampling) << "the same again";
    }
}

TEST(ApiServer, NumbersTheAnswersOfSeveralPrompts) {
    ApiBench bench;
    bench.serve();
    bench.script = [](const protocol::SessionOpen& open, std::uint32_t) {
        return TokenId{'0'} + open.sampling.generated_from;
    };
    const auto exchange =
        bench.ask("/v1/completions", R"({"prompt":["a","bb"],"n":2,"max_tokens":2,"echo":true})");
    bench.run();
    const auto answer = bench.json(exchange);
    ASSERT_EQ(answer.at("choices").as_array().size(), 4U);
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(answer.at("choices").at(i).at("index").as_int64(), static_cast<int>(i));
        EXPECT_EQ(text_of(answer, i), i < 2 ? "a11" : "bb22");
    }
    EXPECT_EQ(answer.at("usage").at("prompt_tokens").as_int64(), 3) << "each prompt once";
    EXPECT_EQ(answer.at("usage").at("completion_tokens").as_int64(), 8);
}

TEST(ApiServer, TellsProbabilities) {
    ApiBench bench;
    bench.serve();
    const auto text = bench.complete(R"(,"max_tokens":2,"logprobs":1,"temperature":0)");
    const auto chat = bench.ask(
        "/v1/chat/completions",
        R"({"messages":[{"role":"user","content":"Hi"}],"max_tokens":1,"logprobs":true,
            "top_logprobs":2,"return_token_ids":true})"
    );
    bench.run();
    const auto of_text = bench.json(text).at("choices").at(0).at("logprobs");
    EXPECT_EQ(of_text.at("tokens"), boost::json::parse(R"(["a","b"])"));
    EXPECT_EQ(of_text.at("token_logprobs"), boost::json::parse("[-0.5,-0.5]"));
    EXPECT_EQ(of_text.at("top_logprobs"), boost::json::parse(R"([{"a":-0.5},{"b":-0.5}])"));
    EXPECT_EQ(of_text.at("text_offset"), boost::json::parse("[0,1]"));
    const auto choice = bench.json(chat).at("choices").at(0);
    const auto told = choice.at("logprobs").at("content").at(0);
    EXPECT_EQ(told.at("token").as_string(), "a");
    EXPECT_EQ(told.at("bytes"), boost::json::parse("[97]"));
    EXPECT_EQ(told.at("top_logprobs").as_array().size(), 2U);
    EXPECT_EQ(told.at("top_logprobs").at(1).at("token").as_string(), "z");
    EXPECT_EQ(choice.at("token_ids"), boost::json::parse("[97]"));
}

TEST(ApiServer, AClientThatHangsUpFreesItsPages) {
    ApiBench bench;
    bench.serve();
    const auto exchange = bench.complete(R"(,"max_tokens":9,"n":2,"stream":true)");
    ASSERT_TRUE(bench.step());
    EXPECT_EQ(bench.sessions_.size(), 2U);
    bench.hang_up(exchange);
    EXPECT_TRUE(bench.sessions_.empty());
    const std::string told = bench.told(exchange).bytes;
    bench.run();
    EXPECT_EQ(bench.told(exchange).bytes, told);
    const auto state = bench.ask("/api/state", "", "alice", "GET");
    EXPECT_EQ(bench.json(state).at("answers_running").as_int64(), 0);
}

TEST(ApiServer, BodiesWaitForTheDeviceWithinABound) {
    ApiBench bench;
    bench.serve();
    bench.reads = false;
    const std::string large = R"({"prompt":")" + std::string(4 << 20, 'a') + "\"}";
    std::vector<std::uint64_t> asked;
    for (int i = 0; i < 20; ++i) {
        asked.push_back(bench.ask("/v1/completions", large));
    }
    const auto refused = std::ranges::count_if(asked, [&](std::uint64_t exchange) {
        return bench.told(exchange).status == 503;
    });
    EXPECT_EQ(refused, 5) << "15 bodies of 4 MiB and some bytes fit into 64 MiB";
    bench.hang_up(asked.front());
    bench.read();
    EXPECT_EQ(bench.told(asked.front()).status, 0U) << "nobody is there";
    EXPECT_EQ(bench.told(asked[1]).status, 400U);
    EXPECT_EQ(bench.json(asked[1]).at("error").at("code").as_string(), "context_length_exceeded");
    bench.reads = true;
    const auto next = bench.complete(R"(,"max_tokens":1)");
    bench.run();
    EXPECT_EQ(bench.told(next).status, 200U);
}

TEST(ApiServer, WhoeverWaitsGetsAPlaceInTurn) {
    ApiBench bench;
    bench.serve();
    const std::size_t places = sessions::SessionClient::kSessionsMax;
    for (std::size_t i = 0; i < 2 * places; ++i) {
        bench.complete(R"(,"max_tokens":4)", "flood");
    }
    EXPECT_EQ(bench.sessions_.size(), places - ApiServer::kPlacesForOthers);
    const auto guest = bench.complete(R"(,"max_tokens":4)", "guest");
    EXPECT_EQ(bench.sessions_.size(), places - ApiServer::kPlacesForOthers + 1)
        << "places are left for others";
    bench.run();
    for (std::uint64_t exchange = 1; exchange <= guest; ++exchange) {
        ASSERT_EQ(bench.told(exchange).status, 200U) << exchange;
        EXPECT_EQ(text_of(bench.json(exchange)), "abcd");
    }
    EXPECT_LE(bench.most_sessions, places);
}

TEST(ApiServer, RefusesMoreThanMayWaitAndSaysWhenToComeAgain) {
    ApiBench bench;
    bench.serve();
    std::uint64_t last = 0;
    for (std::size_t i = 0; i < 400 && bench.told(last).status == 0; ++i) {
        last = bench.complete(R"(,"max_tokens":4)", "flood");
    }
    EXPECT_EQ(bench.told(last).status, 429U);
    EXPECT_TRUE(bench.told(last).retry_after);
    EXPECT_EQ(bench.json(last).at("error").at("code").as_string(), "too_many_requests");
    const auto guest = bench.complete(R"(,"max_tokens":4)", "guest");
    EXPECT_EQ(bench.told(guest).status, 0U) << "it is another user";
}

TEST(ApiServer, WaitsWhilePeersAreFullAndThenSaysSo) {
    ApiBench bench;
    bench.serve();
    bench.is_full = true;
    const auto patient = bench.complete(R"(,"max_tokens":2)");
    bench.pass(20s);
    EXPECT_EQ(bench.told(patient).status, 0U);
    bench.is_full = false;
    bench.pass(10s);
    bench.run();
    EXPECT_EQ(bench.told(patient).status, 200U);
    bench.is_full = true;
    const auto unlucky = bench.complete(R"(,"max_tokens":2)");
    bench.pass(ApiServer::kPlaceWithin - 5s);
    EXPECT_EQ(bench.told(unlucky).status, 0U);
    bench.pass(6s);
    EXPECT_EQ(bench.told(unlucky).status, 503U);
    EXPECT_TRUE(bench.told(unlucky).retry_after);
}

TEST(ApiServer, WithoutPeersARequestEndsAfterThePatience) {
    ApiBench bench;
    const auto health = bench.ask("/health", "", "alice", "GET");
    EXPECT_EQ(bench.told(health).status, 503U);
    const auto whole = bench.complete("");
    const auto stream = bench.complete(R"(,"stream":true)");
    bench.pass(59s);
    EXPECT_EQ(bench.told(whole).status, 0U);
    EXPECT_EQ(bench.told(stream).status, 200U) << "a stream begins before proxies lose patience";
    EXPECT_FALSE(bench.told(stream).is_whole);
    EXPECT_NE(bench.told(stream).bytes.find(": the answer is under way\n\n"), std::string::npos);
    bench.pass(2s);
    EXPECT_EQ(bench.told(whole).status, 503U);
    EXPECT_TRUE(bench.told(whole).retry_after);
    EXPECT_TRUE(bench.told(stream).is_whole);
    const auto events = events_of(bench.told(stream).bytes);
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events.front().at("error").at("code").as_string(), "no_peers");
    bench.serve();
    const auto again = bench.ask("/health", "", "alice", "GET");
    EXPECT_EQ(bench.told(again).status, 200U);
}

TEST(ApiServer, RefusesWhatItDoesNotKnow) {
    ApiBench bench;
    bench.serve();
    const auto status = [&](const char* method, const char* path, const char* body = "") {
        return bench.told(bench.ask(path, body, "alice", method)).status;
    };
    EXPECT_EQ(status("GET", "/v1/models"), 200U);
    EXPECT_EQ(status("GET", "/v1/models/small"), 200U);
    EXPECT_EQ(status("GET", "/v1/models/large"), 404U);
    EXPECT_EQ(status("GET", "/v1/models/"), 400U);
    EXPECT_EQ(status("POST", "/v1/models"), 405U);
    EXPECT_EQ(status("GET", "/v1/chat/completions"), 405U);
    EXPECT_EQ(status("DELETE", "/"), 405U);
    EXPECT_EQ(status("GET", "/v1/nothing"), 404U);
    EXPECT_EQ(status("GET", "/v1/models-of-others"), 404U);
    EXPECT_EQ(status("POST", "/v1/embeddings", R"({"input":"a"})"), 400U);
    EXPECT_EQ(status("POST", "/v1/completions", "{"), 400U);
    EXPECT_EQ(status("POST", "/tokenize", "{}"), 400U);
    EXPECT_EQ(status("POST", "/detokenize", R"({"tokens":[258]})"), 400U);
}

TEST(ApiServer, TokenizesAndDetokenizes) {
    ApiBench bench;
    const auto tokens = bench.ask("/tokenize", R"({"prompt":"Hi"})");
    EXPECT_EQ(
        bench.json(tokens),
        boost::json::parse(R"({"count":2,"max_model_len":400,"tokens":[72,105]})")
    );
    const auto content = bench.ask("/tokenize", R"({"content":"Hi"})");
    EXPECT_EQ(bench.json(content), bench.json(tokens));
    const auto chat = bench.ask("/tokenize", R"({"messages":[{"role":"user","content":"Hi"}]})");
    EXPECT_EQ(bench.json(chat).at("tokens").at(0).as_int64(), 256);
    const auto text = bench.ask("/detokenize", R"({"tokens":[72,105,255]})");
    EXPECT_EQ(bench.json(text).at("prompt").as_string(), "Hi\xef\xbf\xbd");
}

TEST(ApiServer, CountsForPrometheus) {
    ApiBench bench;
    bench.serve();
    bench.complete(R"(,"max_tokens":3)");
    bench.run();
    const auto exchange = bench.ask("/metrics", "", "alice", "GET");
    const std::string& text = bench.told(exchange).bytes;
    for (const char* line :
         {"vllm:prompt_tokens_total{model_name=\"small\"} 2",
          "vllm:generation_tokens_total{model_name=\"small\"} 3",
          "llamacpp:tokens_predicted_total{model_name=\"small\"} 3",
          "vllm:num_requests_running{model_name=\"small\"} 0",
          "vllm:time_to_first_token_seconds_count{model_name=\"small\"} 1",
          "vllm:time_per_output_token_seconds_count{model_name=\"small\"} 2",
          "vllm:request_success_total{finished_reason=\"length\",model_name=\"small\"} 1"}) {
        EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
    }
}

TEST(ApiServer, ShowsItsPeersToThoseWhoWatch) {
    ApiBench bench;
    const auto events = bench.ask("/events", "", "alice", "GET");
    bench.serve();
    bench.pass(2500ms);
    const std::string& told = bench.told(events).bytes;
    EXPECT_FALSE(bench.told(events).is_whole);
    std::size_t count = 0;
    for (std::size_t at = told.find("event: state"); at != std::string::npos;
         at = told.find("event: state", at + 1)) {
        ++count;
    }
    EXPECT_EQ(count, 6U) << "one at once, and one each half second";
    const std::string last = told.substr(told.rfind("data: ") + 6);
    const auto state = boost::json::parse(last);
    EXPECT_TRUE(state.at("served").as_bool());
    const auto stage = state.at("models").at(0).at("stages").at(0);
    EXPECT_EQ(stage.at("layers"), boost::json::parse("[0,1]"));
    EXPECT_EQ(stage.at("peers").at(0).at("share").as_double(), 1);
    bench.hang_up(events);
    bench.pass(5s);
    EXPECT_EQ(bench.told(events).bytes, told);
}

TEST(ApiServer, AsksForItsPeersMoreOftenWhileSomebodyWatches) {
    ApiBench bench;
    bench.serve();
    bench.locates = 0;
    bench.pass(10s);
    EXPECT_EQ(bench.locates, 5U) << "one each 2 s";
    bench.locates = 0;
    bench.pass(900ms);
    const auto events = bench.ask("/events", "", "alice", "GET");
    EXPECT_EQ(bench.locates, 1U) << "a list of 900 ms ago is old";
    bench.pass(1s);
    EXPECT_EQ(bench.locates, 3U);
    bench.ask("/events", "", "bert", "GET");
    EXPECT_EQ(bench.locates, 3U) << "the list is new";
    bench.hang_up(events);
}

TEST(ApiServer, SaysWhyAPeerIsGone) {
    const auto reason = [](swarm::Duration between, bool is_back) {
        ApiBench bench;
        bench.serve();
        bench.on(node::LinkUp{ApiBench::kHost, node::Lane::Control, {1}, true});
        bench.on(node::LinkDown{ApiBench::kHost, node::Lane::Control});
        if (is_back) {
            bench.on(node::LinkUp{ApiBench::kHost, node::Lane::Control, {1}, true});
        }
        bench.pass(between);
        bench.list({});
        const auto state = bench.json(bench.ask("/api/state", "", "alice", "GET"));
        EXPECT_EQ(state.at("events").at(0).at("what").as_string(), "peer gone");
        return std::string(state.at("events").at(0).at("reason").as_string());
    };
    EXPECT_EQ(reason(1s, false), "its connection ended");
    EXPECT_EQ(reason(1s, true), "the directory lists it no more");
    EXPECT_EQ(reason(20s, false), "the directory lists it no more") << "the link was idle";
}

}  // namespace
}  // namespace stacking::api
