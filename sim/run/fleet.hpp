// The machines of a scenario in an exact run: starts them, and carries out the schedule on them.
// Invariants: a fault that befalls a machine that is down is skipped, but not the end of an earlier
// fault; with `spares_last`, a departure that would leave a stage without any peer that answers is
// skipped, too, and noted.
// Threading: none. Cost: O(members of a stage) per departure, else O(1).
#pragma once

#include "sim/report/sim_report.hpp"
#include "sim/run/run_world.hpp"
#include "sim/scenario/schedule.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace sim {

class Fleet {
 public:
    /// All arguments outlive the fleet.
    Fleet(const Scenario& scenario, const std::vector<FleetPeer>& peers, RunWorld& run);

    /// Starts the machines that are there at the start and whose turn it is, `arrival_gap` after
    /// each other.
    void start_due(TimePoint now);

    /// kNever when all have started.
    [[nodiscard]] TimePoint next_start() const { return next_start_; }

    void carry_out(const Happening& happening);
    /// Takes a change that the coordinator reports: moves, fences and empty stages are noted among
    /// the events.
    void hear(const node::PeerChanged& changed);

    [[nodiscard]] std::uint32_t size() const {
        return static_cast<std::uint32_t>(machines_.size());
    }

    /// Tells whether the machine with this number, from 1, ever came. One that never came has no
    /// peer in the world.
    [[nodiscard]] bool was_there(std::uint32_t number) const { return at(number).added; }

    /// The machine's time up, over all its lives, until now.
    [[nodiscard]] Duration time_up(std::uint32_t number) const;

    [[nodiscard]] const std::vector<Note>& notes() const { return notes_; }

 private:
    struct Machine {
        bool added = false;
        bool up = false;
        TimePoint up_since{};
        Duration was_up{};
    };

    [[nodiscard]] const Machine& at(std::uint32_t number) const { return machines_[number - 1]; }

    [[nodiscard]] bool is_up(const Happening& happening) const;
    void start(std::uint32_t number);
    void depart(const Happening& happening);
    void disturb(const Happening& happening);
    void cut(const Happening& happening);
    [[nodiscard]] bool is_last_of_its_stage(std::uint32_t number) const;
    [[nodiscard]] double speed_of(std::uint32_t number) const;
    void note(NoteKind kind, std::string text);

    const Scenario& scenario_;
    const std::vector<FleetPeer>& peers_;
    RunWorld& run_;
    std::vector<Machine> machines_;
    std::size_t next_ = 0;  // index of the peer that starts next
    TimePoint next_start_{};
    std::vector<Note> notes_;
};

}  // namespace sim
