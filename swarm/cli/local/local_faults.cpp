// The half of local_swarm.hpp that kills, freezes and mourns.
#include "swarm/cli/exit_code.hpp"
#include "swarm/cli/local/local_swarm.hpp"
#include "swarm/cli/train.hpp"

#include <csignal>

namespace swarm::cli {
namespace {

constexpr auto kRestartAfter = std::chrono::seconds(2);

}  // namespace

void LocalSwarm::disturb_by_the_clock() {
    const std::pair<std::optional<Duration>, void (LocalSwarm::*)()> kinds[] = {
        {churn_.kill_every, &LocalSwarm::kill_somebody},
        {churn_.freeze_every, &LocalSwarm::freeze_somebody},
        {churn_.drain_every, &LocalSwarm::drain_somebody},
        {churn_.coordinator_kill_every, &LocalSwarm::kill_coordinator},
        {options_.cut_every, &LocalSwarm::cut_something}};
    for (const auto& [every, act] : kinds) {
        if (every) {
            disturbances_.push_back(std::make_unique<Disturbance>(loop_.io(), *every, act));
            await_next(*disturbances_.back());
        }
    }
}

void LocalSwarm::await_next(Disturbance& disturbance) {
    disturbance.timer.expires_after(chaos_.pause(disturbance.mean));
    disturbance.timer.async_wait([this, &disturbance](const boost::system::error_code& cancelled) {
        if (!cancelled && !calm_) {
            (this->*disturbance.act)();
            await_next(disturbance);
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
        freeze(*find(*victim), chaos_.draw(churn_.freeze_shortest, churn_.freeze_longest));
    }
}

void LocalSwarm::drain_somebody() {
    const std::optional<PeerId> leaver = chaos_.pick();
    if (!leaver) {
        return;
    }
    Peer& peer = *find(*leaver);
    peer.draining = true;
    peer.process->signal(SIGINT);
    chaos_.ended(peer.id);
    report_.events().drain(peer.id, clock_now());
    console_.warn(peer.name + " (" + short_name(peer.id) + ") is told to leave");
}

void LocalSwarm::kill_coordinator() {
    if (coordinator_killed_ || report_.losses().empty()) {
        return;
    }
    coordinator_killed_ = true;
    coordinator_->signal(SIGKILL);
    chaos_.coordinator_ended();
    report_.events().kill_coordinator(clock_now());
    console_.warn("the coordinator was killed");
    resume_timer_.expires_after(kRestartAfter);
    resume_timer_.async_wait([this](const boost::system::error_code& cancelled) {
        if (cancelled) {
            return;
        }
        if (const Result<> started = start_coordinator(true); !started) {
            end(started.error());
        }
    });
}

void LocalSwarm::cut_something() {
    lines_.cut_one(chaos_.draw());
    report_.events().cut(clock_now());
    console_.warn("a connection was cut");
}

void LocalSwarm::kill(Peer& peer, bool restart) {
    peer.expected_to_end = true;
    peer.process->signal(SIGKILL);
    peer.process->wait();
    chaos_.ended(peer.id);
    report_.events().kill(peer.id, clock_now());
    console_.warn(peer.name + " (" + short_name(peer.id) + ") was killed");
    if (!restart) {
        add_successor(peer);
        return;
    }
    peer.timer.expires_after(kRestartAfter);
    peer.timer.async_wait([this, &peer](const boost::system::error_code& cancelled) {
        if (cancelled || calm_) {
            return;
        }
        report_.events().start(peer.id, clock_now());
        if (const Result<> started = start_peer(peer); !started) {
            end(started.error());
        }
    });
}

void LocalSwarm::add_successor(Peer& peer) {
    peer.timer.expires_after(kRestartAfter);
    peer.timer.async_wait([this, &peer](const boost::system::error_code& cancelled) {
        if (cancelled || calm_) {
            return;
        }
        const Result<> added = add_peer(peer.service_ms);
        if (!added) {
            end(added.error());
            return;
        }
        report_.events().start(peers_.back()->id, clock_now());
        if (demo_.killed() && !demo_.newcomer()) {
            demo_.joined(peers_.back()->id);
        }
    });
}

void LocalSwarm::freeze(Peer& peer, Duration time) {
    peer.process->signal(SIGSTOP);
    chaos_.frozen(peer.id);
    report_.events().freeze(peer.id, clock_now(), time);
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
    for (const auto& disturbance : disturbances_) {
        disturbance->timer.cancel();
    }
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
        if (peer->draining) {
            report_.events().left(peer->id, clock_now());
            add_successor(*peer);
            continue;
        }
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
