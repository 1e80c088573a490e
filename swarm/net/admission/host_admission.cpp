// The part of HostCore that bounds what newcomers cost: their connections, their links, and the
// memory of frames that nobody asked for.
#include "swarm/base/idle_memory.hpp"
#include "swarm/net/admission/eviction.hpp"
#include "swarm/net/as_tuple.hpp"
#include "swarm/net/co_try.hpp"
#include "swarm/net/host_core.hpp"
#include "swarm/protocol/limits.hpp"

#include <algorithm>
#include <sys/resource.h>
#include <utility>

namespace swarm::net {
namespace {

/// A tensor waits so long for a role that does not want it yet: the roster that names its sender
/// may still be on its way. For memory it waits as long as a frame may stand still.
constexpr auto kAllowanceComesWithin = std::chrono::seconds(1);
constexpr auto kLookAgainAfter = std::chrono::milliseconds(10);

/// When so many newcomers have left, the allocator keeps pages worth giving back.
constexpr std::size_t kCrowd = 64;

std::size_t file_descriptors_max() {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur;
}

}  // namespace

void HostCore::admit_stranger(std::shared_ptr<Link> link, const Origin& origin) {
    const std::size_t most =
        std::min<std::size_t>(options_.half_open_max, file_descriptors_max() / 4);
    if (strangers_.size() >= most) {
        std::vector<Evictable> links;
        for (const Stranger& stranger : strangers_) {
            links.push_back({stranger.origin, node::Acquaintance::Stranger, stranger.since});
        }
        const auto at = strangers_.begin() + static_cast<std::ptrdiff_t>(choose_eviction(links));
        at->link->close_now();  // the stranger's coroutine then ends with an error
        strangers_.erase(at);
    }
    strangers_.push_back({std::move(link), origin, clock_now()});
}

void HostCore::forget_stranger(const std::shared_ptr<Link>& link) {
    std::erase_if(strangers_, [&](const Stranger& stranger) { return stranger.link == link; });
}

bool HostCore::is_newcomer(const LinkKey& key) const {
    const auto found = links_.find(key);
    return found != links_.end() && found->second.link->side() == Side::Server &&
           runner_.allowance(key.first).acquaintance != node::Acquaintance::Partner;
}

void HostCore::keep_newcomers_few() {
    const std::size_t most =
        std::min<std::size_t>(options_.newcomers_max, file_descriptors_max() / 2);
    while (newcomers_.size() > most) {
        // The role may have closed any of them when it heard of the last one's end.
        std::erase_if(newcomers_, [&](const LinkKey& key) { return !is_newcomer(key); });
        if (newcomers_.size() <= most) {
            return;
        }
        const std::vector<LinkKey> keys(newcomers_.begin(), newcomers_.end());
        std::vector<Evictable> links;
        for (const LinkKey& key : keys) {
            const Connected& link = links_.at(key);
            const node::Allowance allowed = runner_.allowance(key.first);
            links.push_back({link.origin, allowed.acquaintance, link.heard_at});
        }
        const LinkKey key = keys[choose_eviction(links)];
        newcomers_.erase(key);
        end_link(key);
    }
}

void HostCore::review_newcomers() {
    const std::size_t had = newcomers_.size();
    const TimePoint silent_since = clock_now() - options_.stranger_silence_max;
    newcomers_.clear();
    std::vector<LinkKey> silent;
    for (const auto& [key, link] : links_) {
        if (!is_newcomer(key)) {
            continue;
        }
        const auto acquaintance = runner_.allowance(key.first).acquaintance;
        const bool is_stranger = acquaintance == node::Acquaintance::Stranger;
        if (is_stranger && link.heard_at <= silent_since) {
            silent.push_back(key);
        } else {
            newcomers_.insert(key);
        }
    }
    for (const LinkKey& key : silent) {
        end_link(key);
    }
    if (newcomers_.size() + kCrowd <= had) {
        give_memory_back();
    }
}

asio::awaitable<void> HostCore::watch_newcomers() {
    while (!ended_) {
        review_timer_.expires_after(options_.stranger_silence_max / 4);
        co_await review_timer_.async_wait(kAsTuple);
        if (!ended_) {
            review_newcomers();
        }
    }
}

asio::awaitable<Result<Link::Frame>> HostCore::read_allowed(
    std::shared_ptr<Link> link, PeerId from
) {
    SWARM_CO_TRY(const auto header, co_await link->read_header());
    if (header.control_bytes > protocol::kControlBytesMax &&
        header.control_bytes > runner_.allowance(from).control_bytes) {
        co_return Error{
            ErrorCode::TooLarge, Reaction::Reject, "a larger control part than this peer may send"};
    }
    SWARM_CO_TRY(auto head, co_await link->read_head(header));
    if (!head.envelope) {
        co_return Link::Frame{std::move(head.message), {}};
    }
    const std::uint64_t bytes = head.tensor_bytes;
    SWARM_CO_TRY(co_await wait_for_room(from, bytes));
    arriving_bytes_ += bytes;
    auto payload = co_await link->read_tensor(std::move(*head.envelope), bytes);
    arriving_bytes_ -= bytes;
    SWARM_CO_TRY(auto tensor, std::move(payload));
    co_return Link::Frame{std::move(head.message), std::move(tensor)};
}

/// Meanwhile nothing is read from the link, so the sender feels it.
asio::awaitable<Result<>> HostCore::wait_for_room(PeerId from, std::uint64_t bytes) {
    const TimePoint came = clock_now();
    asio::steady_timer pause(io_);
    for (;;) {
        const bool is_wanted = bytes <= runner_.allowance(from).tensor_bytes;
        const bool fits = arriving_bytes_ + bytes <= protocol::kArrivingTensorBytesMax;
        if (is_wanted && fits) {
            co_return Result<>();
        }
        const Duration patience = is_wanted ? options_.stall_timeout : kAllowanceComesWithin;
        if (ended_ || clock_now() >= came + patience) {
            co_return Error{
                ErrorCode::TooLarge,
                Reaction::Reject,
                is_wanted ? "no memory for its tensor in time"
                          : "a tensor that nobody asked it for"};
        }
        pause.expires_after(kLookAgainAfter);
        co_await pause.async_wait(kAsTuple);
    }
}

}  // namespace swarm::net
