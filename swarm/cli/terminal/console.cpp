#include "swarm/cli/terminal/console.hpp"

#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/cli/terminal/printable.hpp"
#include "swarm/net/identity.hpp"
#include "swarm/net/link.hpp"

#include <iostream>
#include <unistd.h>
#include <utility>

namespace swarm::cli {
namespace {

constexpr const char* kEraseLine = "\r\033[K";
constexpr const char* kWarning = "warning: ";

}  // namespace

Console::Console() : is_terminal_(::isatty(STDERR_FILENO) == 1) {}

Console::~Console() {
    for (const std::string& line : warnings_.take_all()) {
        print(kWarning, line);
    }
    settle();
}

void Console::log(node::LogLine::Level level, const std::string& text) {
    using Level = node::LogLine::Level;
    if (level == Level::Debug) {
        return;
    }
    const TimePoint now = net::clock_now();
    // An error is the last line of a program, so what is held back comes before it.
    const TimePoint overdue_at = level == Level::Error ? kNever : now;
    for (const std::string& line : warnings_.take_overdue(overdue_at)) {
        print(kWarning, line);
    }
    if (level != Level::Warning) {
        print(level == Level::Error ? "swarm: " : "", text);
    } else if (const auto line = warnings_.pass(text, now)) {
        print(kWarning, *line);
    }
}

void Console::print(const char* mark, const std::string& text) {
    if (!status_.empty()) {
        std::cerr << kEraseLine;
    }
    std::cerr << mark << printable(text) << '\n' << status_ << std::flush;
}

void Console::status(const std::string& text) {
    if (!is_terminal_) {
        info(text);
        return;
    }
    status_ = printable(text);
    std::cerr << kEraseLine << status_ << std::flush;
}

void Console::settle() {
    if (!std::exchange(status_, "").empty()) {
        std::cerr << std::endl;
    }
}

int end_with(Console& console, const Error& error) {
    console.error(error.detail);
    return error.reaction == Reaction::Reject ? kRejected : kRunFailed;
}

std::string short_name(const PeerId& peer) {
    constexpr std::size_t kLetters = 8;
    return net::to_text(peer).substr(0, kLetters);
}

}  // namespace swarm::cli
