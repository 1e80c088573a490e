#include "swarm/cli/chat/line_input.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <unistd.h>

namespace swarm::cli {
namespace {

bool never() {
    return false;
}

class LineInputTest : public testing::Test {
 protected:
    LineInputTest() {
        std::array<int, 2> ends{};
        EXPECT_EQ(::pipe(ends.data()), 0);
        from = ends[0];
        to = ends[1];
    }

    ~LineInputTest() override {
        end();
        ::close(from);
    }

    void write(std::string_view text) {
        ASSERT_EQ(::write(to, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    }

    void end() {
        if (to >= 0) {
            ::close(to);
            to = -1;
        }
    }

    net::EventLoop loop;
    int from = -1;
    int to = -1;
};

TEST_F(LineInputTest, GivesLinesAndTheLastOneWithoutAnEnd) {
    LineInput input(loop, from);
    write("one\n\ntw");
    EXPECT_EQ(input.next(never), "one");
    EXPECT_EQ(input.next(never), "");
    write("o\nthree");
    end();
    EXPECT_EQ(input.next(never), "two");
    EXPECT_EQ(input.next(never), "three");
    EXPECT_FALSE(input.has_ended());
    EXPECT_EQ(input.next(never), std::nullopt);
    EXPECT_TRUE(input.has_ended());
    EXPECT_EQ(input.next(never), std::nullopt);
}

TEST_F(LineInputTest, AQuestionThatIsGivenUpLosesNoLine) {
    LineInput input(loop, from);
    bool given_up = false;
    loop.post([&] { given_up = true; });
    EXPECT_EQ(input.next([&] { return given_up; }), std::nullopt);
    EXPECT_FALSE(input.has_ended());
    write("late\n");
    EXPECT_EQ(input.next(never), "late");
}

TEST_F(LineInputTest, EndsWhileNothingComes) {
    LineInput input(loop, from);
    bool given_up = false;
    loop.post([&] { given_up = true; });
    EXPECT_EQ(input.next([&] { return given_up; }), std::nullopt);
}

TEST_F(LineInputTest, CutsALineWithoutAnEnd) {
    LineInput input(loop, from);
    const std::string half(LineInput::kLineBytesMax / 2, 'x');
    bool is_written = false;
    std::thread writer([&] {
        for (int i = 0; i < 3; ++i) {
            write(half);
        }
        end();
        loop.post([&] { is_written = true; });
    });
    EXPECT_EQ(input.next(never)->size(), LineInput::kLineBytesMax);
    EXPECT_EQ(input.next(never)->size(), half.size());
    writer.join();
    loop.run_until([&] { return is_written; });
}

}  // namespace
}  // namespace swarm::cli
