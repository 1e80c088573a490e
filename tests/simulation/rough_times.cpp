#include "tests/simulation/rough_times.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace sim::test {

using namespace std::chrono_literals;
namespace protocol = swarm::protocol;

namespace {

constexpr swarm::Duration kLook = 250ms;
constexpr swarm::Duration kDrainMax = 65s;  // it goes after 60 s, commit or none

}  // namespace

TimePoint RoughTimes::disturb(RunWorld& run, RunPart part) {
    World& world = run.world();
    if (part == RunPart::Calm) {
        counts_.torn_disks = world.fault_points().fired(FaultPoint::RecordIsWritten);
        world.set_fault(FaultPoint::RecordIsWritten, FaultRule::never());
        restart(run, true);
        return swarm::kNever;
    }
    begin(run);
    restart(run, false);
    kill_donor(run);
    end_drains(run);
    if (rng_.chance(1, 40)) {  // every ten seconds
        drain_one(run);
    }
    return world.now() + kLook;
}

void RoughTimes::begin(RunWorld& run) {
    if (!std::exchange(began_, true)) {
        World& world = run.world();
        const FaultRule torn = FaultRule::by_probability(1, 100, 1s);
        world.set_fault(FaultPoint::RecordIsWritten, world.of_peer(RunWorld::coordinator(), torn));
    }
}

void RoughTimes::on_event(RunWorld& run, PeerId at, const node::Event& event) {
    const auto* const received = std::get_if<node::Received>(&event);
    const bool fetches = received != nullptr &&
                         std::holds_alternative<protocol::Fetch>(received->message.body) &&
                         run.server(at) != nullptr;
    if (fetches && !donor_ && rng_.chance(1, 10)) {
        donor_ = at;
    }
}

std::size_t RoughTimes::others(RunWorld& run, const protocol::SlotInfo& info) const {
    const swarm::run::Roster& roster = run.coordinator_role()->context().roster;
    const World& world = run.world();
    const std::vector<swarm::SlotId> members = roster.members(info.stage);
    const auto stays = [&](swarm::SlotId id) {
        const protocol::SlotInfo& slot = *roster.find(id);
        return slot.slot != info.slot && slot.standing == protocol::Standing::Member &&
               !draining_.contains(slot.peer) && world.is_running(slot.peer) &&
               !world.is_frozen(slot.peer) && world.incarnation(slot.peer) == slot.incarnation;
    };
    return static_cast<std::size_t>(std::count_if(members.begin(), members.end(), stays));
}

void RoughTimes::go(RunWorld& run, PeerId peer) {
    run.world().crash(peer);
    back_at_[peer] = run.world().now() + std::chrono::seconds(1 + rng_.below(20));
}

void RoughTimes::kill_donor(RunWorld& run) {
    const auto* const boss = run.coordinator_role();
    if (!donor_ || boss == nullptr) {
        return;
    }
    const PeerId donor = *std::exchange(donor_, std::nullopt);
    const auto* const info = boss->context().roster.find_peer(donor);
    if (info != nullptr && run.world().is_running(donor) && others(run, *info) >= 1) {
        go(run, donor);
        ++counts_.donor_deaths;
    }
}

void RoughTimes::drain_one(RunWorld& run) {
    const auto* const boss = run.coordinator_role();
    if (boss == nullptr) {
        return;
    }
    std::vector<PeerId> able;
    for (const protocol::SlotInfo& info : boss->context().roster.slots()) {
        const bool works = info.standing == protocol::Standing::Member &&
                           run.world().is_running(info.peer) && !draining_.contains(info.peer);
        if (works && others(run, info) >= 2) {
            able.push_back(info.peer);
        }
    }
    if (!able.empty()) {
        const PeerId leaver = able[rng_.below(able.size())];
        run.world().ask(leaver, node::Asked{node::DrainRequest{}});
        draining_[leaver] = run.world().now();
        ++counts_.drains;
    }
}

void RoughTimes::end_drains(RunWorld& run) {
    const auto* const boss = run.coordinator_role();
    if (boss == nullptr) {
        return;
    }
    std::vector<PeerId> gone;
    for (const auto& [peer, since] : draining_) {
        const bool late = since + kDrainMax < run.world().now();
        if (late || boss->context().roster.find_peer(peer) == nullptr) {
            gone.push_back(peer);
        }
    }
    for (const PeerId peer : gone) {  // its process has ended
        draining_.erase(peer);
        go(run, peer);
    }
}

void RoughTimes::restart(RunWorld& run, bool all) {
    std::vector<PeerId> back;
    for (const auto& [peer, at] : back_at_) {
        if (all || at <= run.world().now()) {
            back.push_back(peer);
        }
    }
    for (const PeerId peer : back) {
        back_at_.erase(peer);
        run.world().restart(peer);
    }
}

}  // namespace sim::test
