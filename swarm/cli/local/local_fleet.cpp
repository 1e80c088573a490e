#include "swarm/cli/local/local_fleet.hpp"

#include "swarm/base/try.hpp"
#include "swarm/net/identity.hpp"

#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <csignal>
#include <utility>

namespace swarm::cli {

LocalFleet::LocalFleet(
    net::EventLoop& loop, const LocalOptions& options, std::filesystem::path directory, Hooks hooks
)
    : loop_(loop),
      directory_(std::move(directory)),
      hooks_(std::move(hooks)),
      lines_(options),
      child_signals_(loop.io(), SIGCHLD) {
    await_children();
}

Result<> LocalFleet::join(const std::string& address) {
    SWARM_TRY(address_, lines_.in_front_of(address));
    return {};
}

Result<LocalFleet::Peer*> LocalFleet::add(
    std::string name, std::uint32_t service_ms, std::vector<std::string> flags
) {
    auto peer = std::make_unique<Peer>(loop_.io());
    peer->name = std::move(name);
    peer->number = peers_.size();
    peer->service_ms = service_ms;
    peer->flags = std::move(flags);
    SWARM_TRY(const net::Identity identity, net::Identity::load_or_create(key_of(*peer)));
    peer->id = identity.peer();
    SWARM_TRY(LocalLines::Place place, lines_.next_place());
    peer->place = std::move(place.serve_flags);
    peer->line_bytes_per_s = place.bytes_per_s;
    peers_.push_back(std::move(peer));
    return peers_.back().get();
}

Result<> LocalFleet::start(Peer& peer) {
    Child::Spec spec{
        {"serve",
         "--join",
         address_,
         "--key",
         key_of(peer).string(),
         "--service-ms",
         std::to_string(peer.service_ms)},
        log_of(peer.name)};
    std::vector<std::string>& arguments = spec.arguments;
    arguments.insert(arguments.end(), peer.flags.begin(), peer.flags.end());
    arguments.insert(arguments.end(), peer.place.begin(), peer.place.end());
    SWARM_TRY(Child child, Child::start(spec));
    peer.process.emplace(std::move(child));
    peer.frozen = false;
    return {};
}

void LocalFleet::kill(Peer& peer) {
    peer.process->signal(SIGKILL);
    peer.process->wait();
    peer.process.reset();
}

void LocalFleet::freeze(Peer& peer, Duration time, std::function<void()> on_thaw) {
    peer.process->signal(SIGSTOP);
    peer.frozen = true;
    after(peer, time, [&peer, on_thaw = std::move(on_thaw)] {
        if (peer.process) {
            peer.frozen = false;
            peer.process->signal(SIGCONT);
            on_thaw();
        }
    });
}

void LocalFleet::after(Peer& peer, Duration pause, std::function<void()> then) {
    peer.timer.expires_after(pause);
    peer.timer.async_wait([this, then = std::move(then)](const boost::system::error_code& stopped) {
        if (!stopped && !calm_) {
            then();
        }
    });
}

void LocalFleet::repeat(std::function<Duration()> pause, std::function<void()> act) {
    Clock& clock = *clocks_.emplace_back(std::make_unique<Clock>(loop_.io()));
    clock.pause = std::move(pause);
    clock.act = std::move(act);
    wind(clock);
}

void LocalFleet::wind(Clock& clock) {
    clock.timer.expires_after(clock.pause());
    clock.timer.async_wait([this, &clock](const boost::system::error_code& stopped) {
        if (!stopped && !calm_) {
            clock.act();
            wind(clock);
        }
    });
}

void LocalFleet::calm_down() {
    calm_ = true;
    for (const auto& clock : clocks_) {
        clock->timer.cancel();
    }
    for (const auto& peer : peers_) {
        peer->timer.cancel();
        peer->frozen = false;
        if (peer->process) {
            peer->process->signal(SIGCONT);
        }
    }
}

void LocalFleet::end_all() {
    for (const auto& peer : peers_) {
        peer->process.reset();
    }
}

LocalFleet::Peer* LocalFleet::find(PeerId id) {
    const auto at = std::find_if(peers_.begin(), peers_.end(), [&](const auto& peer) {
        return peer->id == id;
    });
    return at == peers_.end() ? nullptr : at->get();
}

void LocalFleet::await_children() {
    child_signals_.async_wait([this](const boost::system::error_code& stopped, int) {
        if (!stopped) {
            on_child_signal();
            await_children();
        }
    });
}

void LocalFleet::on_child_signal() {
    for (const auto& peer : peers_) {
        if (const auto ended = peer->process ? peer->process->poll() : std::nullopt) {
            peer->process.reset();
            hooks_.on_end(*peer, *ended);
        }
    }
    if (hooks_.on_child) {
        hooks_.on_child();
    }
}

}  // namespace swarm::cli
