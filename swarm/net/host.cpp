#include "swarm/net/host.hpp"

#include "swarm/base/try.hpp"
#include "swarm/net/address.hpp"
#include "swarm/net/host_core.hpp"
#include "swarm/net/listen.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <utility>

namespace swarm::net {
namespace {

using boost::system::error_code;
using Steady = std::chrono::steady_clock;

/// A record that is not durable stays in memory this long at most.
constexpr auto kStoreSoon = std::chrono::seconds(1);

}  // namespace

HostCore::HostCore(
    asio::io_context& io,
    std::unique_ptr<node::Role> role,
    FileStore store,
    const Identity& identity,
    HostOptions options
)
    : io_(io),
      options_(std::move(options)),
      terms_(std::make_shared<const Link::Terms>(Link::Terms{
          TlsContext(identity),
          identity.peer(),
          options_.incarnation,
          options_.swarm_key,
          options_.stall_timeout,
          std::make_shared<Link::Traffic>(),
          options_.send_limit,
          options_.receive_limit})),
      acceptor_(io),
      timer_(io),
      store_timer_(io),
      review_timer_(io),
      store_(std::move(store)),
      runner_(std::move(role), [this](node::Action&& action) {
          if (!ended_) {
              std::visit([&](auto& asked) { perform(asked); }, action);
          }
      }) {
    if (!options_.dial_from.empty()) {
        source_ = asio::ip::make_address(options_.dial_from);
    }
}

Result<std::uint16_t> HostCore::listen() {
    SWARM_TRY(
        acceptor_,
        listen_at(io_.get_executor(), Address{options_.listen_address, options_.listen_port})
    );
    return acceptor_.local_endpoint().port();
}

void HostCore::know_address(const PeerId& peer, std::string address) {
    addresses_[peer] = std::move(address);
}

void HostCore::start() {
    started_ = true;
    if (store_.torn_bytes() > 0) {
        log(node::LogLine::Level::Warning,
            "cut " + std::to_string(store_.torn_bytes()) + " torn bytes off the log after a crash");
    }
    if (runner_.next_deadline() <= clock_now()) {  // C11: the first turn before any request
        deliver(node::Woke{});
    }
    arm_timer();
    for (node::Asked& asked : std::exchange(asked_early_, {})) {
        deliver(std::move(asked));
    }
    if (acceptor_.is_open()) {
        spawn(accept_links());
        spawn(watch_newcomers());
    }
}

void HostCore::ask(node::Asked asked) {
    if (started_) {
        deliver(std::move(asked));
    } else {
        asked_early_.push_back(std::move(asked));
    }
}

void HostCore::stop() {
    if (ended_) {
        return;
    }
    deliver(node::Stop{});
    for (const auto& [key, connected] : links_) {
        drain(connected.link);
    }
    end();
    store_now();
}

void HostCore::kill() {
    for (const auto& [key, connected] : links_) {
        connected.link->close_now();
    }
    stores_ = {};
    end();
}

void HostCore::perform(node::Dial& dial) {
    spawn(this->dial(std::move(dial)));
}

void HostCore::perform(node::Close& close) {
    end_link({close.peer, close.lane});
}

void HostCore::perform(node::Send& send) {
    const LinkKey key{send.peer, protocol::lane_of(send.message.body)};
    const auto found = links_.find(key);
    if (found == links_.end()) {
        return;
    }
    const std::shared_ptr<Link> link = found->second.link;
    const std::uint64_t queued_bytes = link->queued_bytes() + send.payload.bytes().size();
    if (queued_bytes > protocol::kNewcomerOutboxBytesMax && is_newcomer(key)) {
        return abort_link(
            key, {ErrorCode::ConnectionLost, Reaction::RetryElsewhere, "the peer reads too slowly"}
        );
    }
    if (const Result<> queued = link->enqueue(send.message, std::move(send.payload)); !queued) {
        abort_link(key, queued.error());
    } else if (link->needs_writer()) {
        spawn(write(link));
    }
}

void HostCore::perform(node::Compute& compute) {
    if (!compute_) {
        const auto done = [this, weak = weak_from_this()](JobId job, Duration took) {
            asio::post(io_, [weak, job, took] {
                if (const auto core = weak.lock()) {
                    core->deliver(node::Computed{job, took});
                }
            });
        };
        const auto failed = [this, weak = weak_from_this()](std::string reason) {
            asio::post(io_, [weak, reason = std::move(reason)] {
                if (const auto core = weak.lock(); core && !core->ended_) {
                    core->fail({ErrorCode::Unsupported, Reaction::Fatal, reason});
                }
            });
        };
        compute_ = std::make_unique<ComputePool>(options_.compute, done, failed);
    }
    compute_->submit(std::move(compute));
}

void HostCore::perform(node::Append& append) {
    stores_.add(std::move(append));
    store_soon();
}

void HostCore::perform(node::WriteFile& file) {
    stores_.add(std::move(file));
    store_soon();
}

void HostCore::perform(node::Load& load) {
    stores_.add(load);
    store_soon();
}

void HostCore::perform(node::Tell& tell) {
    if (options_.on_tell) {
        options_.on_tell(tell.report);
    }
}

void HostCore::store_soon() {
    if (stores_.urgent()) {
        store_now();
    } else if (!std::exchange(store_timer_armed_, true)) {
        store_timer_.expires_after(kStoreSoon);
        store_timer_.async_wait([weak = weak_from_this()](const error_code& cancelled) {
            const auto core = weak.lock();
            if (core && !cancelled) {
                core->store_timer_armed_ = false;
                core->store_now();
            }
        });
    }
}

void HostCore::store_now() {
    if (storing_ || stores_.empty()) {
        return;
    }
    storing_ = true;
    // disk_ is joined before store_ is destroyed, so the plain pointer is valid there. The answer
    // may come after the host is gone, so it needs the weak pointer.
    asio::post(disk_, [this, weak = weak_from_this(), batch = stores_.take()] {
        auto answers = run_batch(store_, batch);
        asio::post(io_, [weak, answers = std::move(answers)]() mutable {
            if (const auto core = weak.lock()) {
                core->on_stored(std::move(answers));
            }
        });
    });
}

void HostCore::on_stored(Result<std::vector<node::Event>> answers) {
    storing_ = false;
    if (!answers) {
        fail(answers.error());
        return;
    }
    for (node::Event& answer : *answers) {
        deliver(std::move(answer));
    }
    if (stores_.urgent() || ended_) {
        store_now();
    }
}

void HostCore::deliver(node::Event event) {
    if (!ended_) {
        runner_.deliver(std::move(event), clock_now());
        arm_timer();
    }
}

void HostCore::arm_timer() {
    const TimePoint due = std::max(runner_.next_deadline(), clock_now());
    if (ended_ || armed_for_ <= due) {
        return;  // a timer that fires early looks at the deadline again
    }
    armed_for_ = due;
    timer_.expires_at(Steady::time_point(due.time_since_epoch()));
    timer_.async_wait([weak = weak_from_this()](const error_code& cancelled) {
        const auto core = weak.lock();
        if (!core || cancelled) {
            return;
        }
        core->armed_for_ = kNever;
        if (core->runner_.next_deadline() <= clock_now()) {
            core->deliver(node::Woke{});
        } else {
            core->arm_timer();
        }
    });
}

void HostCore::log(node::LogLine::Level level, std::string text) {
    if (options_.on_tell) {
        options_.on_tell(node::LogLine{level, std::move(text)});
    }
}

void HostCore::end() {
    ended_ = true;
    links_.clear();
    for (const Stranger& stranger : std::exchange(strangers_, {})) {
        stranger.link->close_now();
    }
    timer_.cancel();
    review_timer_.cancel();
    store_timer_.cancel();
    error_code ignored;
    acceptor_.close(ignored);
    if (compute_) {
        compute_->shutdown();
    }
}

void HostCore::fail(const Error& error) {
    failure_ = error;
    kill();
}

Host::Host(
    EventLoop& loop,
    std::unique_ptr<node::Role> role,
    FileStore store,
    const Identity& identity,
    HostOptions options
)
    : core_(std::make_shared<HostCore>(
          loop.io(), std::move(role), std::move(store), identity, std::move(options)
      )) {}

Host::~Host() {
    core_->kill();
}

Result<std::uint16_t> Host::listen() {
    return core_->listen();
}

void Host::know_address(const PeerId& peer, std::string address) {
    core_->know_address(peer, std::move(address));
}

void Host::start() {
    core_->start();
}

void Host::ask(node::Asked asked) {
    asio::post(core_->io(), [weak = std::weak_ptr(core_), asked = std::move(asked)]() mutable {
        if (const auto core = weak.lock()) {
            core->ask(std::move(asked));
        }
    });
}

void Host::stop() {
    // Posted, because the Stop must not come within a turn.
    asio::post(core_->io(), [weak = std::weak_ptr(core_)] {
        if (const auto core = weak.lock()) {
            core->stop();
        }
    });
}

void Host::kill() {
    core_->kill();
}

bool Host::finished() const {
    return core_->finished();
}

std::uint64_t Host::sent_bytes() const {
    return core_->traffic().sent_bytes;
}

std::uint64_t Host::received_bytes() const {
    return core_->traffic().received_bytes;
}

const std::optional<Error>& Host::failure() const {
    return core_->failure();
}

}  // namespace swarm::net
