// Sessions under random faults: peers and links die, freeze and come back until the texts are done.
// A session may only end with the tokens of one process.
#include "tests/simulation/sessions/session_bed.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <set>

namespace sim {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kSeeds = 150;

/// In each stage at most one of the two peers is away at a time, so that one can always go on.
class Chaos {
 public:
    Chaos(SessionBed& bed, std::uint64_t seed) : bed_(bed), rng_(seed, 1) {}

    void strike() {
        const std::uint64_t stage = rng_.below(3);
        const PeerId victim = peer(2 * stage + 1 + rng_.below(2));
        World& world = bed_.world();
        switch (rng_.below(5)) {
            case 0:
                return away(stage, victim, [&] { world.crash(victim); });
            case 1:
                return away(stage, victim, [&] { world.freeze(victim); });
            case 2:
                return world.reset_link(victim, peer(1 + rng_.below(6)), Lane::Bulk);
            case 3:
                return world.reset_link(SessionBed::kClient, victim, Lane::Control);
            default:
                return world.stall_jobs(victim, std::chrono::milliseconds(rng_.below(1500)));
        }
    }

    void bring_back() {
        for (auto& [stage, victim] : away_) {
            if (bed_.world().is_frozen(victim)) {
                bed_.world().thaw(victim);
            } else {
                bed_.world().restart(victim);
            }
        }
        away_.clear();
    }

    [[nodiscard]] swarm::Duration pause() { return std::chrono::milliseconds(rng_.below(400)); }

    [[nodiscard]] bool heals() { return rng_.chance(1, 3); }

 private:
    template <class Fault>
    void away(std::uint64_t stage, PeerId victim, Fault fault) {
        if (away_.emplace(stage, victim).second) {
            fault();
        }
    }

    SessionBed& bed_;
    swarm::Rng rng_;
    std::map<std::uint64_t, PeerId> away_;
};

/// Strikes and heals up to `times_max` times, or until all texts are done; then brings all back.
void live_through(SessionBed& bed, Chaos& chaos, int times_max) {
    for (int times = 0; times < times_max && !bed.run(chaos.pause()); ++times) {
        chaos.heals() ? chaos.bring_back() : chaos.strike();
    }
    chaos.bring_back();
    bed.run();
}

TEST(SessionChaos, DrawnFaultsChangeNoToken) {
    std::size_t moves = 0;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        SessionBedOptions options;
        options.seed = seed;
        const Replay replay = seed % 2 == 0 ? Replay::Exact : Replay::Fast;
        options.units_per_s = 200;
        options.kept_bytes_max = seed % 3 == 0 ? 600 : 1 << 20;  // rows of one session, or of all
        options.budget_positions =
            seed % 5 == 0 ? 150 : 4096;  // positions of two sessions, or of all
        SessionBed bed(options);
        for (std::uint64_t number = 1; number <= 3; ++number) {
            node::SessionRequest request = session_request(number, 10, 40, replay);
            request.exit_threshold = seed % 4 == 0 ? 0.2 : 2;
            bed.ask(request);
        }
        Chaos chaos(bed, seed);
        live_through(bed, chaos, 60);
        ASSERT_EQ(bed.verdict(), "") << "seed " << seed;
        for (std::uint64_t number = 1; number <= 3; ++number) {
            moves += bed.told(number).moves.size();
        }
    }
    EXPECT_GT(moves, kSeeds);
    std::printf("%zu failovers in %llu seeds\n", moves, static_cast<unsigned long long>(kSeeds));
}

/// Half of the lines are slow. A measured rate is forgotten with its link, so a peer that comes
/// back would choose another codec than the peer before it.
TEST(SessionChaos, DrawnFaultsChangeNoCodec) {
    std::set<protocol::CodecId> chosen;
    std::size_t moves = 0;
    for (std::uint64_t seed = 1; seed <= kSeeds / 3; ++seed) {
        SessionBedOptions options;
        options.seed = seed;
        const Replay replay = seed % 2 == 0 ? Replay::Exact : Replay::Fast;
        options.units_per_s = 1000;
        options.model.width = 256;  // rows as long as those of a real model
        options.model.takes_any_row = true;
        options.kept_bytes_max = seed % 3 == 0 ? 40'000 : 4 << 20;
        SessionBed bed(options);
        for (std::uint64_t number = 1; number <= bed.servers(); number += 2) {
            bed.world().set_rates(peer(number), 200'000, 0);
        }
        Chaos chaos(bed, seed);
        for (std::uint64_t number = 1; number <= 4; ++number) {
            node::SessionRequest request = session_request(number, 300, 100, replay);
            request.codecs = {std::nullopt};
            bed.ask(request);
            live_through(
                bed, chaos, number > 2 ? 20 : 0
            );  // the first two requests measure the lines
        }
        ASSERT_EQ(bed.verdict(), "") << "seed " << seed;
        for (std::uint64_t number = 1; number <= 4; ++number) {
            moves += bed.told(number).moves.size();
            chosen.insert(bed.told(number).codecs.begin(), bed.told(number).codecs.end());
        }
    }
    EXPECT_GT(chosen.size(), 1U);
    EXPECT_GT(moves, 20U);
    std::printf("%zu failovers, %zu codecs\n", moves, chosen.size());
}

TEST(SessionChaos, TheSameSeedGivesTheSameTrace) {
    std::vector<std::uint64_t> traces;
    for (int run = 0; run < 2; ++run) {
        SessionBed bed;
        bed.ask(session_request(1, 10, 30));
        Chaos chaos(bed, 7);
        for (int strikes = 0; strikes < 20 && !bed.run(chaos.pause()); ++strikes) {
            chaos.strike();
        }
        traces.push_back(bed.world().trace_hash());
    }
    EXPECT_EQ(traces[0], traces[1]);
}

}  // namespace
}  // namespace sim
