// Keys, their limits, and pages of other servers.
#include "tests/unit/http/http_fixture.hpp"

namespace swarm::http {
namespace {

const std::string kServerSecret = "a-secret-of-32-characters-000000";

std::string bearer(const std::string& secret) {
    return "Authorization: Bearer " + secret + "\r\n";
}

class ServerKeysTest : public ServerTest {
 protected:
    static ServerOptions with_key(int requests_per_minute = 60) {
        ServerOptions options;
        options.keys.push_back({"alice", digest_of_secret(kServerSecret), requests_per_minute});
        options.keys.push_back({"bob", digest_of_secret("bobs" + kServerSecret), 60});
        options.open_paths = {"/health"};
        return options;
    }
};

TEST_F(ServerKeysTest, NamesTheKeyToTheRole) {
    start(with_key());
    Client client(port_);
    EXPECT_EQ(ask(client, get("/", bearer(kServerSecret))).status, 200);
    EXPECT_EQ(ask(client, get("/", bearer("bobs" + kServerSecret))).status, 200);
    EXPECT_EQ(ask(client, get("/", "authorization: bearer " + kServerSecret + "\r\n")).status, 200);
    ASSERT_EQ(requests_.size(), 3U);
    EXPECT_EQ(requests_[0].user, "alice");
    EXPECT_EQ(requests_[1].user, "bob");
    EXPECT_EQ(requests_[2].user, "alice");
}

TEST_F(ServerKeysTest, RefusesWhoHasNoKeyOrAnotherOne) {
    start(with_key());
    Client client(port_);
    const Answer none = ask(client, get("/"));
    EXPECT_EQ(none.status, 401);
    EXPECT_EQ(none.fields.at("WWW-Authenticate"), "Bearer");
    EXPECT_EQ(
        none.body,
        R"({"error":{"message":"send your key: Authorization: Bearer KEY",)"
        R"("type":"invalid_request_error","param":null,"code":"missing_api_key"}})"
    );
    EXPECT_EQ(ask(client, get("/", "Authorization: Basic YTpi\r\n")).status, 401);
    const Answer other = ask(client, get("/", bearer(kServerSecret + "1")));
    EXPECT_EQ(other.status, 401);
    EXPECT_NE(other.body.find("invalid_api_key"), std::string::npos);
    EXPECT_EQ(ask(client, get("/", bearer(kServerSecret))).status, 200) << "the connection stays";
    EXPECT_EQ(requests_.size(), 1U);
}

TEST_F(ServerKeysTest, ReadsNoBodyOfWhoHasNoKey) {
    start(with_key());
    Client client(port_);
    const std::string head = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4000000\r\n\r\n";
    EXPECT_EQ(ask(client, head).status, 401);
    EXPECT_TRUE(ends(client));
}

TEST_F(ServerKeysTest, OpensPathsThatNeedNoKey) {
    start(with_key());
    EXPECT_EQ(ask(get("/health")).status, 200);
    EXPECT_EQ(requests_.at(0).user, "127.0.0.1");
    EXPECT_EQ(ask(get("/healthy")).status, 401);
}

TEST_F(ServerKeysTest, AllowsAKeyItsRequestsPerMinute) {
    start(with_key(3));
    Client client(port_);
    for (int i = 0; i < 3; ++i) {
        ASSERT_EQ(ask(client, get("/", bearer(kServerSecret))).status, 200);
    }
    const Answer answer = ask(client, get("/", bearer(kServerSecret)));
    EXPECT_EQ(answer.status, 429);
    EXPECT_EQ(answer.fields.at("Retry-After"), "20");
    EXPECT_NE(answer.body.find("rate_limit_exceeded"), std::string::npos);
    EXPECT_EQ(ask(client, get("/", bearer("bobs" + kServerSecret))).status, 200);
    EXPECT_EQ(requests_.size(), 4U);
}

TEST_F(ServerKeysTest, KeepsPagesOfOthersOutWithoutCors) {
    start();
    Client client(port_);
    const Answer answer = ask(client, get("/", "Origin: https://page.example\r\n"));
    EXPECT_EQ(answer.status, 403);
    EXPECT_FALSE(answer.fields.contains("Access-Control-Allow-Origin"));
    EXPECT_EQ(ask(client, get("/", "Origin: http://localhost\r\n")).status, 200) << "our page";
    const Answer preflight =
        ask("OPTIONS / HTTP/1.1\r\nHost: localhost\r\nOrigin: https://page.example\r\n"
            "Access-Control-Request-Method: POST\r\n\r\n");
    EXPECT_EQ(preflight.status, 403);
    EXPECT_EQ(ask("OPTIONS /x HTTP/1.1\r\nHost: localhost\r\n\r\n").body, "OPTIONS /x ");
}

TEST_F(ServerKeysTest, LetsThePagesOfTheAllowedOriginAsk) {
    ServerOptions options = with_key();
    options.allowed_origin = "https://page.example";
    start(options);
    Client client(port_);
    client.say(
        "OPTIONS /v1/models HTTP/1.1\r\nHost: a\r\nOrigin: https://page.example\r\n"
        "Access-Control-Request-Method: POST\r\n"
        "Access-Control-Request-Headers: authorization,x-stainless-os\r\n\r\n"
    );
    const Answer preflight = read_answer(client, false);
    EXPECT_EQ(preflight.status, 204);
    EXPECT_EQ(preflight.fields.at("Access-Control-Allow-Origin"), "https://page.example");
    EXPECT_EQ(preflight.fields.at("Access-Control-Allow-Headers"), "authorization,x-stainless-os");
    EXPECT_TRUE(requests_.empty());
    const std::string origin = "Origin: https://page.example\r\n";
    const Answer good = ask(client, get("/", origin + bearer(kServerSecret)));
    EXPECT_EQ(good.status, 200);
    EXPECT_EQ(good.fields.at("Access-Control-Allow-Origin"), "https://page.example");
    EXPECT_EQ(good.fields.at("Vary"), "Origin");
    const Answer bad = ask(client, get("/", origin));
    EXPECT_EQ(bad.status, 401);
    EXPECT_EQ(bad.fields.at("Access-Control-Allow-Origin"), "https://page.example");
    EXPECT_EQ(ask(client, get("/", "Origin: https://other.example\r\n")).status, 403);
}

TEST_F(ServerKeysTest, AnswersToNamesOfThisMachineOnlyWithoutKeys) {
    start();
    Client client(port_);
    for (const std::string host : {"localhost:8080", "127.0.0.1:8080", "[::1]:8080", "10.1.2.3"}) {
        EXPECT_EQ(ask(client, "GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n").status, 200) << host;
    }
    EXPECT_EQ(ask(client, "GET / HTTP/1.1\r\nHost: page.example:8080\r\n\r\n").status, 403);
}

}  // namespace
}  // namespace swarm::http
