#include "swarm/cli/local/local_lines.hpp"

#include "swarm/base/try.hpp"

namespace swarm::cli {

LocalLines::LocalLines(const LocalOptions& options) : bytes_per_s_(options.line_bytes_per_s) {
    if (!bytes_per_s_.empty() || options.line_delay > Duration() || options.cut_every) {
        lines_.emplace(options.line_delay);
    }
}

Result<LocalLines::Place> LocalLines::next_place() {
    if (!lines_) {
        return Place{{"--listen", "127.0.0.1:0"}};
    }
    const std::uint64_t rate =
        bytes_per_s_.empty() ? 0 : bytes_per_s_[peers_++ % bytes_per_s_.size()];
    SWARM_TRY(const auto ends, lines_->add({.up_bytes_per_s = rate, .down_bytes_per_s = rate}));
    return Place{
        {"--listen",
         net::to_text(ends.back),
         "--advertise",
         net::to_text(ends.front),
         "--dial-from",
         ends.source},
        rate};
}

Result<std::string> LocalLines::in_front_of(const std::string& address) {
    if (!lines_) {
        return address;
    }
    SWARM_TRY(const net::Address back, net::parse_address(address));
    SWARM_TRY(const net::Address front, lines_->add_front(back));
    return net::to_text(front);
}

void LocalLines::cut_one(std::uint64_t draw) {
    if (lines_) {
        lines_->cut_one(draw);
    }
}

}  // namespace swarm::cli
