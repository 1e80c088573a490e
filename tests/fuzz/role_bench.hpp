// The bench of the fuzz targets that feed a whole role with bytes. The role's device runs jobs at
// once, the role has links to all peers, and 100 ms pass with each event.
// Input: pieces of [sender u8][kind u16][length u16][number u8][control bytes].
#pragma once

#include "swarm/node/role.hpp"
#include "swarm/protocol/frame.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace swarm::fuzz {

class RoleBench {
 public:
    RoleBench(std::unique_ptr<node::Role> role, const std::vector<PeerId>& peers)
        : role_(std::move(role)) {
        for (const auto lane : {node::Lane::Control, node::Lane::Bulk}) {
            for (const PeerId peer : peers) {
                deliver(node::LinkUp{peer, lane, {1}});
            }
        }
    }

    void deliver(const node::Event& event) {
        events_.push_back(event);
        while (!events_.empty()) {
            const node::Event next = std::move(events_.front());
            events_.pop_front();
            now_ += std::chrono::milliseconds(100);
            node::Outbox out;
            role_->on(next, now_, out);
            for (node::Action& action : out.actions) {
                if (auto* compute = std::get_if<node::Compute>(&action)) {
                    compute->work->run();
                    if (compute->answered) {
                        events_.push_back(node::Computed{compute->job, {}});
                    }
                }
            }
            if (role_->next_deadline() <= now_) {
                events_.push_back(node::Woke{});
            }
        }
    }

 private:
    std::unique_ptr<node::Role> role_;
    std::deque<node::Event> events_;
    TimePoint now_{};
};

/// Calls take(sender, number, kind, message) for each piece whose control bytes decode.
template <class Take>
void for_each_message(const std::uint8_t* data, std::size_t size, Take&& take) {
    constexpr std::size_t kHead = 6;
    std::span<const std::uint8_t> rest(data, size);
    while (rest.size() >= kHead) {
        const std::span<const std::uint8_t> head = rest.first(kHead);
        const auto kind = static_cast<std::uint16_t>(head[1] | (head[2] << 8));
        const std::size_t claimed = head[3] + (std::size_t{head[4]} << 8U);
        const std::size_t length = std::min(claimed, rest.size() - kHead);
        const auto message =
            protocol::decode_control(kind, std::as_bytes(rest.subspan(kHead, length)));
        rest = rest.subspan(kHead + length);
        if (message) {
            take(head[0], head[5], kind, *message);
        }
    }
}

}  // namespace swarm::fuzz
