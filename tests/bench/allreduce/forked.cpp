#include "tests/bench/allreduce/forked.hpp"

#include "swarm/base/check.hpp"

#include <csignal>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace swarm::bench {

Line::~Line() {
    if (file_ >= 0) {
        ::close(file_);
    }
}

void Line::write(std::span<const std::byte> bytes) const {
    // A few bytes into an empty buffer: whole, or the other end is gone, as its reads will tell.
    [[maybe_unused]] const auto sent = ::send(file_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

bool Line::read(std::span<std::byte> bytes) const {
    constexpr int kPatienceMs = std::chrono::milliseconds(kLinePatience).count();
    while (!bytes.empty()) {
        pollfd readable{file_, POLLIN, 0};
        if (::poll(&readable, 1, kPatienceMs) != 1) {
            return false;
        }
        const auto got = ::recv(file_, bytes.data(), bytes.size(), 0);
        if (got <= 0) {
            return false;
        }
        bytes = bytes.subspan(static_cast<std::size_t>(got));
    }
    return true;
}

Forked::Pair Forked::make_pair() {
    Pair pair{};
    SWARM_ASSERT(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) == 0);
    return pair;
}

Forked::Forked(const Work& work, Pair pair) : line_(pair[0]) {
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    SWARM_ASSERT(pid_ >= 0);
    if (pid_ != 0) {
        ::close(pair[1]);
        return;
    }
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() == parent) {
        const Line to_parent(pair[1]);
        work(to_parent);
    }
    ::_exit(0);
}

Forked::~Forked() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
}

}  // namespace swarm::bench
