// Requests and answers between clients on sockets and the server.
#include "tests/unit/http/http_fixture.hpp"

namespace swarm::http {
namespace {

using HttpServerTest = ServerTest;

TEST_F(HttpServerTest, AsksTheRoleAndAnswersWhatItSays) {
    start();
    const Answer answer = ask(post("/v1/completions?a=b%20c", "{}"));
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, "POST /v1/completions {}");
    EXPECT_EQ(answer.fields.at("Content-Type"), "application/json");
    EXPECT_TRUE(answer.fields.at("Date").ends_with(" GMT"));
    ASSERT_EQ(requests_.size(), 1U);
    EXPECT_EQ(requests_[0].query, "a=b%20c");
    EXPECT_EQ(requests_[0].user, "127.0.0.1");
    EXPECT_TRUE(gone_.empty());
}

TEST_F(HttpServerTest, GivesStatusTypeAndRetryAfterOfTheRole) {
    serve_ = [&](const node::WebRequest& request) {
        server_->reply(node::WebReply{
            request.exchange, 503, "text/plain", "full", false, std::chrono::seconds(7)});
    };
    start();
    const Answer answer = ask(get("/"));
    EXPECT_EQ(answer.status, 503);
    EXPECT_EQ(answer.fields.at("Content-Type"), "text/plain");
    EXPECT_EQ(answer.fields.at("Retry-After"), "7");
    EXPECT_EQ(answer.body, "full");
}

TEST_F(HttpServerTest, KeepsAConnectionForAHundredRequests) {
    start();
    Client client(port_);
    for (int i = 0; i < 100; ++i) {
        const std::string path = "/" + std::to_string(i);
        ASSERT_EQ(ask(client, get(path)).body, "GET " + path + " ");
    }
    EXPECT_EQ(server_->connections(), 1U);
    EXPECT_EQ(requests_.back().exchange, requests_.front().exchange + 99);
}

TEST_F(HttpServerTest, AnswersPipelinedRequestsInTheirOrder) {
    serve_ = [](const node::WebRequest&) {};
    start();
    Client client(port_);
    client.say(post("/first", "1") + post("/second", "2"));
    ASSERT_TRUE(run_until([&] { return requests_.size() == 1; }));
    EXPECT_FALSE(run_until([&] { return requests_.size() == 2; }, kMoment))
        << "the second request came before the first was answered";
    reply(requests_[0].exchange, "one");
    ASSERT_TRUE(run_until([&] { return requests_.size() == 2; }));
    reply(requests_[1].exchange, "two");
    EXPECT_EQ(read_answer(client).body, "one");
    EXPECT_EQ(read_answer(client).body, "two");
    EXPECT_TRUE(gone_.empty());
}

TEST_F(HttpServerTest, AnswersHeadWithoutABody) {
    start();
    Client client(port_);
    client.say("HEAD /x HTTP/1.1\r\nHost: a.localhost\r\n\r\n");
    const Answer head = read_answer(client, false);
    EXPECT_EQ(head.fields.at("Content-Length"), std::to_string(std::string("GET /x ").size()));
    EXPECT_EQ(ask(client, get("/y")).body, "GET /y ") << "a body followed the head";
}

TEST_F(HttpServerTest, TakesAChunkedBody) {
    start();
    Client client(port_);
    client.say("POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
    client.say("4;a=b\r\nswar\r\n");
    client.say("1\r\nm\r\n0\r\nHost: ignored\r\n\r\n");
    EXPECT_EQ(read_answer(client).body, "POST / swarm");
}

TEST_F(HttpServerTest, SaysContinueToWhoWaitsForIt) {
    start();
    Client client(port_);
    client.say(
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
    );
    EXPECT_EQ(read_answer(client).status, 100);
    client.say("ok");
    EXPECT_EQ(read_answer(client).body, "POST / ok");
}

TEST_F(HttpServerTest, SaysNoContinueToABodyThatIsTooLarge) {
    start();
    const Answer answer =
        ask("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999999999\r\n"
            "Expect: 100-continue\r\n\r\n");
    EXPECT_EQ(answer.status, 413);
}

TEST_F(HttpServerTest, ClosesAfterAnHttp10Request) {
    start();
    Client client(port_);
    EXPECT_EQ(ask(client, "GET /old HTTP/1.0\r\n\r\n").body, "GET /old ");
    EXPECT_TRUE(ends(client));
}

TEST_F(HttpServerTest, KeepsAnHttp10ConnectionOnlyIfAsked) {
    start();
    Client client(port_);
    const std::string request = "GET /old HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";
    EXPECT_EQ(ask(client, request).fields.at("Connection"), "keep-alive");
    EXPECT_EQ(ask(client, request).body, "GET /old ");
}

TEST_F(HttpServerTest, ClosesWhenTheClientSaysSo) {
    start();
    Client client(port_);
    const Answer answer = ask(client, get("/", "Connection: close\r\n"));
    EXPECT_EQ(answer.fields.at("Connection"), "close");
    EXPECT_TRUE(ends(client));
}

TEST_F(HttpServerTest, StopLetsAnAnswerEndAndTakesNoMore) {
    serve_ = [](const node::WebRequest&) {};
    start();
    Client busy(port_);
    busy.say(get("/"));
    Client idle(port_);
    ASSERT_TRUE(run_until([&] { return requests_.size() == 1 && server_->connections() == 2; }));
    server_->stop();
    EXPECT_TRUE(ends(idle));
    EXPECT_FALSE(server_->finished());
    reply(requests_[0].exchange, "done");
    const Answer answer = read_answer(busy);
    EXPECT_EQ(answer.body, "done");
    EXPECT_EQ(answer.fields.at("Connection"), "close");
    busy.hang_up();
    EXPECT_TRUE(run_until([&] { return server_->finished(); }));
    EXPECT_TRUE(gone_.empty());
}

TEST_F(HttpServerTest, StopEndsWhatDoesNotEndInTime) {
    serve_ = [](const node::WebRequest&) {};
    ServerOptions options;
    options.limits.stop_patience = std::chrono::milliseconds(50);
    start(options);
    Client client(port_);
    client.say(get("/"));
    ASSERT_TRUE(run_until([&] { return requests_.size() == 1; }));
    server_->stop();
    EXPECT_TRUE(run_until([&] { return server_->finished(); }));
    EXPECT_TRUE(ends(client));
    EXPECT_EQ(gone_, std::vector{requests_[0].exchange});
}

TEST_F(HttpServerTest, MayEndWhileAnswersAreUnderWay) {
    serve_ = [](const node::WebRequest&) {};
    start();
    Client client(port_);
    client.say(get("/"));
    ASSERT_TRUE(run_until([&] { return requests_.size() == 1; }));
    server_.reset();
    EXPECT_TRUE(ends(client));
    EXPECT_TRUE(gone_.empty());
}

TEST_F(HttpServerTest, RefusesAnAddressThatIsNone) {
    ServerOptions options;
    options.listen_address = "not an address";
    HttpServer server(loop_, options, [](const node::Asked&) {});
    const Result<std::uint16_t> port = server.listen();
    ASSERT_FALSE(port.has_value());
    EXPECT_EQ(port.error().code, ErrorCode::Usage);
}

}  // namespace
}  // namespace swarm::http
