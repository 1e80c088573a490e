// Emulated lines over real sockets. Times are judged from below only: a loaded machine may be late,
// but a line is never faster than it says.
#include "swarm/net/emulated_lines.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace swarm::net {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto kAsTuple = asio::as_tuple(asio::use_awaitable);
constexpr auto kLinePatience = 20s;
constexpr double kMebibyte = 1 << 20;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

tcp::endpoint endpoint_of(const Address& address) {
    return {asio::ip::make_address(address.host), address.port};
}

std::string numbered(std::size_t bytes) {
    std::string text(bytes, ' ');
    for (std::size_t i = 0; i < bytes; ++i) {
        text[i] = static_cast<char>(i * 2654435761U >> 13);
    }
    return text;
}

/// Runs all sockets of the test until the `pending` tasks have ended.
class EmulatedLinesTest : public testing::Test {
 protected:
    void spawn(asio::awaitable<void> task) {
        ++pending_;
        asio::co_spawn(io_, std::move(task), [this](const std::exception_ptr& bug) {
            --pending_;
            if (bug) {
                std::rethrow_exception(bug);
            }
        });
    }

    [[nodiscard]] bool all_end() {
        const auto due = Clock::now() + kLinePatience;
        while (pending_ > 0 && Clock::now() < due) {
            io_.run_one_until(due);
        }
        return pending_ == 0;
    }

    tcp::acceptor listen(const Address& at) { return {io_, endpoint_of(at)}; }

    tcp::socket dial(const Address& to, const std::string& source = "127.0.0.1") {
        tcp::socket socket(io_, tcp::endpoint(asio::ip::make_address(source), 0));
        socket.connect(endpoint_of(to));
        return socket;
    }

    /// Accepts one connection and reads it to its end.
    asio::awaitable<void> take_all(tcp::acceptor& acceptor, std::string& into) {
        auto [error, socket] = co_await acceptor.async_accept(kAsTuple);
        const auto [end, count] =
            co_await asio::async_read(socket, asio::dynamic_buffer(into), kAsTuple);
        EXPECT_EQ(end, asio::error::eof);
    }

    static asio::awaitable<void> send(tcp::socket& socket, const std::string& text) {
        const auto [error, count] =
            co_await asio::async_write(socket, asio::buffer(text), kAsTuple);
        EXPECT_FALSE(error);
        socket.shutdown(tcp::socket::shutdown_send);
    }

    /// Sends back the bytes that it hears until the other side ends.
    static asio::awaitable<void> echo(tcp::acceptor& acceptor) {
        auto [refused, socket] = co_await acceptor.async_accept(kAsTuple);
        std::string bytes(4096, ' ');
        for (;;) {
            const auto [error, count] =
                co_await socket.async_read_some(asio::buffer(bytes), kAsTuple);
            if (error) {
                co_return;
            }
            co_await asio::async_write(socket, asio::buffer(bytes, count), kAsTuple);
        }
    }

    static asio::awaitable<void> await_end(tcp::socket& socket, boost::system::error_code& how) {
        char byte = 0;
        const auto [error, count] =
            co_await socket.async_read_some(asio::buffer(&byte, 1), kAsTuple);
        how = error;
    }

    /// Sends a text and waits for it, `rounds` times, then ends; adds the time of each round.
    static asio::awaitable<void> ping(
        tcp::socket& socket,
        std::size_t rounds,
        std::vector<double>& rounds_s,
        std::size_t bytes = 1
    ) {
        std::string text(bytes, 'x');
        for (std::size_t round = 0; round < rounds; ++round) {
            const auto start = Clock::now();
            co_await asio::async_write(socket, asio::buffer(text), kAsTuple);
            const auto [error, count] =
                co_await asio::async_read(socket, asio::buffer(text), kAsTuple);
            EXPECT_FALSE(error);
            rounds_s.push_back(seconds_since(start));
        }
        socket.close();
    }

    /// Runs until so many connections have brought a MiB each.
    double seconds_per_mebibyte(
        const EmulatedLines::Ends& ends,
        const std::string& source = "127.0.0.1",
        std::size_t connections = 1
    ) {
        tcp::acceptor acceptor = listen(ends.back);
        const std::string sent = numbered(static_cast<std::size_t>(kMebibyte));
        std::vector<tcp::socket> sockets;
        for (std::size_t i = 0; i < connections; ++i) {
            sockets.push_back(dial(ends.front, source));
        }
        std::vector<std::string> came(connections);
        const auto start = Clock::now();
        for (std::size_t i = 0; i < connections; ++i) {
            spawn(take_all(acceptor, came[i]));
            spawn(send(sockets[i], sent));
        }
        EXPECT_TRUE(all_end());
        const double took = seconds_since(start);
        for (const std::string& text : came) {
            EXPECT_TRUE(text == sent);
        }
        return took;
    }

    asio::io_context io_;
    int pending_ = 0;
};

TEST_F(EmulatedLinesTest, PassBytesWholeAndInOrder) {
    EmulatedLines lines(1ms);
    const auto ends = lines.add({.up_bytes_per_s = 200'000'000, .down_bytes_per_s = 200'000'000});
    ASSERT_TRUE(ends) << ends.error().detail;
    tcp::acceptor acceptor = listen(ends->back);
    tcp::socket socket = dial(ends->front);
    const std::string sent = numbered(4 << 20);
    std::string came;
    spawn(take_all(acceptor, came));
    spawn(send(socket, sent));
    ASSERT_TRUE(all_end());
    EXPECT_TRUE(came == sent);
}

TEST_F(EmulatedLinesTest, AreNeverFasterThanTheirRate) {
    EmulatedLines lines(0ms);
    const auto slow = lines.add({.up_bytes_per_s = 0, .down_bytes_per_s = 4'000'000});
    ASSERT_TRUE(slow);
    EXPECT_GE(seconds_per_mebibyte(*slow), kMebibyte / 4e6);
}

TEST_F(EmulatedLinesTest, KeepToTheRateOfTheDiallingProcess) {
    EmulatedLines lines(0ms);
    const auto fast = lines.add({});
    const auto slow = lines.add({.up_bytes_per_s = 4'000'000, .down_bytes_per_s = 0});
    ASSERT_TRUE(fast && slow);
    EXPECT_GE(seconds_per_mebibyte(*fast, slow->source), kMebibyte / 4e6);
}

TEST_F(EmulatedLinesTest, AreSharedByTheirConnections) {
    EmulatedLines lines(0ms);
    const auto ends = lines.add({.up_bytes_per_s = 0, .down_bytes_per_s = 8'000'000});
    ASSERT_TRUE(ends);
    EXPECT_GE(seconds_per_mebibyte(*ends, "127.0.0.1", 2), 2 * kMebibyte / 8e6);
    EXPECT_GE(lines.received_bytes(ends->source), 2U << 20);
}

TEST_F(EmulatedLinesTest, TakeTheirTimeAgainAfterAPause) {
    EmulatedLines lines(20ms);
    const auto ends = lines.add({.up_bytes_per_s = 0, .down_bytes_per_s = 1'000'000});
    ASSERT_TRUE(ends);
    tcp::acceptor acceptor = listen(ends->back);
    tcp::socket socket = dial(ends->front);
    std::vector<double> rounds_s;
    spawn(echo(acceptor));
    // The line pauses for 40 ms between two texts, which take 4 ms each.
    spawn(ping(socket, 5, rounds_s, 4'000));
    ASSERT_TRUE(all_end());
    for (const double round : rounds_s) {
        EXPECT_GE(round, 0.040 + 0.004);
    }
}

TEST_F(EmulatedLinesTest, DelayEachWay) {
    EmulatedLines lines(20ms);
    const auto ends = lines.add({});
    ASSERT_TRUE(ends);
    tcp::acceptor acceptor = listen(ends->back);
    tcp::socket socket = dial(ends->front);
    std::vector<double> rounds_s;
    spawn(echo(acceptor));
    spawn(ping(socket, 5, rounds_s));
    ASSERT_TRUE(all_end());
    ASSERT_EQ(rounds_s.size(), 5);
    for (const double round : rounds_s) {
        EXPECT_GE(round, 0.040);
    }
}

TEST_F(EmulatedLinesTest, StandInFrontOfAProcessThatListensAlready) {
    EmulatedLines lines(20ms);
    tcp::acceptor acceptor = listen({"127.0.0.1", 0});
    const auto front = lines.add_front({"127.0.0.1", acceptor.local_endpoint().port()});
    ASSERT_TRUE(front) << front.error().detail;
    tcp::socket socket = dial(*front);
    std::vector<double> rounds_s;
    spawn(echo(acceptor));
    spawn(ping(socket, 2, rounds_s));
    ASSERT_TRUE(all_end());
    EXPECT_GE(rounds_s.back(), 0.040);
}

TEST_F(EmulatedLinesTest, CutBothSides) {
    EmulatedLines lines(0ms);
    const auto ends = lines.add({});
    ASSERT_TRUE(ends);
    tcp::acceptor acceptor = listen(ends->back);
    tcp::socket client = dial(ends->front);
    tcp::socket server = acceptor.accept();
    boost::system::error_code client_saw;
    boost::system::error_code server_saw;
    spawn(await_end(client, client_saw));
    spawn(await_end(server, server_saw));
    lines.cut_one(7);
    ASSERT_TRUE(all_end());
    EXPECT_EQ(client_saw, asio::error::connection_reset);
    EXPECT_EQ(server_saw, asio::error::connection_reset);
}

TEST_F(EmulatedLinesTest, EndAConnectionThatNobodyAccepts) {
    EmulatedLines lines(0ms);
    const auto ends = lines.add({});
    ASSERT_TRUE(ends);
    tcp::socket client = dial(ends->front);
    boost::system::error_code saw;
    spawn(await_end(client, saw));
    ASSERT_TRUE(all_end());
    EXPECT_TRUE(saw);
}

TEST_F(EmulatedLinesTest, PassOnThatAProcessHasDied) {
    EmulatedLines lines(1ms);
    const auto ends = lines.add({});
    ASSERT_TRUE(ends);
    tcp::acceptor acceptor = listen(ends->back);
    tcp::socket client = dial(ends->front);
    tcp::socket server = acceptor.accept();
    server.close();
    boost::system::error_code saw;
    spawn(await_end(client, saw));
    ASSERT_TRUE(all_end());
    EXPECT_TRUE(saw);
}

}  // namespace
}  // namespace swarm::net
