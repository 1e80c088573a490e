// The part of HostCore that concerns links: every coroutine that reads or writes a socket starts
// here.
#include "swarm/base/peer_name.hpp"
#include "swarm/net/address.hpp"
#include "swarm/net/admission/origin.hpp"
#include "swarm/net/as_tuple.hpp"
#include "swarm/net/co_try.hpp"
#include "swarm/net/connect.hpp"
#include "swarm/net/dial_back.hpp"
#include "swarm/net/host_core.hpp"

#include <boost/asio/co_spawn.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace swarm::net {
namespace {

using boost::system::error_code;

/// The coordinator and the directory hear each peer every 2 s.
constexpr auto kAnswersWithin = std::chrono::milliseconds(2200);

/// The host waits this long before it accepts again, when the machine has no file descriptor left.
constexpr auto kAcceptPause = std::chrono::milliseconds(50);

constexpr auto kTooManyArrivals = "too many connections from it, or from its network, at once";

Error unreachable(std::string detail) {
    return {ErrorCode::Unreachable, Reaction::Retry, std::move(detail)};
}

/// An IPv4 peer of a socket for both families has an address such as ::ffff:10.0.0.1.
std::string host_of(const tcp::endpoint& endpoint) {
    const asio::ip::address address = endpoint.address();
    const bool is_mapped = address.is_v6() && address.to_v6().is_v4_mapped();
    return is_mapped ? make_address_v4(asio::ip::v4_mapped, address.to_v6()).to_string()
                     : address.to_string();
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
            const tcp::endpoint endpoint = socket.remote_endpoint(gone);
            const std::string from = host_of(endpoint);
            const Origin origin = origin_of(endpoint.address());
            if (!arrivals_.take(origin, clock_now())) {
                if (auto line = refusals_.note(from, kTooManyArrivals, clock_now())) {
                    log(node::LogLine::Level::Info, std::move(*line));
                }
                continue;  // the socket closes
            }
            auto link = std::make_shared<Link>(std::move(socket), terms_, Side::Server);
            admit_stranger(link, origin);
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
    const Result<Link::Remote> remote = co_await link->hear_introduction();
    if (remote && remote->dial_back_port != 0) {
        co_await serve_dial_back(link, *remote);
        forget_stranger(link);
        link->close_now();
        co_return;
    }
    Result<> answered = Error{ErrorCode::ConnectionLost, Reaction::Retry, "not introduced"};
    auto key = Link::KeyIs::Free;
    if (remote) {
        key = co_await judge(*remote);
        answered = co_await link->answer_introduction(key);
    }
    forget_stranger(link);
    if (answered && key == Link::KeyIs::Free) {
        if (crosses_a_better_one(*remote, link->side())) {
            link->close_now();
        } else {
            co_await serve(link, *remote);
        }
        co_return;
    }
    link->close_now();
    const Error error = key == Link::KeyIs::InUse ? Error{
        ErrorCode::Unauthorised, Reaction::Reject,
        "it has the key of " + to_short_text(remote->peer) + ", which is linked and answers"}
        : remote ? answered.error() : remote.error();
    if (error.code != ErrorCode::Unauthorised && error.code != ErrorCode::Mismatch) {
        log(node::LogLine::Level::Debug, "turned a connection away: " + error.detail);
    } else if (auto line = refusals_.note(from, error.detail, clock_now())) {
        log(node::LogLine::Level::Info, std::move(*line));
    }
}

asio::awaitable<void> HostCore::serve_dial_back(std::shared_ptr<Link> link, Link::Remote remote) {
    Link::DialBack answer{protocol::DialBack::Busy, {}};
    error_code gone;
    const tcp::endpoint from = link->remote_endpoint(gone);
    answer.seen_from = host_of(from);
    // Behind % is the name of our own network card, which says nothing to the other side.
    answer.seen_from.resize(std::min(answer.seen_from.find('%'), answer.seen_from.size()));
    if (!gone && dial_backs_ < kDialBacksMax) {
        ++dial_backs_;
        const tcp::endpoint there(from.address(), remote.dial_back_port);
        answer.outcome = co_await dial_back(terms_, there, remote.peer);
        --dial_backs_;
    }
    co_await link->answer_dial_back(std::move(answer));
}

// The links of a process that was killed end before the next one with its key can dial, or right
// behind the last frames that are still on the line. Only a machine or line that went down leaves a
// link behind, and that link is silent. So a control link that brings frames and does not end
// belongs to a second process, and the newcomer is one too many.
asio::awaitable<Link::KeyIs> HostCore::judge(Link::Remote remote) {
    const TimePoint came = clock_now();
    const TimePoint heard = other_heard_at(remote);
    if (heard == kNever || heard + kAnswersWithin <= came) {
        co_return Link::KeyIs::Free;
    }
    const auto challenge = std::make_shared<Challenge>(Challenge{
        remote.peer, asio::steady_timer(io_, kAnswersWithin)});
    challenges_.push_back(challenge);
    co_await challenge->lasts.async_wait(kAsTuple);
    std::erase(challenges_, challenge);
    const TimePoint heard_since = other_heard_at(remote);
    const bool answers = heard_since != kNever && heard_since > came;
    co_return answers ? Link::KeyIs::InUse : Link::KeyIs::Free;
}

TimePoint HostCore::other_heard_at(const Link::Remote& remote) const {
    const auto found = links_.find({remote.peer, Lane::Control});
    const bool other = found != links_.end() && found->second.incarnation != remote.incarnation;
    return other ? found->second.heard_at : kNever;
}

void HostCore::end_challenges(const LinkKey& key) {
    for (const auto& challenge : challenges_) {
        if (challenge->peer == key.first && key.second == Lane::Control) {
            challenge->lasts.cancel();
        }
    }
}

asio::awaitable<void> HostCore::dial(node::Dial dial) {
    const TimePoint due = clock_now() + options_.dial_timeout;
    std::optional<Error> stranger;
    const Result<Reached> reached = co_await reach(dial, due, stranger);
    if (!reached && stranger && !acquainted_ && !ended_) {
        fail(*stranger);
    } else if (!reached) {
        if (stranger && !ended_) {
            log(node::LogLine::Level::Warning, stranger->detail);
        }
        deliver(node::DialFailed{dial.peer, dial.lane, reached.error()});
    } else if (const auto& [link, remote] = *reached; crosses_a_better_one(remote, link->side())) {
        link->close_now();
        deliver(node::DialFailed{
            dial.peer, dial.lane, unreachable("the peer's own dial was first: the link is up")});
    } else {
        co_await serve(link, remote);
    }
}

asio::awaitable<Result<HostCore::Reached>> HostCore::reach(
    node::Dial dial, TimePoint due, std::optional<Error>& stranger
) {
    const auto known = addresses_.find(dial.peer);
    if (dial.address.empty() && known == addresses_.end()) {
        co_return unreachable("no address is known for the peer");
    }
    dial.address = dial.address.empty() ? known->second : dial.address;
    if (dial.peer == PeerId{}) {
        dial_rule_.typed(dial.address);
    }
    SWARM_CO_TRY(auto endpoints, co_await resolve(dial.address, due));
    const std::size_t refused = std::erase_if(endpoints, [&](const tcp::endpoint& endpoint) {
        return !dial_rule_.allows(dial.address, endpoint.address());
    });
    if (endpoints.empty() && refused > 0) {
        co_return unreachable(
            dial.address +
            " is in a private network or on this machine, and the run is not; "
            "serve --dial-private allows private networks"
        );
    }
    // An address may lead to another machine of the same number in another network.
    std::optional<Error> met;
    while (!endpoints.empty()) {
        const Result<Reached> reached = co_await reach_one_of(endpoints, dial, due, stranger);
        if (reached) {
            co_return *reached;
        }
        if (!met || endpoints.empty()) {
            met = met.value_or(reached.error());
        }
        if (clock_now() >= due || reached.error().reaction == Reaction::Fatal) {
            break;
        }
    }
    co_return *met;
}

/// Connects to one of the endpoints and takes it, and each that has failed, off the list.
asio::awaitable<Result<HostCore::Reached>> HostCore::reach_one_of(
    Endpoints& endpoints, node::Dial dial, TimePoint due, std::optional<Error>& stranger
) {
    Result<tcp::socket> socket = co_await connect_to_any(endpoints, source_, due);
    if (!socket) {
        endpoints.clear();
        co_return socket.error();
    }
    error_code gone;
    const tcp::endpoint there = socket->remote_endpoint(gone);
    std::erase(endpoints, there);
    if (gone) {
        co_return unreachable("cannot connect to " + dial.address + ": " + gone.message());
    }
    const auto link = std::make_shared<Link>(std::move(*socket), terms_, Side::Client);
    link->set_deadline(due - clock_now());
    const bool anybody = dial.peer == PeerId{};
    Credentials met;
    std::optional<Error> refused;
    const Link::Judge judge = [&](const Credentials& shown) {
        met = shown;
        const Result<> known = recognise(dial, there, shown);
        refused = known ? std::nullopt : std::optional(known.error());
        return known;
    };
    const Result<Link::Remote> remote = co_await link->introduce(dial.lane, judge);
    if (remote) {
        if (anybody) {
            dial_rule_.joined(there.address());
        }
        if (anybody && options_.first_contact && !ended_) {
            options_.first_contact->keep(dial.address, met);
        }
        acquainted_ = acquainted_ || anybody;
        co_return Reached{link, *remote};
    }
    link->close_now();
    if (refused) {
        stranger = anybody ? refused : stranger;
        co_return *refused;
    }
    if (clock_now() >= due) {
        co_return unreachable("no answer in time from " + to_text(there));
    }
    co_return remote.error();
}

Result<> HostCore::recognise(
    const node::Dial& dial, const tcp::endpoint& there, const Credentials& shown
) const {
    if (dial.peer == PeerId{}) {
        return options_.first_contact ? options_.first_contact->judge(dial.address, shown)
                                      : Result<>();
    }
    if (dial.peer == shown.peer) {
        return {};
    }
    return Error{
        ErrorCode::Unauthorised,
        Reaction::Reject,
        "another peer lives at " + to_text(there) + ": " + to_text(shown.peer)};
}

asio::awaitable<void> HostCore::serve(std::shared_ptr<Link> link, Link::Remote remote) {
    const LinkKey key{remote.peer, remote.lane};
    link->clear_deadline();
    bring_up(remote, link);
    for (;;) {
        Result<Link::Frame> frame = co_await read_allowed(link, remote.peer);
        const bool up = is_up(key, link);
        if (!frame) {
            if (up && frame.error().reaction == Reaction::Reject) {
                log(node::LogLine::Level::Warning,
                    "ended a link, the peer broke the protocol: " + frame.error().detail);
            }
            break;
        }
        if (up) {  // a closing link is read to its end, and its frames are dropped
            links_.at(key).heard_at = clock_now();
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
    const TimePoint now = clock_now();
    error_code gone;
    const Origin origin = origin_of(link->remote_endpoint(gone).address());
    links_[key] = {std::move(link), remote.incarnation, now, now, origin};
    deliver(node::LinkUp{remote.peer, remote.lane, remote.incarnation, dialed, origin.network});
    if (!dialed) {
        newcomers_.insert(key);
        keep_newcomers_few();
    }
}

// A dial that comes later than the time limit of dials does not cross the one before it: the peer
// dials because its end of that link is gone.
bool HostCore::crosses_a_better_one(const Link::Remote& remote, Side side) const {
    const auto found = links_.find({remote.peer, remote.lane});
    if (found == links_.end() || found->second.incarnation != remote.incarnation ||
        found->second.since + options_.dial_timeout <= clock_now()) {
        return false;
    }
    const Side by_smaller_id = terms_->self < remote.peer ? Side::Client : Side::Server;
    return found->second.link->side() == by_smaller_id && side != by_smaller_id;
}

void HostCore::end_link(const LinkKey& key) {
    const auto found = links_.find(key);
    if (found != links_.end()) {
        drain(found->second.link);
        links_.erase(found);
        end_challenges(key);
        deliver(node::LinkDown{key.first, key.second});
    }
}

void HostCore::abort_link(const LinkKey& key, const Error& error) {
    log(node::LogLine::Level::Warning,
        std::string("ended a ") + name_of(key.second) + " link: " + error.detail);
    const auto found = links_.find(key);
    found->second.link->close_now();
    links_.erase(found);
    end_challenges(key);
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
    return found != links_.end() && found->second.link == link;
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
