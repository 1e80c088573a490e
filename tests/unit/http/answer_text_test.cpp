// The text of answers.
#include "swarm/http/answer_text.hpp"

#include <gtest/gtest.h>

namespace swarm::http {
namespace {

TEST(AnswerText, WritesTheDateAsHttpWantsIt) {
    EXPECT_EQ(date_of(784111777), "Sun, 06 Nov 1994 08:49:37 GMT");
    EXPECT_EQ(date_of(0), "Thu, 01 Jan 1970 00:00:00 GMT");
}

TEST(AnswerText, HasTheFieldsOfItsFraming) {
    AnswerHead head;
    head.content_type = "text/plain";
    head.length = 12;
    EXPECT_EQ(
        text_of(head, 0),
        "HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\nContent-Type: text/plain\r\n"
        "Content-Length: 12\r\nCache-Control: no-store\r\nX-Accel-Buffering: no\r\n"
        "X-Content-Type-Options: nosniff\r\n\r\n"
    );
    head.framing = Framing::None;
    head.status = 204;
    EXPECT_EQ(text_of(head, 0).find("\r\nContent-"), std::string::npos);
    head.framing = Framing::Close;
    EXPECT_EQ(text_of(head, 0).find("\r\nContent-Length"), std::string::npos);
    head.status = 299;
    EXPECT_TRUE(text_of(head, 0).starts_with("HTTP/1.1 299 \r\n"));
}

TEST(AnswerText, WritesChunks) {
    EXPECT_EQ(chunk_of("hello"), "5\r\nhello\r\n");
    EXPECT_TRUE(chunk_of(std::string(1000, 'x')).starts_with("3e8\r\nx"));
}

}  // namespace
}  // namespace swarm::http
