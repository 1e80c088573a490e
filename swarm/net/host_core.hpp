// The inside of Host (host.hpp).
// Invariants: links_ holds exactly the links that the role believes up; every coroutine and every
// job keeps the core alive until it has ended; once ended_ is true the role hears nothing.
#pragma once

#include "swarm/net/admission/arrivals.hpp"
#include "swarm/net/host.hpp"
#include "swarm/net/link.hpp"
#include "swarm/net/reach/dial_rule.hpp"
#include "swarm/net/refusal_log.hpp"
#include "swarm/net/resolve.hpp"
#include "swarm/net/store_queue.hpp"
#include "swarm/node/role_runner.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>

#include <map>
#include <set>
#include <utility>
#include <vector>

namespace swarm::net {

class HostCore : public std::enable_shared_from_this<HostCore> {
 public:
    HostCore(
        asio::io_context& io,
        std::unique_ptr<node::Role> role,
        FileStore store,
        const Identity& identity,
        HostOptions options
    );
    HostCore(const HostCore&) = delete;
    HostCore& operator=(const HostCore&) = delete;
    ~HostCore() = default;

    Result<std::uint16_t> listen();
    void know_address(const PeerId& peer, std::string address);
    void start();
    void ask(node::Asked asked);
    void stop();
    void kill();

    [[nodiscard]] bool finished() const {
        return ended_ && tasks_ == 0 && !storing_ && stores_.empty();
    }

    [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }

    [[nodiscard]] const Link::Traffic& traffic() const { return *terms_->traffic; }

    [[nodiscard]] asio::io_context& io() { return io_; }

 private:
    using LinkKey = std::pair<PeerId, Lane>;

    /// A link that the role believes up.
    struct Connected {
        std::shared_ptr<Link> link;
        Incarnation incarnation;
        TimePoint since;
        TimePoint heard_at;  // the last frame, or the Hello
        Origin origin;
    };

    /// A connection that came in and has not said Hello.
    struct Stranger {
        std::shared_ptr<Link> link;
        Origin origin;
        TimePoint since;
    };

    using Links = std::map<LinkKey, Connected>;

    /// A process that says Hello with the key of a peer whose other process still has a link.
    struct Challenge {
        PeerId peer;
        asio::steady_timer lasts;  // cancelled when the other process's link ends
    };

    using Reached = std::pair<std::shared_ptr<Link>, Link::Remote>;

    // Links (host_links.cpp); the coroutines come first.
    asio::awaitable<void> accept_links();
    asio::awaitable<void> serve_accepted(std::shared_ptr<Link> link, std::string from);
    asio::awaitable<void> dial(node::Dial dial);
    /// `stranger`: set when first_contact has refused who answers there.
    asio::awaitable<Result<Reached>> reach(
        node::Dial dial, TimePoint due, std::optional<Error>& stranger
    );
    asio::awaitable<Result<Reached>> reach_one_of(
        Endpoints& endpoints, node::Dial dial, TimePoint due, std::optional<Error>& stranger
    );
    asio::awaitable<Link::KeyIs> judge(Link::Remote remote);
    asio::awaitable<void> serve_dial_back(std::shared_ptr<Link> link, Link::Remote remote);
    asio::awaitable<void> serve(std::shared_ptr<Link> link, Link::Remote remote);
    /// Reads a frame within the role's allowance for the peer.
    asio::awaitable<Result<Link::Frame>> read_allowed(std::shared_ptr<Link> link, PeerId from);
    asio::awaitable<Result<>> wait_for_room(PeerId from, std::uint64_t bytes);
    asio::awaitable<void> watch_newcomers();
    asio::awaitable<void> write(std::shared_ptr<Link> link);

    /// Says whether this process may talk to who answers a dial.
    [[nodiscard]] Result<> recognise(
        const node::Dial& dial, const tcp::endpoint& there, const Credentials& shown
    ) const;
    void admit_stranger(std::shared_ptr<Link> link, const Origin& origin);
    void forget_stranger(const std::shared_ptr<Link>& link);
    /// Ends links of newcomers until there are as many as this host keeps.
    void keep_newcomers_few();
    /// Looks at all links anew: who came in and is no partner, and who of these is silent.
    void review_newcomers();
    [[nodiscard]] bool is_newcomer(const LinkKey& key) const;
    void bring_up(const Link::Remote& remote, std::shared_ptr<Link> link);
    /// True when the two peers dialled each other and both keep the link that is there (C4).
    [[nodiscard]] bool crosses_a_better_one(const Link::Remote& remote, Side side) const;
    /// The last time that another process with the same key was heard; kNever: it has no control
    /// link.
    [[nodiscard]] TimePoint other_heard_at(const Link::Remote& remote) const;
    void end_challenges(const LinkKey& key);
    void end_link(const LinkKey& key);
    void abort_link(const LinkKey& key, const Error& error);
    void drain(const std::shared_ptr<Link>& link);
    [[nodiscard]] bool is_up(const LinkKey& key, const std::shared_ptr<Link>& link) const;
    void spawn(asio::awaitable<void> task);

    // The actions of a role.
    void perform(node::Dial& dial);
    void perform(node::Close& close);
    void perform(node::Send& send);
    void perform(node::Compute& compute);
    void perform(node::Append& append);
    void perform(node::WriteFile& file);
    void perform(node::Load& load);
    void perform(node::Tell& tell);

    void store_now();
    void store_soon();
    void on_stored(Result<std::vector<node::Event>> answers);
    void deliver(node::Event event);
    void arm_timer();
    void log(node::LogLine::Level level, std::string text);
    void end();
    void fail(const Error& error);

    asio::io_context& io_;
    HostOptions options_;
    std::shared_ptr<const Link::Terms> terms_;
    asio::ip::address source_;  // links are dialled from it; unspecified: the system chooses
    tcp::acceptor acceptor_;
    asio::steady_timer timer_;
    TimePoint armed_for_ = kNever;
    asio::steady_timer store_timer_;
    bool store_timer_armed_ = false;
    std::map<PeerId, std::string> addresses_;
    Links links_;
    std::vector<Stranger> strangers_;  // oldest first
    std::set<LinkKey> newcomers_;      // accepted links; some have ended or are partners' now
    Arrivals arrivals_;
    DialRule dial_rule_{options_.dials_private};
    std::uint64_t arriving_bytes_ = 0;  // bytes of the tensors that are being read
    asio::steady_timer review_timer_;
    std::vector<std::shared_ptr<Challenge>> challenges_;  // bounded as strangers are
    std::size_t dial_backs_ = 0;                          // under way
    RefusalLog refusals_;
    StoreQueue stores_;
    std::vector<node::Asked> asked_early_;
    bool storing_ = false;
    bool started_ = false;
    bool ended_ = false;
    bool acquainted_ = false;  // somebody has answered a dial without a peer and was let in
    int tasks_ = 0;
    std::optional<Error> failure_;
    FileStore store_;
    node::RoleRunner runner_;
    // Last, and so destroyed first, because their threads use the members above.
    std::unique_ptr<ComputePool> compute_;
    asio::thread_pool disk_{1};
};

}  // namespace swarm::net
