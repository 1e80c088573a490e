// Requests out of bytes that come in any pieces.
#include "swarm/http/request_reader.hpp"

#include "swarm/http/request_target.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace swarm::http {
namespace {

using Stage = RequestReader::Stage;

/// Feeds the text in pieces as a connection does; returns what came of each request.
std::vector<std::string> read_all(const std::string& text, std::size_t piece) {
    const Limits limits;
    RequestReader reader(limits);
    std::vector<std::string> seen;
    std::string input;
    for (std::size_t at = 0; at < text.size(); at += piece) {
        input += text.substr(at, piece);
        for (std::size_t used = 1; used > 0;) {
            used = reader.read(input);
            input.erase(0, used);
            if (reader.stage() == Stage::Whole) {
                seen.push_back(reader.head().method + reader.head().path + reader.take_body());
                reader.next();
                used = 1;
            }
        }
        if (reader.stage() == Stage::Refused) {
            seen.push_back(std::to_string(reader.refusal().status));
            return seen;
        }
    }
    return seen;
}

TEST(RequestReader, MakesTheSameOfAnyPieces) {
    const std::string text =
        "\r\nGET /a?b HTTP/1.1\r\nHost: x\r\n\r\n"
        "POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"
        "POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        "2\r\nhi\r\n3;q=\"v\"\r\nyou\r\n0\r\nA: b\r\n\r\n"
        "POST /e HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        "GET http://x/d HTTP/1.0\r\n\r\nGET / HTTP/1.1\r\n bad";
    const std::vector<std::string> expected = {
        "GET/a", "POST/bhello", "POST/chiyou", "POST/e", "GET/d", "400"};
    for (std::size_t piece = 1; piece <= text.size(); ++piece) {
        ASSERT_EQ(read_all(text, piece), expected) << "pieces of " << piece;
    }
}

TEST(RequestReader, StopsBehindAHead) {
    const Limits limits;
    RequestReader reader(limits);
    const std::string head = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n";
    EXPECT_EQ(reader.read(head + "ok"), head.size());
    EXPECT_EQ(reader.stage(), Stage::Body);
    EXPECT_EQ(reader.body_bytes(), 0U);
    EXPECT_EQ(reader.read("okGET"), 2U);
    EXPECT_EQ(reader.stage(), Stage::Whole);
}

TEST(RequestReader, RefusesABareLineFeedBeforeTheHeadIsWhole) {
    const Limits limits;
    RequestReader reader(limits);
    (void)reader.read("GET / HTTP/1.1\nHo");
    EXPECT_EQ(reader.stage(), Stage::Refused);
}

TEST(RequestTarget, DecodesThePathOnce) {
    EXPECT_EQ(parse_target("/a%20b%2Fc%2520")->path, "/a b/c%20");
    EXPECT_EQ(parse_target("/gr%C3%BC%C3%9Fe")->path, "/grüße");
    const Result<Target> target = parse_target("/a?b=%2e&c=?");
    EXPECT_EQ(target->path, "/a");
    EXPECT_EQ(target->query, "b=%2e&c=?");
    EXPECT_EQ(parse_target("http://host:80/a?b")->path, "/a");
    EXPECT_EQ(parse_target("HTTPS://host")->path, "/");
    EXPECT_EQ(parse_target("http://host?b")->query, "b");
    EXPECT_EQ(parse_target("/a/...")->path, "/a/...");
}

TEST(RequestTarget, RefusesWhatHidesAnotherPath) {
    for (const char* text :
         {"",
          "a",
          "*",
          "host:80",
          "/..",
          "/../a",
          "/a/..",
          "/a/./b",
          "/%2e%2E/a",
          "/a%2f..%2fb",
          "/%00",
          "/%0a",
          "/%7f",
          "/%",
          "/%4",
          "/%4g",
          "/a#b",
          "/%C0%AE",        // a dot in two bytes
          "/%ED%A0%80",     // a surrogate
          "/%F4%90%80%80",  // above U+10FFFF
          "/%E2%82",
          "/%80"}) {
        EXPECT_FALSE(parse_target(text).has_value()) << text;
    }
}

}  // namespace
}  // namespace swarm::http
