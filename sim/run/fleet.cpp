#include "sim/run/fleet.hpp"

#include <cmath>
#include <utility>

namespace sim {
namespace {

using Kind = Happening::Kind;

std::string name_of(std::uint32_t number) {
    return "peer " + std::to_string(number);
}

/// True for the end of a fault that lasts: it acts on a machine that is down, too.
bool is_end(Kind kind) {
    return kind == Kind::Thaw || kind == Kind::SpeedBack || kind == Kind::Unblock ||
           kind == Kind::MendLink;
}

Duration from_seconds(double seconds) {
    return Duration(std::llround(seconds * 1e9));
}

}  // namespace

Fleet::Fleet(const Scenario& scenario, const std::vector<FleetPeer>& peers, RunWorld& run)
    : scenario_(scenario), peers_(peers), run_(run), machines_(peers.size()) {}

void Fleet::start_due(TimePoint now) {
    while (next_ < peers_.size() && next_start_ <= now) {
        const FleetPeer& peer = peers_[next_++];
        if (peer.there_at_start && !was_there(peer.number)) {  // the plan may have it sooner
            start(peer.number);
            next_start_ += scenario_.pipeline.arrival_gap;
        }
    }
    if (next_ == peers_.size()) {
        next_start_ = swarm::kNever;
    }
}

void Fleet::carry_out(const Happening& happening) {
    const bool departs = happening.kind == Kind::Crash || happening.kind == Kind::Leave;
    if (happening.kind == Kind::Join) {
        if (!at(happening.peer).up) {
            start(happening.peer);
            note(NoteKind::Join, name_of(happening.peer));
        }
    } else if (!at(happening.peer).added || (happening.to > 0 && !at(happening.to).added)) {
        return;
    } else if (departs) {
        depart(happening);
    } else if (is_end(happening.kind) || is_up(happening)) {
        disturb(happening);
    }
}

bool Fleet::is_up(const Happening& happening) const {
    return at(happening.peer).up && (happening.to == 0 || at(happening.to).up);
}

void Fleet::hear(const node::PeerChanged& changed) {
    const std::string text = name_of(static_cast<std::uint32_t>(changed.peer.words[0])) +
                             " of stage " + std::to_string(changed.stage.value) + ": " +
                             changed.reason;
    switch (changed.change) {
        case node::PeerChange::Moved:
            return note(NoteKind::Move, text);
        case node::PeerChange::Fenced:
            return note(NoteKind::Fenced, text);
        case node::PeerChange::StageEmpty:
            return note(NoteKind::StageEmpty, text);
        case node::PeerChange::Admitted:
        case node::PeerChange::Suspect:
        case node::PeerChange::Left:
        case node::PeerChange::Observing:
            break;  // these follow from events that are noted
    }
}

Duration Fleet::time_up(std::uint32_t number) const {
    const Machine& machine = at(number);
    const Duration this_life = machine.up ? run_.world().now() - machine.up_since : Duration{};
    return machine.was_up + this_life;
}

double Fleet::speed_of(std::uint32_t number) const {
    // The oracle counts a forward as one unit.
    return peers_[number - 1].units_per_s / scenario_.pipeline.work_units;
}

void Fleet::start(std::uint32_t number) {
    Machine& machine = machines_[number - 1];
    machine.up = true;
    machine.up_since = run_.world().now();
    if (std::exchange(machine.added, true)) {
        run_.world().restart(peer(number));
        return;
    }
    const FleetPeer& described = peers_[number - 1];
    PeerOptions options;
    options.up_bytes_per_s = described.up_bytes_per_s;
    options.down_bytes_per_s = described.down_bytes_per_s;
    options.region = described.region;
    options.clock_offset = from_seconds(described.clock_offset_s);
    options.clock_drift_ppm = described.clock_drift_ppm;
    options.device.units_per_s = speed_of(number);
    run_.add_server(number, options);
}

void Fleet::depart(const Happening& happening) {
    Machine& machine = machines_[happening.peer - 1];
    if (!machine.up) {
        return;
    }
    const std::string who = name_of(happening.peer);
    if (scenario_.churn.spares_last && is_last_of_its_stage(happening.peer)) {
        note(NoteKind::Spared, who + " is the last of its stage");
        run_.world().thaw(peer(happening.peer));  // no Thaw follows a departure
        return;
    }
    if (happening.kind == Kind::Crash) {
        run_.world().crash(peer(happening.peer));
        note(NoteKind::Crash, who);
    } else {
        run_.world().stop(peer(happening.peer));
        note(NoteKind::Leave, who);
    }
    machine.up = false;
    machine.was_up += run_.world().now() - machine.up_since;
}

bool Fleet::is_last_of_its_stage(std::uint32_t number) const {
    const swarm::coordinator::Coordinator* const coordinator = run_.coordinator_role();
    if (coordinator == nullptr) {
        return true;  // the peer may be the last: no roster says which others are there
    }
    const swarm::run::Roster& roster = coordinator->context().roster;
    const auto* const own = roster.find_peer(peer(number));
    if (own == nullptr || own->standing == swarm::protocol::Standing::Observer) {
        return false;
    }
    const World& world = run_.world();
    for (const swarm::SlotId id : roster.members(own->stage)) {
        const auto& slot = *roster.find(id);
        // A process that restarted has lost its state, even while the roster still lists it.
        const bool answers = world.is_running(slot.peer) && !world.is_frozen(slot.peer) &&
                             world.incarnation(slot.peer) == slot.incarnation;
        if (slot.peer != peer(number) && answers) {
            return false;
        }
    }
    return true;
}

void Fleet::disturb(const Happening& happening) {
    World& world = run_.world();
    const PeerId id = peer(happening.peer);
    switch (happening.kind) {
        case Kind::Freeze:
            world.freeze(id);
            note(NoteKind::Freeze, name_of(happening.peer));
            break;
        case Kind::Thaw:
            if (world.is_frozen(id)) {
                world.thaw(id);
                note(NoteKind::Thaw, name_of(happening.peer));
            }
            break;
        case Kind::SlowDown:
            world.set_speed(id, speed_of(happening.peer) * happening.factor);
            note(NoteKind::SlowDown, name_of(happening.peer));
            break;
        case Kind::SpeedBack:
            world.set_speed(id, speed_of(happening.peer));
            note(NoteKind::SpeedBack, name_of(happening.peer));
            break;
        case Kind::Block:
            world.block(id, peer(happening.to));
            note(NoteKind::Partition, name_of(happening.peer) + " to " + name_of(happening.to));
            break;
        case Kind::Unblock:
            world.unblock(id, peer(happening.to));
            break;
        case Kind::CutLink:
            cut(happening);
            break;
        case Kind::MendLink:
            world.unblock(id, peer(happening.to));
            world.unblock(peer(happening.to), id);
            break;
        case Kind::Join:
        case Kind::Leave:
        case Kind::Crash:
            break;  // carry_out() has handled it
    }
}

void Fleet::cut(const Happening& happening) {
    World& world = run_.world();
    const PeerId one = peer(happening.peer);
    const PeerId other = peer(happening.to);
    world.block(one, other);
    world.block(other, one);
    world.reset_link(one, other, Lane::Control);
    world.reset_link(one, other, Lane::Bulk);
    note(NoteKind::CutLink, name_of(happening.peer) + " and " + name_of(happening.to));
}

void Fleet::note(NoteKind kind, std::string text) {
    if (notes_.size() < kNotesMax) {
        const Duration at = run_.world().now().time_since_epoch();
        notes_.push_back({std::chrono::duration<double>(at).count(), kind, std::move(text)});
    }
}

}  // namespace sim
