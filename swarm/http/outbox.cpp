#include "swarm/http/outbox.hpp"

#include <string_view>
#include <utility>

namespace swarm::http {
namespace {

constexpr std::size_t kPieceBytes = 16U << 10;  // small pieces that wait are sent together up to it

}  // namespace

void Outbox::put(std::string bytes, std::shared_ptr<const void> owner) {
    if (closed_ || failed_) {
        return;
    }
    if (pieces_.empty()) {
        taken_at_ = clock_now();
    }
    const std::size_t count = bytes.size();
    unread_bytes_ += count;
    if (pieces_.size() > 1 && pieces_.back().size() < kPieceBytes) {
        pieces_.back() += bytes;  // the front is on its way and must not move
    } else {
        pieces_.push_back(std::move(bytes));
    }
    if (!std::exchange(sending_, true)) {
        core_.spawn(send(std::move(owner)));
    }
    core_.add_unread_bytes(count);
}

asio::awaitable<void> Outbox::send([[maybe_unused]] std::shared_ptr<const void> owner) {
    while (!pieces_.empty() && !failed_) {
        std::string_view rest = pieces_.front();
        while (!rest.empty()) {
            const Result<std::size_t> taken = co_await stream_.write_some(rest);
            if (!taken || closed_) {
                failed_ = true;
                break;
            }
            rest.remove_prefix(*taken);
            unread_bytes_ -= *taken;
            core_.remove_unread_bytes(*taken);
            taken_at_ = clock_now();
        }
        if (rest.empty()) {
            pieces_.pop_front();
        }
    }
    sending_ = false;
    changed_.notify();
}

void Outbox::close() {
    closed_ = true;
    core_.remove_unread_bytes(std::exchange(unread_bytes_, 0));
}

TimePoint Outbox::stalls_at() const {
    return pieces_.empty() ? kNever : taken_at_ + core_.limits().stall_patience;
}

}  // namespace swarm::http
