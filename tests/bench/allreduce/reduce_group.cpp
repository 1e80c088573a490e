#include "tests/bench/allreduce/reduce_group.hpp"

#include "swarm/base/check.hpp"
#include "swarm/base/keep_freed_memory.hpp"
#include "swarm/net/link.hpp"
#include "tests/bench/allreduce/reduce_member.hpp"

#include <array>
#include <cstdlib>
#include <utility>

namespace swarm::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kMembersMax = 16;
constexpr auto kPatience = std::chrono::seconds(60);

/// Ports of the members' hosts, then of ours.
using Ports = std::array<std::uint16_t, kMembersMax + 1>;

net::HostOptions on_loopback() {
    net::HostOptions options;
    options.listen_address = "127.0.0.1";
    return options;
}

net::FileStore store_in(const fs::path& folder) {
    auto store = net::FileStore::open(folder);
    SWARM_ASSERT(store.has_value());
    return std::move(*store);
}

std::vector<PeerId> peers_of(const std::vector<net::Identity>& identities) {
    std::vector<PeerId> peers;
    for (const net::Identity& identity : identities) {
        peers.push_back(identity.peer());
    }
    return peers;
}

/// In its own process, until that is ended.
void serve_member(
    const std::vector<net::Identity>& identities,
    std::uint32_t own,
    std::uint32_t elements,
    const fs::path& folder,
    const Line& parent
) {
    keep_freed_memory();  // the program does the same
    std::vector<PeerId> members = peers_of(identities);
    const PeerId conductor = members.back();
    members.pop_back();
    net::EventLoop loop;
    net::Host host(
        loop,
        std::make_unique<ReduceMember>(members, own, conductor, elements),
        store_in(folder),
        identities[own],
        on_loopback()
    );
    const auto port = host.listen();
    SWARM_ASSERT(port.has_value());
    parent.send(*port);
    const auto ports = parent.receive<Ports>();
    if (!ports) {
        return;
    }
    for (std::size_t i = 0; i < identities.size(); ++i) {
        host.know_address(identities[i].peer(), "127.0.0.1:" + std::to_string((*ports)[i]));
    }
    host.start();
    loop.run_until([&] { return host.failure().has_value(); });
}

Error gone(const std::string& what) {
    return {ErrorCode::ConnectionLost, Reaction::Fatal, "all-reduce: " + what};
}

}  // namespace

/// Starts the next round at any request.
class ReduceGroup::Conductor final : public node::Role {
 public:
    Conductor(std::vector<PeerId> members, Digest expected, Progress& progress)
        : members_(std::move(members)), expected_(expected), progress_(progress) {}

    void on(const node::Event& event, TimePoint /*now*/, node::Outbox& out) override {
        if (std::holds_alternative<node::Asked>(event)) {
            begin_round(out);
        } else if (const auto* got = std::get_if<node::Received>(&event)) {
            take(got->message.body);
        }
    }

    [[nodiscard]] TimePoint next_deadline() const override { return kNever; }

 private:
    void begin_round(node::Outbox& out) {
        epoch_ = make_epoch(1, ++rounds_);
        protocol::Reduce reduce;
        reduce.epoch = epoch_;
        for (std::uint32_t i = 0; i < members_.size(); ++i) {
            reduce.group.push_back(slot_of_member(i));
        }
        for (std::uint32_t i = 0; i < members_.size(); ++i) {
            reduce.ids = {{i}};
            out.add(node::Send{members_[i], {0, 0, reduce}});
        }
    }

    void take(const protocol::Body& body) {
        if (std::holds_alternative<protocol::Join>(body)) {
            ++progress_.ready;
        } else if (const auto* reduced = std::get_if<protocol::Reduced>(&body)) {
            progress_.is_exact = progress_.is_exact && reduced->epoch == epoch_ &&
                                 reduced->result_hash == expected_ &&
                                 reduced->counted_once == members_.size() &&
                                 reduced->counted_wrong == 0;
            ++progress_.reduced;
        } else if (std::holds_alternative<protocol::Mismatch>(body)) {
            progress_.is_exact = false;
        }  // STUCK: a slow round is a figure, too
    }

    std::vector<PeerId> members_;
    Digest expected_;
    Progress& progress_;
    Epoch epoch_;
    std::uint32_t rounds_ = 0;
};

ReduceGroup::ReduceGroup(std::uint32_t members, std::uint32_t elements) {
    SWARM_ASSERT(members <= kMembersMax);
    std::string pattern = (fs::temp_directory_path() / "swarm-bench-XXXXXX").string();
    SWARM_ASSERT(::mkdtemp(pattern.data()) != nullptr);
    folder_ = pattern;
    for (std::uint32_t i = 0; i <= members; ++i) {
        identities_.push_back(net::Identity::make_ephemeral());
    }
    for (std::uint32_t own = 0; own < members; ++own) {
        const fs::path folder = folder_ / std::to_string(own);
        members_.push_back(std::make_unique<Forked>([&](const Line& parent) {
            serve_member(identities_, own, elements, folder, parent);
        }));
    }
    // Each element is the gradient 1 of one microbatch, each counter 1.
    const std::vector<float> result(elements + members, 1.0F);
    expected_ = sha256(std::as_bytes(std::span(result)));
}

ReduceGroup::~ReduceGroup() {
    members_.clear();
    host_.reset();
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
}

Result<> ReduceGroup::connect() {
    Ports ports{};
    for (std::size_t i = 0; i < members_.size(); ++i) {
        const auto port = members_[i]->line().receive<std::uint16_t>();
        if (!port) {
            return gone("a member did not start");
        }
        ports[i] = *port;
    }
    std::vector<PeerId> peers = peers_of(identities_);
    peers.pop_back();
    loop_ = std::make_unique<net::EventLoop>();
    host_ = std::make_unique<net::Host>(
        *loop_,
        std::make_unique<Conductor>(peers, expected_, progress_),
        store_in(folder_ / "conductor"),
        identities_.back(),
        on_loopback()
    );
    const auto own = host_->listen();
    if (!own) {
        return own.error();
    }
    ports[members_.size()] = *own;
    host_->start();
    for (const auto& member : members_) {
        member->line().send(ports);
    }
    const bool ready =
        loop_->run_until([&] { return progress_.ready == members_.size(); }, kPatience);
    return ready ? Result<>() : Result<>(gone("the members did not find each other"));
}

Result<double> ReduceGroup::round() {
    progress_.reduced = 0;
    const TimePoint start = net::clock_now();
    host_->ask({node::GenerateRequest{}});
    if (!loop_->run_until([&] { return progress_.reduced == members_.size(); }, kPatience)) {
        return gone("a member did not finish");
    }
    if (!progress_.is_exact) {
        return Error{
            ErrorCode::Mismatch, Reaction::Fatal, "all-reduce: a result is not the exact sum"};
    }
    return std::chrono::duration<double>(net::clock_now() - start).count();
}

}  // namespace swarm::bench
