// The half of local_swarm.hpp that kills, freezes and mourns.
#include "swarm/cli/exit_code.hpp"
#include "swarm/cli/local/local_swarm.hpp"
#include "swarm/cli/train.hpp"

#include <csignal>

namespace swarm::cli {
namespace {

constexpr auto kRestartAfter = std::chrono::seconds(2);

}  // namespace

void LocalSwarm::every(
    boost::asio::steady_timer& timer, Duration period, void (LocalSwarm::*act)()
) {
    timer.expires_after(period);
    timer.async_wait([this, &timer, period, act](const boost::system::error_code& cancelled) {
        if (!cancelled && !calm_) {
            (this->*act)();
            every(timer, period, act);
        }
    });
}

void LocalSwarm::kill_somebody() {
    if (const std::optional<PeerId> victim = chaos_.pick()) {
        kill(*find(*victim), true);
    }
}

void LocalSwarm::freeze_somebody() {
    if (const std::optional<PeerId> victim = chaos_.pick()) {
        freeze(*find(*victim), chaos_.freeze_time());
    }
}

void LocalSwarm::kill(Peer& peer, bool restart) {
    peer.expected_to_end = true;
    peer.process->signal(SIGKILL);
    peer.process->wait();
    chaos_.ended(peer.id);
    report_.add_kill(peer.id, clock_now());
    console_.warn(peer.name + " (" + short_name(peer.id) + ") was killed");
    peer.timer.expires_after(restart ? kRestartAfter : DemoScript::kNewcomerAfter);
    peer.timer.async_wait([this, &peer, restart](const boost::system::error_code& cancelled) {
        if (cancelled || calm_) {
            return;
        }
        const Result<> started = restart ? start_peer(peer) : add_peer(peer.service_ms);
        if (!started) {
            end(started.error());
        } else if (!restart) {
            demo_.joined(peers_.back()->id);
        }
    });
}

void LocalSwarm::freeze(Peer& peer, Duration time) {
    peer.process->signal(SIGSTOP);
    chaos_.frozen(peer.id);
    report_.add_freeze(peer.id, clock_now(), time);
    console_.warn(
        peer.name + " (" + short_name(peer.id) + ") is frozen for " +
        std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(time).count()) + " ms"
    );
    peer.timer.expires_after(time);
    peer.timer.async_wait([this, &peer](const boost::system::error_code& cancelled) {
        if (!cancelled && peer.process) {
            peer.process->signal(SIGCONT);
            chaos_.thawed(peer.id);
        }
    });
}

void LocalSwarm::calm_down() {
    calm_ = true;
    kill_timer_.cancel();
    freeze_timer_.cancel();
    for (const auto& peer : peers_) {
        peer->timer.cancel();
        if (peer->process) {
            peer->process->signal(SIGCONT);
        }
    }
}

void LocalSwarm::await_children() {
    child_signals_.async_wait([this](const boost::system::error_code& cancelled, int) {
        if (!cancelled) {
            on_child_signal();
            await_children();
        }
    });
}

void LocalSwarm::on_child_signal() {
    for (const auto& peer : peers_) {
        const std::optional<int> ended =
            peer->process ? peer->process->poll() : std::optional<int>();
        if (!ended || peer->expected_to_end) {
            continue;
        }
        peer->expected_to_end = true;
        chaos_.ended(peer->id);
        if (*ended == kDone) {
            continue;
        }
        const std::string why = last_line(directory_ / (peer->name + ".log"));
        console_.warn(peer->name + " ended with exit code " + std::to_string(*ended) + ": " + why);
        if (*ended == kRejected) {
            end(kRejected);  // the others would say the same
        }
    }
    if (!generator_) {
        return;
    }
    if (const std::optional<int> ended = generator_->poll()) {
        generator_.reset();
        coordinator_->signal(SIGINT);  // it holds the peers until then
        if (*ended != kDone) {
            console_.error("no text: " + last_line(directory_ / "generate.log"));
            end(*ended);
        }
    }
}

LocalSwarm::Peer* LocalSwarm::find(PeerId id) {
    for (const auto& peer : peers_) {
        if (peer->id == id) {
            return peer.get();
        }
    }
    return nullptr;
}

}  // namespace swarm::cli
