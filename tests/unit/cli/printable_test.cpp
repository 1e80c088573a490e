#include "swarm/cli/terminal/printable.hpp"

#include <gtest/gtest.h>

namespace swarm::cli {
namespace {

TEST(Printable, LeavesTextAsItIs) {
    for (const char* text : {"", "plain", "two\nlines\tand a tab", "Grüße, 世界 🙂"}) {
        EXPECT_EQ(printable(text), text);
    }
}

TEST(Printable, WritesCommandsOut) {
    EXPECT_EQ(printable("\x1b]0;OWNED\a\x1b[31mred"), "\\x1b]0;OWNED\\x07\\x1b[31mred");
    EXPECT_EQ(printable("over\rwritten\x7f"), "over\\x0dwritten\\x7f");
    EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
    EXPECT_EQ(
        printable("\xc2\x9b"
                  "31m"),
        "\\x9b31m"
    );
}

TEST(Printable, WritesTurnsOfTheDirectionOut) {
    EXPECT_EQ(printable("\xe2\x80\xaegpj.exe"), "\\u202egpj.exe");
    EXPECT_EQ(printable("\xe2\x81\xa6x\xe2\x81\xa9"), "\\u2066x\\u2069");
}

TEST(Printable, WritesOutWhatIsNoUtf8) {
    EXPECT_EQ(printable("\x9b"), "\\x9b");
    EXPECT_EQ(printable("\xc3"), "\\xc3");
    EXPECT_EQ(printable("\xc1\x9b"), "\\xc1\\x9b");           // too long a way to write ESC [
    EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // half of a pair
    EXPECT_EQ(printable("\xf5\x80\x80\x80"), "\\xf5\\x80\\x80\\x80");  // beyond the last one
    EXPECT_EQ(printable("\xe2\x80"), "\\xe2\\x80");
}

}  // namespace
}  // namespace swarm::cli
