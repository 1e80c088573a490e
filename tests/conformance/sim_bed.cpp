// The conformance bed of the simulated world: Anna, Bert and Cleo are its peers 1 to 3.
#include "sim/world.hpp"
#include "tests/conformance/bed.hpp"

#include <chrono>
#include <utility>

namespace swarm::test {
namespace {

constexpr std::chrono::seconds kBedPatience(10);

class SimBed final : public Bed {
 public:
    [[nodiscard]] PeerId id_of(Who who) const override {
        return sim::peer(1 + static_cast<std::uint64_t>(who));
    }

    void start(Who who, MakeRole make_role) override {
        world_.add_peer(id_of(who), [make = std::move(make_role)](Incarnation) { return make(); });
    }

    void stop(Who who) override { world_.stop(id_of(who)); }

    void crash(Who who) override { world_.crash(id_of(who)); }

    void restart(Who who) override { world_.restart(id_of(who)); }

    void ask(Who who, node::Asked asked) override { world_.ask(id_of(who), std::move(asked)); }

    void fill_disk(Who who) override { world_.fill_disk(id_of(who)); }

    [[nodiscard]] bool is_running(Who who) const override { return world_.is_running(id_of(who)); }

    [[nodiscard]] bool run_until(const std::function<bool()>& done) override {
        return world_.run_until(done, kBedPatience);
    }

 private:
    sim::World world_{sim::World::Options{}};
};

}  // namespace

std::unique_ptr<Bed> make_sim_bed() {
    return std::make_unique<SimBed>();
}

}  // namespace swarm::test
