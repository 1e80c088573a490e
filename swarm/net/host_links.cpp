// The part of HostCore that concerns links: every coroutine that reads or writes a socket starts
// here.
#include "swarm/net/as_tuple.hpp"
#include "swarm/net/co_try.hpp"
#include "swarm/net/host_core.hpp"
#include "swarm/net/resolve.hpp"

#include <boost/asio/co_spawn.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace swarm::net {
namespace {

using boost::system::error_code;

/// The host waits this long before it accepts again, when the machine has no file descriptor left.
constexpr auto kAcceptPause = std::chrono::milliseconds(50);

Error unreachable(std::string detail) {
    return {ErrorCode::Unreachable, Reaction::Retry, std::move(detail)};
}

const char* name_of(Lane lane) {
    return lane == Lane::Control ? "control" : "bulk";
}

}  // namespace

asio::awaitable<void> HostCore::accept_links() {
    while (!ended_) {
        auto [error, socket] = co_await acceptor_.async_accept(kAsTuple);
        if (ended_) {
            co_return;
        }
        if (!error) {
            error_code gone;  // set when a stranger has left already; its address is then 0.0.0.0
            const std::string from = socket.remote_endpoint(gone).address().to_string();
            auto link = std::make_shared<Link>(std::move(socket), terms_, Side::Server);
            admit_stranger(link);
            spawn(serve_accepted(std::move(link), from));
        } else if (error != asio::error::connection_aborted) {
            log(node::LogLine::Level::Warning, "cannot accept a connection: " + error.message());
            asio::steady_timer pause(io_, kAcceptPause);
            co_await pause.async_wait(kAsTuple);
        }
    }
}

asio::awaitable<void> HostCore::serve_accepted(std::shared_ptr<Link> link, std::string from) {
    link->set_deadline(options_.dial_timeout);
    const Result<Link::Remote> remote = co_await link->introduce(Lane::Control);
    forget_stranger(link);
    if (remote) {
        co_await serve(link, *remote);
        co_return;
    }
    link->close_now();
    const Error& error = remote.error();
    if (error.code != ErrorCode::Unauthorised && error.code != ErrorCode::Mismatch) {
        log(node::LogLine::Level::Debug, "turned a connection away: " + error.detail);
    } else if (auto line = refusals_.note(from, error.detail, clock_now())) {
        log(node::LogLine::Level::Info, std::move(*line));
    }
}

void HostCore::admit_stranger(std::shared_ptr<Link> link) {
    if (strangers_.size() >= options_.half_open_max) {
        strangers_.front()->close_now();  // the stranger's coroutine then ends with an error
        strangers_.erase(strangers_.begin());
    }
    strangers_.push_back(std::move(link));
}

void HostCore::forget_stranger(const std::shared_ptr<Link>& link) {
    std::erase(strangers_, link);
}

asio::awaitable<void> HostCore::dial(node::Dial dial) {
    const TimePoint due = clock_now() + options_.dial_timeout;
    const auto link = std::make_shared<Link>(tcp::socket(io_), terms_, Side::Client);
    link->set_deadline(options_.dial_timeout);
    const Result<Link::Remote> remote = co_await reach(link, dial);
    if (remote) {
        co_await serve(link, *remote);
        co_return;
    }
    link->close_now();
    const bool late = clock_now() >= due;
    Error error = late ? unreachable("no answer in time") : remote.error();
    deliver(node::DialFailed{dial.peer, dial.lane, std::move(error)});
}

asio::awaitable<Result<Link::Remote>> HostCore::reach(std::shared_ptr<Link> link, node::Dial dial) {
    const auto known = addresses_.find(dial.peer);
    if (dial.address.empty() && known == addresses_.end()) {
        co_return unreachable("no address is known for the peer");
    }
    const std::string address = dial.address.empty() ? known->second : dial.address;
    const TimePoint due = clock_now() + options_.dial_timeout;
    SWARM_CO_TRY(const auto endpoints, co_await resolve(address, due));
    Result<> connected = unreachable(address + " stands for no address");
    for (const tcp::endpoint& endpoint : endpoints) {
        connected = co_await link->connect(endpoint, source_);
        if (connected) {
            break;
        }
    }
    SWARM_CO_TRY(connected);
    const Result<Link::Remote> remote = co_await link->introduce(dial.lane);
    const bool anybody = dial.peer == PeerId{};
    if (remote && !anybody && remote->peer != dial.peer) {
        co_return Error{
            ErrorCode::Unauthorised,
            Reaction::Reject,
            "another peer lives at " + address + ": " + to_text(remote->peer)};
    }
    co_return remote;
}

asio::awaitable<void> HostCore::serve(std::shared_ptr<Link> link, Link::Remote remote) {
    const LinkKey key{remote.peer, remote.lane};
    link->clear_deadline();
    bring_up(remote, link);
    for (;;) {
        Result<Link::Frame> frame = co_await link->read_frame();
        if (!frame) {
            if (is_up(key, link) && frame.error().reaction == Reaction::Reject) {
                log(node::LogLine::Level::Warning,
                    "ended a link, the peer broke the protocol: " + frame.error().detail);
            }
            break;
        }
        if (is_up(key, link)) {  // a closing link is read to its end, and its frames are dropped
            deliver(node::Received{
                remote.peer, remote.lane, std::move(frame->message), std::move(frame->payload)});
        }
    }
    if (is_up(key, link)) {
        end_link(key);
    }
    link->close_now();
}

asio::awaitable<void> HostCore::write(std::shared_ptr<Link> link) {
    co_await link->write_queue();
}

void HostCore::bring_up(const Link::Remote& remote, std::shared_ptr<Link> link) {
    if (ended_) {
        link->close_now();
        return;
    }
    const LinkKey key{remote.peer, remote.lane};
    end_link(key);
    const bool dialed = link->side() == Side::Client;
    links_[key] = std::move(link);
    deliver(node::LinkUp{remote.peer, remote.lane, remote.incarnation, dialed});
}

void HostCore::end_link(const LinkKey& key) {
    const auto found = links_.find(key);
    if (found != links_.end()) {
        drain(found->second);
        links_.erase(found);
        deliver(node::LinkDown{key.first, key.second});
    }
}

void HostCore::abort_link(const LinkKey& key, const Error& error) {
    log(node::LogLine::Level::Warning,
        std::string("ended a ") + name_of(key.second) + " link: " + error.detail);
    const auto found = links_.find(key);
    found->second->close_now();
    links_.erase(found);
    deliver(node::LinkDown{key.first, key.second});
}

void HostCore::drain(const std::shared_ptr<Link>& link) {
    link->set_deadline(options_.drain_timeout);
    link->close_when_written();
    if (link->needs_writer()) {
        spawn(write(link));
    }
}

bool HostCore::is_up(const LinkKey& key, const std::shared_ptr<Link>& link) const {
    const auto found = links_.find(key);
    return found != links_.end() && found->second == link;
}

void HostCore::spawn(asio::awaitable<void> task) {
    ++tasks_;
    const auto ended = [core = shared_from_this()](const std::exception_ptr& bug) {
        --core->tasks_;
        if (bug) {  // expected trouble would have come as a Result
            std::rethrow_exception(bug);
        }
    };
    asio::co_spawn(io_, std::move(task), ended);
}

}  // namespace swarm::net
