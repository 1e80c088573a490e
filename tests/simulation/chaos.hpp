// One seed of chaos: crashes, freezes, lost links and stalled jobs, then a calm end in which the
// run must finish. Faults come one at a time: every stage keeps a live member at the current
// version, as the protocol's promise requires.
#pragma once

#include "sim/run/run_world.hpp"
#include "tests/simulation/health.hpp"

#include <cstdint>
#include <optional>

namespace sim {

using namespace std::chrono_literals;

inline RunWorldOptions three_by_two(
    std::uint64_t seed, std::uint64_t steps, swarm::run::PlantedBugs bugs = {}
) {
    RunWorldOptions options;
    options.config = oracle_config(3, 8, steps);
    options.peers = 6;
    options.seed = seed;
    options.peer.device.units_per_s = 20;
    options.bugs = bugs;
    return options;
}

/// Picks a victim whose stage has another member that is up.
inline std::optional<PeerId> pick_victim(RunWorld& run, std::uint32_t peers, swarm::Rng& rng) {
    const PeerId candidate = peer(1 + rng.below(peers));
    const auto* const boss = run.coordinator_role();
    const auto* const info = boss ? boss->context().roster.find_peer(candidate) : nullptr;
    if (!info || !run.world().is_running(candidate)) {
        return std::nullopt;
    }
    for (const swarm::SlotId slot : boss->context().roster.pickable(info->stage)) {
        const PeerId other = boss->context().roster.find(slot)->peer;
        const auto* const server = run.server(other);
        if (other != candidate && server && server->context().slot == slot &&
            server->context().version == boss->context().version) {
            return candidate;
        }
    }
    return std::nullopt;
}

/// Runs with faults first, then in calm until the run has finished or 300 s have passed. `calm`
/// ends the faults that the caller has set.
inline void run_chaos(
    RunWorld& run, HealthWatch& health, std::uint64_t seed, void (*calm)(World&) = nullptr
) {
    World& world = run.world();
    swarm::Rng rng(seed, 77);
    world.set_frame_loss(1, 100);
    world.set_job_stalls(2, 100, 1s + std::chrono::milliseconds(rng.below(4000)));
    // One fault at a time, so that every stage keeps a live member at the current version.
    for (int fault = 0; fault < 3 && !run.finished(); ++fault) {
        world.run_for(std::chrono::milliseconds(500 + rng.below(6000)));
        const auto victim = pick_victim(run, 6, rng);
        if (!victim) {
            continue;
        }
        if (rng.chance(1, 2)) {
            world.crash(*victim);
            world.run_for(std::chrono::milliseconds(100 + rng.below(3000)));
            world.restart(*victim);
        } else {
            world.freeze(*victim);
            world.run_for(std::chrono::milliseconds(1000 + rng.below(7000)));
            world.thaw(*victim);
            health.note_thaw(*victim);
        }
        world.run_for(8s);
    }
    if (calm) {
        calm(world);
    }
    world.set_frame_loss(0, 0);
    world.set_job_stalls(0, 0, 0s);
    run.run(300s);
}

}  // namespace sim
