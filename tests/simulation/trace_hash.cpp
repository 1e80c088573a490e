// One chaotic run whose trace hash is written down: every compiler and optimisation level must come
// to the same events at the same times (I12). Built by gcc with the tests and by clang, with
// sanitizers, in the preset asan. A change of the protocol changes the number: take the new one.
#include "sim/run/run_world.hpp"

#include <cstdio>

namespace {

constexpr unsigned long long kExpected = 4300337842780892687ULL;

unsigned long long run() {
    using namespace std::chrono_literals;
    sim::RunWorldOptions options;
    options.config = sim::oracle_config(3, 8, 6);
    options.peers = 6;
    options.seed = 7;
    options.peer.device.units_per_s = 20;
    sim::RunWorld swarm(options);
    swarm.world().set_frame_loss(1, 100);
    swarm.world().set_job_stalls(2, 100, 2s);
    swarm.world().run_for(10s);
    swarm.world().crash(sim::peer(1));
    swarm.world().run_for(3s);
    swarm.world().restart(sim::peer(1));
    swarm.world().run_for(60s);
    return swarm.world().trace_hash();
}

}  // namespace

int main() {
    const unsigned long long found = run();
    std::printf("trace hash %llu, expected %llu\n", found, kExpected);
    return found == kExpected ? 0 : 1;
}
