// Clients that send too much, too slowly, or nothing that makes sense.
#include "tests/unit/http/http_fixture.hpp"

namespace swarm::http {
namespace {

class ServerLimitsTest : public ServerTest {
 protected:
    void expect_refusal(const std::string& request, int status, const std::string& code) {
        Client client(port_);
        const Answer answer = ask(client, request);
        EXPECT_EQ(answer.status, status) << request.substr(0, 200);
        EXPECT_NE(answer.body.find("\"code\":\"" + code + "\""), std::string::npos) << answer.body;
        EXPECT_TRUE(answer.body.starts_with(R"({"error":{"message":")")) << answer.body;
        EXPECT_EQ(answer.fields.at("Connection"), "close");
        EXPECT_TRUE(ends(client)) << request.substr(0, 200);
        EXPECT_TRUE(requests_.empty());
    }
};

TEST_F(ServerLimitsTest, RefusesAHeadThatIsTooLarge) {
    start();
    expect_refusal(get("/", "X: " + std::string(16U << 10, 'x') + "\r\n"), 431, "head_too_large");
    std::string many;
    for (int i = 0; i < 101; ++i) {
        many += "X: y\r\n";
    }
    expect_refusal(get("/", many), 431, "too_many_fields");
    expect_refusal("GET /" + std::string(1U << 20, 'x'), 431, "head_too_large");
}

TEST_F(ServerLimitsTest, RefusesABodyThatIsTooLarge) {
    ServerOptions options;
    options.limits.body_bytes_max = 1000;
    start(options);
    expect_refusal(post("/", std::string(1001, 'x')), 413, "request_too_large");
    const std::string chunked = "Transfer-Encoding: chunked\r\n\r\n";
    const std::string head = "POST / HTTP/1.1\r\nHost: localhost\r\n" + chunked;
    expect_refusal(head + "3e9\r\n", 413, "request_too_large");
    const std::string half = "1f4\r\n" + std::string(500, 'x') + "\r\n";
    expect_refusal(head + half + half + "1\r\n", 413, "request_too_large");
    EXPECT_EQ(ask(post("/", std::string(1000, 'x'))).status, 200);
}

TEST_F(ServerLimitsTest, RefusesABodyForWhichThereIsNoMemory) {
    ServerOptions options;
    options.limits.bodies_bytes_max = 100'000;
    start(options);
    Client first(port_);
    first.say("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 90000\r\n\r\n");
    first.say(std::string(80'000, 'x'));
    ASSERT_TRUE(run_until([&] { return server_->connections() == 1; }));
    (void)run_until([] { return false; }, kMoment);  // until the server has read it
    Client second(port_);
    const Answer answer = ask(second, post("/", std::string(50'000, 'y')));
    EXPECT_EQ(answer.status, 503);
    EXPECT_EQ(answer.fields.at("Retry-After"), "1");
    EXPECT_EQ(ask(first, std::string(10'000, 'x')).status, 200);
    EXPECT_EQ(ask(post("/", std::string(90'000, 'z'))).status, 200) << "the memory is free again";
}

TEST_F(ServerLimitsTest, AMachineThatSendsTheMostBodiesMakesRoomForOthers) {
    ServerOptions options;
    options.limits.bodies_bytes_max = 100'000;
    start(options);
    const std::string half = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50000\r\n\r\n" +
                             std::string(45'000, 'x');
    Client first(port_);
    first.say(half);
    Client second(port_);
    second.say(half);
    ASSERT_TRUE(run_until([&] { return server_->connections() == 2; }));
    (void)run_until([] { return false; }, kMoment);  // until the server has read them
    constexpr in_addr_t kNeighbour = INADDR_LOOPBACK + 1;
    Client neighbour(port_, 0, kNeighbour);
    EXPECT_EQ(ask(neighbour, post("/", std::string(30'000, 'y'))).status, 200);
    first.hear();
    Client& loser = first.came().empty() ? second : first;
    Client& winner = first.came().empty() ? first : second;
    EXPECT_EQ(read_answer(loser).status, 503);
    EXPECT_EQ(ask(winner, std::string(5'000, 'x')).status, 200);
}

TEST_F(ServerLimitsTest, RefusesARequestThatEndsInTheMiddle) {
    start();
    for (const std::string& half :
         {std::string("GET / HT"), post("/", "whole").substr(0, post("/", "whole").size() - 1)}) {
        Client client(port_);
        client.say(half);
        client.end_sending();
        EXPECT_EQ(read_answer(client).status, 400) << half;
        EXPECT_TRUE(ends(client));
    }
    EXPECT_TRUE(requests_.empty());
}

TEST_F(ServerLimitsTest, RefusesABodyThatRests) {
    ServerOptions options;
    options.limits.body_pause_max = kMoment;
    options.limits.body_bytes_per_s_min = 1;
    start(options);
    expect_refusal(
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999\r\n\r\n" + std::string(500, 'x'),
        408,
        "request_timeout"
    );
}

TEST_F(ServerLimitsTest, ReadsLittleOfABodyThatItHasRefused) {
    ServerOptions options;
    options.limits.farewell_patience = kPatience;
    options.limits.farewell_bytes_max = 1U << 20;
    start(options);
    Client client(port_);
    client.say("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1073741824\r\n\r\n");
    EXPECT_EQ(read_answer(client).status, 413);
    const std::string more(64U << 10, 'x');
    std::size_t said = 0;
    const bool ended = run_until([&] {
        said += client.say(more);
        client.hear();
        return client.has_ended() && server_->connections() == 0;
    });
    EXPECT_TRUE(ended);
    EXPECT_LT(said, 32U << 20);
}

TEST_F(ServerLimitsTest, RefusesAHeadThatComesTooSlowly) {
    ServerOptions options;
    options.limits.head_patience = kMoment;
    start(options);
    expect_refusal("GET / HTTP/1.1\r\nHost:", 408, "request_timeout");
    Client silent(port_);
    EXPECT_TRUE(ends(silent));
    EXPECT_EQ(silent.came(), "") << "a client that asked nothing gets no answer";
}

TEST_F(ServerLimitsTest, RefusesABodyThatComesTooSlowly) {
    ServerOptions options;
    options.limits.body_patience = kMoment;
    start(options);
    expect_refusal(
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nhalf",
        408,
        "request_timeout"
    );
}

TEST_F(ServerLimitsTest, GivesABodyTimeForWhatHasCome) {
    ServerOptions options;
    options.limits.body_patience = kMoment;
    options.limits.body_bytes_per_s_min = 1;
    start(options);
    Client client(port_);
    client.say("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nhalf");
    EXPECT_FALSE(ends(client, 2 * kMoment));
    EXPECT_EQ(ask(client, "whole").status, 200);
}

TEST_F(ServerLimitsTest, ClosesAConnectionThatIsIdle) {
    ServerOptions options;
    options.limits.idle_patience = kMoment;
    start(options);
    Client client(port_);
    EXPECT_EQ(ask(client, get("/")).status, 200);
    EXPECT_TRUE(ends(client));
    EXPECT_EQ(client.came(), "");
}

TEST_F(ServerLimitsTest, RefusesWhatTwoProgramsCouldReadDifferently) {
    start();
    const std::string head = "POST / HTTP/1.1\r\nHost: localhost\r\n";
    const std::string chunked = "Transfer-Encoding: chunked\r\n";
    const std::vector<std::string> requests = {
        head + "Content-Length: 5\r\n" + chunked + "\r\n0\r\n\r\n",
        head + chunked + "Content-Length: 5\r\n\r\n0\r\n\r\n",
        head + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        head + "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
        head + "Content-Length: 5, 5\r\n\r\nhello",
        head + "Content-Length: +5\r\n\r\nhello",
        head + "Content-Length: 0x5\r\n\r\nhello",
        head + "Content-Length: \r\n\r\nhello",
        head + "Content-Length : 5\r\n\r\nhello",
        head + chunked + chunked + "\r\n0\r\n\r\n",
        head + "X: a\r\n folded\r\n\r\n",
        head + " X: a\r\n\r\n",
        head + "X: a\nContent-Length: 5\r\n\r\nhello",
        head + "X: a\rContent-Length: 5\r\n\r\nhello",
        head + std::string("X: a\0b\r\n\r\n", 10),
        "GET / HTTP/1.1\nHost: localhost\n\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "POST / HTTP/1.0\r\nHost: localhost\r\n" + chunked + "\r\n0\r\n\r\n",
    };
    for (const std::string& request : requests) {
        expect_refusal(request, 400, "bad_request");
    }
    for (const std::string coding : {"gzip, chunked", "chunked, chunked", "xchunked", "identity"}) {
        const std::string field = "Transfer-Encoding: " + coding + "\r\n\r\n";
        expect_refusal(head + field, 501, "transfer_coding");
    }
}

TEST_F(ServerLimitsTest, RefusesBadChunks) {
    start();
    const std::string head =
        "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (const std::string body :
         {"zz\r\n", "5\r\nhello!!\r\n", "-1\r\n", "5\nhello\r\n", "ffffffffffffffffff\r\n"}) {
        expect_refusal(head + body + "more\r\n", 400, "bad_request");
    }
    expect_refusal(head + "5;" + std::string(20'000, 'x'), 400, "bad_request");
}

TEST_F(ServerLimitsTest, RefusesGarbage) {
    start();
    const std::string hello("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11);
    for (const std::string& request :
         {std::string("SSH-2.0-OpenSSH_9.2\r\n\r\n"),
          hello,
          std::string(1000, '\0'),
          std::string("\r\n\r\n\r\n\r\n"),
          std::string("GET\r\n\r\n"),
          std::string("GET  / HTTP/1.1\r\n\r\n"),
          std::string("CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n"),
          get("/../etc/passwd"),
          get("/a/%2e%2e/b"),
          get("/%00"),
          get("/%ff"),
          get("/%zz"),
          get("etc")}) {
        expect_refusal(request, 400, "bad_request");
    }
    expect_refusal("GET / HTTP/2.0\r\nHost: localhost\r\n\r\n", 505, "http_version");
    expect_refusal("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, "http_version");
    expect_refusal(get("/", "Content-Encoding: gzip\r\n"), 415, "content_coding");
    expect_refusal(get("/", "Expect: miracles\r\n"), 417, "expectation");
}

TEST_F(ServerLimitsTest, MakesRoomAmongThoseThatAskNothing) {
    ServerOptions options;
    options.limits.connections_max = 2;
    serve_ = [](const node::WebRequest&) {};
    start(options);
    Client busy(port_);
    busy.say(get("/"));
    ASSERT_TRUE(run_until([&] { return requests_.size() == 1; }));
    Client silent(port_);
    ASSERT_TRUE(run_until([&] { return server_->connections() == 2; }));
    Client newcomer(port_);
    newcomer.say(get("/"));
    ASSERT_TRUE(run_until([&] { return requests_.size() == 2; }));
    EXPECT_EQ(read_answer(silent).status, 503);
    EXPECT_TRUE(ends(silent));
    Client late(port_);
    const Answer answer = read_answer(late);
    EXPECT_EQ(answer.status, 503) << "the other two have an answer under way";
    EXPECT_EQ(answer.fields.at("Retry-After"), "1");
    EXPECT_TRUE(gone_.empty());
    EXPECT_EQ(server_->connections(), 2U);
}

TEST_F(ServerLimitsTest, MakesRoomForACrowdAmongThoseThatStillAskNothing) {
    ServerOptions options;
    options.limits.connections_max = 4;
    serve_ = [](const node::WebRequest&) {};
    start(options);
    std::vector<Client> silent;
    for (std::size_t i = 0; i < 4; ++i) {
        silent.emplace_back(port_);
        ASSERT_TRUE(run_until([&] { return server_->connections() == i + 1; }));
    }
    Client newcomer(port_);
    newcomer.say(get("/"));
    ASSERT_TRUE(run_until([&] { return requests_.size() == 1; }));
    EXPECT_EQ(read_answer(silent[0]).status, 503);
    silent[1].say(get("/"));
    ASSERT_TRUE(run_until([&] { return requests_.size() == 2; }));
    Client another(port_);
    another.say(get("/"));
    ASSERT_TRUE(run_until([&] { return requests_.size() == 3; }));
    EXPECT_EQ(read_answer(silent[2]).status, 503);
    EXPECT_TRUE(gone_.empty());
    EXPECT_EQ(server_->connections(), 4U);
}

TEST_F(ServerLimitsTest, ReadsALittleAheadAndNoMore) {
    serve_ = [](const node::WebRequest&) {};
    start();
    Client client(port_);
    client.say(get("/"));
    ASSERT_TRUE(run_until([&] { return requests_.size() == 1; }));
    const std::string more(64U << 10, 'x');
    std::size_t said = 0;
    // The socket's buffers fill up, because the server does not read what it cannot use yet.
    std::size_t at_rest = 0;
    while (at_rest < 20 && said < (64U << 20)) {
        const std::size_t now = client.say(more);
        said += now;
        at_rest = now == 0 ? at_rest + 1 : 0;
        (void)run_until([] { return false; }, std::chrono::milliseconds(5));
    }
    EXPECT_LT(said, 32U << 20);
}

}  // namespace
}  // namespace swarm::http
