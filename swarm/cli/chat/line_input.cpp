#include "swarm/cli/chat/line_input.hpp"

#include "swarm/base/check.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>
#include <utility>

namespace swarm::cli {

LineInput::LineInput(net::EventLoop& loop, int descriptor) : loop_(loop), descriptor_(descriptor) {
    SWARM_ASSERT(::pipe2(orders_.data(), O_CLOEXEC) == 0);
    // Signals are for the loop's thread, whatever it does.
    sigset_t all;
    sigset_t former;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &former);
    thread_ = std::thread([this] { run(); });
    ::pthread_sigmask(SIG_SETMASK, &former, nullptr);
}

LineInput::~LineInput() {
    send(Order::End);
    thread_.join();
    ::close(orders_[0]);
    ::close(orders_[1]);
}

std::optional<std::string> LineInput::next(const std::function<bool()>& gives_up) {
    if (!is_asked_ && !ended_) {
        is_asked_ = true;
        send(Order::ReadLine);
    }
    loop_.run_until([&] { return line_ || ended_ || gives_up(); });
    return gives_up() ? std::nullopt : std::exchange(line_, std::nullopt);
}

void LineInput::send(Order order) {
    while (::write(orders_[1], &order, sizeof order) < 0 && errno == EINTR) {
    }
}

void LineInput::run() {
    while (true) {
        Order order = Order::End;
        const ssize_t got = ::read(orders_[0], &order, sizeof order);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got != sizeof order || order == Order::End) {
            return;
        }
        loop_.post([this, line = read_line()] {
            is_asked_ = false;
            line_ = line;
            ended_ = !line;
        });
    }
}

bool LineInput::await_input() {
    std::array<pollfd, 2> waits{pollfd{descriptor_, POLLIN, 0}, pollfd{orders_[0], POLLIN, 0}};
    while (::poll(waits.data(), waits.size(), -1) < 0 && errno == EINTR) {
    }
    return waits[1].revents == 0;
}

std::optional<std::string> LineInput::read_line() {
    while (true) {
        const std::size_t end = buffer_.find('\n');
        if (end != std::string::npos || buffer_.size() >= kLineBytesMax) {
            const std::size_t bytes = std::min(end, kLineBytesMax);
            std::string line = buffer_.substr(0, bytes);
            buffer_.erase(0, bytes == end ? bytes + 1 : bytes);
            return line;
        }
        std::array<char, 4096> more{};
        const ssize_t got = await_input() ? ::read(descriptor_, more.data(), more.size()) : 0;
        if (got > 0) {
            buffer_.append(more.data(), static_cast<std::size_t>(got));
        } else if (got == 0 || errno != EINTR) {
            return buffer_.empty() ? std::nullopt : std::optional(std::exchange(buffer_, {}));
        }
    }
}

}  // namespace swarm::cli
