// Answers that come piece by piece, and clients that leave or do not read.
#include "tests/unit/http/http_fixture.hpp"

namespace swarm::http {
namespace {

class ServerStreamTest : public ServerTest {
 protected:
    ServerStreamTest() {
        serve_ = [this](const node::WebRequest& request) { begin_stream(request.exchange); };
    }

    void stream(std::string bytes, bool last = false) {
        server_->reply(node::WebPiece{requests_.back().exchange, std::move(bytes), last});
    }

    /// Begins a stream and reads its head.
    Answer open(Client& client, const std::string& request = get("/events")) {
        client.say(request);
        return read_answer(client, false);
    }

    /// Reads until the body has all of the text.
    std::string read_body(Client& client, const std::string& text) {
        std::string body;
        EXPECT_TRUE(run_until([&] {
            client.hear();
            return take_chunks(client.came(), body) || body.size() >= text.size();
        }));
        return body;
    }
};

TEST_F(ServerStreamTest, SendsEachPieceAtOnce) {
    start();
    Client client(port_);
    const Answer head = open(client);
    EXPECT_EQ(head.fields.at("Content-Type"), "text/event-stream");
    EXPECT_EQ(head.fields.at("Cache-Control"), "no-store");
    EXPECT_EQ(head.fields.at("Transfer-Encoding"), "chunked");
    EXPECT_FALSE(head.fields.contains("Content-Length"));
    for (const std::string piece : {"data: 1\n\n", "data: 2\n\n"}) {
        stream(piece);
        EXPECT_EQ(read_body(client, piece), piece);
    }
    stream("");  // would end the stream if it were sent as a chunk
    stream("data: [DONE]\n\n", true);
    std::string body;
    EXPECT_TRUE(run_until([&] {
        client.hear();
        return take_chunks(client.came(), body);
    }));
    EXPECT_EQ(body, "data: [DONE]\n\n");
    serve_ = [this](const node::WebRequest& request) { reply(request.exchange, "next"); };
    EXPECT_EQ(ask(client, get("/")).body, "next") << "the connection stays";
    EXPECT_TRUE(gone_.empty());
}

TEST_F(ServerStreamTest, TellsOnceThatTheClientHungUp) {
    start();
    Client client(port_);
    open(client);
    client.hang_up();
    ASSERT_TRUE(run_until([&] { return !gone_.empty(); }));
    stream("too late", true);
    EXPECT_TRUE(run_until([&] { return server_->connections() == 0; }));
    EXPECT_FALSE(run_until([&] { return gone_.size() > 1; }, kMoment));
    EXPECT_EQ(gone_, std::vector{requests_[0].exchange});
}

TEST_F(ServerStreamTest, TellsThatTheClientHungUpBeforeTheAnswer) {
    serve_ = [](const node::WebRequest&) {};
    start();
    Client client(port_);
    client.say(get("/"));
    ASSERT_TRUE(run_until([&] { return requests_.size() == 1; }));
    client.hang_up();
    ASSERT_TRUE(run_until([&] { return !gone_.empty(); }));
    reply(requests_[0].exchange, "too late");
    EXPECT_EQ(gone_, std::vector{requests_[0].exchange});
}

TEST_F(ServerStreamTest, NoticesTheEndBehindAPipelinedRequest) {
    start();
    Client client(port_);
    open(client, get("/events") + get("/next"));
    client.hang_up();
    EXPECT_TRUE(run_until([&] { return gone_.size() == 1; }));
    EXPECT_EQ(requests_.size(), 1U);
}

TEST_F(ServerStreamTest, LetsAClientGoThatReadsNothing) {
    ServerOptions options;
    options.limits.unread_bytes_max = 64U << 10;
    start(options);
    Client client(port_, 4096);
    open(client);
    const std::string piece(4096, 'x');
    std::size_t said = 0;
    ASSERT_TRUE(run_until([&] {
        if (gone_.empty()) {
            stream(piece);
            said += piece.size();
        }
        return !gone_.empty();
    }));
    EXPECT_TRUE(run_until([&] { return server_->connections() == 0; }));
    EXPECT_LT(said, 2U << 20) << "more was kept for it than limits and socket buffers allow";
    EXPECT_EQ(gone_.size(), 1U);
}

TEST_F(ServerStreamTest, KeepsAReaderWhoseOneAnswerIsLarge) {
    const std::string large(3U << 20, 'x');
    serve_ = [&](const node::WebRequest& request) { reply(request.exchange, large); };
    start();
    EXPECT_EQ(ask(get("/")).body, large);
}

TEST_F(ServerStreamTest, LetsAClientGoThatTakesNothingForTooLong) {
    ServerOptions options;
    options.limits.stall_patience = kMoment;
    serve_ = [this](const node::WebRequest& request) {
        begin_stream(request.exchange);
        stream(std::string(4U << 20, 'x'));
    };
    start(options);
    Client client(port_, 4096);
    client.say(get("/"));
    EXPECT_TRUE(run_until([&] { return gone_.size() == 1 && server_->connections() == 0; }));
}

TEST_F(ServerStreamTest, LetsTheSlowestGoWhenAllTogetherReadTooLittle) {
    ServerOptions options;
    options.limits.unread_sum_max = 8U << 20;
    serve_ = [this](const node::WebRequest& request) {
        begin_stream(request.exchange);
        const std::size_t size = request.path == "/most" ? 6U << 20 : 3U << 20;
        server_->reply(node::WebPiece{request.exchange, std::string(size, 'x'), false});
    };
    start(options);
    Client slowest(port_, 4096);
    slowest.say(get("/most"));
    ASSERT_TRUE(run_until([&] { return requests_.size() == 1; }));
    Client other(port_, 4096);
    other.say(get("/less"));
    ASSERT_TRUE(run_until([&] { return !gone_.empty(); }));
    EXPECT_EQ(gone_, std::vector{requests_[0].exchange});
    EXPECT_EQ(requests_.size(), 2U);
}

TEST_F(ServerStreamTest, EndsAStreamThatOnlyItsHeadWasAskedOf) {
    start();
    Client client(port_);
    const Answer head = open(client, "HEAD /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_EQ(head.fields.at("Content-Type"), "text/event-stream");
    EXPECT_TRUE(run_until([&] { return gone_.size() == 1; }));
    stream("nobody reads it");
    serve_ = [this](const node::WebRequest& request) { reply(request.exchange, "next"); };
    EXPECT_EQ(ask(client, get("/")).body, "next");
}

TEST_F(ServerStreamTest, StreamsToHttp10UntilTheConnectionEnds) {
    start();
    Client client(port_);
    const Answer head = open(client, "GET /events HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    EXPECT_EQ(head.fields.at("Connection"), "close");
    EXPECT_FALSE(head.fields.contains("Transfer-Encoding"));
    stream("data: 1\n\n");
    stream("data: 2\n\n", true);
    EXPECT_TRUE(ends(client));
    EXPECT_EQ(client.came(), "data: 1\n\ndata: 2\n\n");
}

}  // namespace
}  // namespace swarm::http
