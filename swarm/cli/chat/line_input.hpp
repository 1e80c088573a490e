// Lines of a person, or of a pipe, on standard input, while a loop runs: peers are heard meanwhile.
// Invariant: a line that nobody has asked for stays with the system.
// Threading: next() is called by the loop's thread; a thread of this object waits for the input,
// because a terminal that is read without waiting would do so for all programs that share it.
// Errors: none; an input that fails has ended.
#pragma once

#include "swarm/net/event_loop.hpp"

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <thread>

namespace swarm::cli {

class LineInput {
 public:
    explicit LineInput(net::EventLoop& loop, int descriptor = 0);
    LineInput(const LineInput&) = delete;
    LineInput& operator=(const LineInput&) = delete;
    ~LineInput();

    /// Runs the loop until there is a line, or `gives_up` says so, which the loop asks after each
    /// event. Returns the line without its end; nullopt: given up, or the input has ended. A line
    /// has at most kLineBytesMax bytes; the rest is the next.
    std::optional<std::string> next(const std::function<bool()>& gives_up);

    [[nodiscard]] bool has_ended() const { return ended_; }

    static constexpr std::size_t kLineBytesMax = 1U << 20;

 private:
    enum class Order : char { ReadLine, End };

    void send(Order order);
    void run();
    /// Waits until the input has something; false: this object ends.
    bool await_input();
    std::optional<std::string> read_line();

    net::EventLoop& loop_;
    int descriptor_;
    std::array<int, 2> orders_{-1, -1};  // a pipe of orders to the thread
    std::string buffer_;                 // the thread's: bytes behind the last line
    bool is_asked_ = false;              // a line is on its way
    std::optional<std::string> line_;
    bool ended_ = false;
    std::thread thread_;
};

}  // namespace swarm::cli
