// A copy of this process that does one thing, and a line to that copy: a reduction has four such
// processes.
// Invariant: the copy ends with its object, or with this process. Fork before there are threads.
// Threading: one thread. Errors: a line that is silent for kLinePatience, or whose other end is
// gone, gives nullopt.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <sys/types.h>
#include <type_traits>

namespace swarm::bench {

class Line {
 public:
    static constexpr auto kLinePatience = std::chrono::minutes(5);

    Line() = default;

    explicit Line(int file) : file_(file) {}

    Line(const Line&) = delete;
    Line& operator=(const Line&) = delete;
    ~Line();

    template <class Value>
    void send(const Value& value) const {
        static_assert(std::is_trivially_copyable_v<Value>);
        write(std::as_bytes(std::span(&value, 1)));
    }

    template <class Value>
    [[nodiscard]] std::optional<Value> receive() const {
        static_assert(std::is_trivially_copyable_v<Value>);
        Value value{};
        const bool came = read(std::as_writable_bytes(std::span(&value, 1)));
        return came ? std::optional(value) : std::nullopt;
    }

 private:
    void write(std::span<const std::byte> bytes) const;
    [[nodiscard]] bool read(std::span<std::byte> bytes) const;

    int file_ = -1;
};

class Forked {
 public:
    using Work = std::function<void(const Line& to_parent)>;

    explicit Forked(const Work& work) : Forked(work, make_pair()) {}

    Forked(const Forked&) = delete;
    Forked& operator=(const Forked&) = delete;
    /// Sends SIGKILL if the copy still runs.
    ~Forked();

    [[nodiscard]] const Line& line() const { return line_; }

 private:
    using Pair = std::array<int, 2>;

    static Pair make_pair();
    Forked(const Work& work, Pair pair);

    Line line_;
    pid_t pid_ = -1;
};

}  // namespace swarm::bench
