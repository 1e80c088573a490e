// Watches a simulated run and reports each breach of the protocol: on every event, from outside.
// The table in sim/README.md lists the rules of step protocol section 8 one by one.
// Not here: I10 (routers' unit tests), I11 (tests of generation), I12 (trace hashes), I13 and I14
// (fuzzing). The strongest check is the caller's: losses and weights equal those of one process.
// Threading: single strand. Cost: O(log n) per event, O(members) per decision.
#pragma once

#include "sim/world.hpp"
#include "stages/server/stage_server.hpp"
#include "swarm/base/rng.hpp"
#include "swarm/coordinator/coordinator.hpp"

#include <boost/unordered/unordered_flat_map.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace sim {

class Checker {
 public:
    Checker(World& world, PeerId coordinator) : world_(world), coordinator_(coordinator) {}

    void on_event(PeerId peer, const node::Event& event);
    void on_send(PeerId from, const node::Send& send);
    void on_report(PeerId peer, const node::Report& report);

    /// Messages of this peer are not judged. An attempt with it among the hops may go anywhere.
    void add_liar(PeerId peer) { liars_.insert(peer); }

    /// From now on a longer time without a commit is a violation (S1).
    void expect_commits_within(swarm::Duration most) { patience_ = most; }

    /// The longest time between two commits, or between the start and the first.
    [[nodiscard]] swarm::Duration longest_step() const { return longest_step_; }

    /// The violations. The first one says what happened, when and to which peer; empty in a sound
    /// run.
    [[nodiscard]] const std::vector<std::string>& violations() const { return violations_; }

 private:
    using Version = swarm::ParameterVersion;

    using Step = std::pair<Version, swarm::Epoch>;

    /// A membership as its process sees it. A peer that is fenced and returns has another
    /// membership; a peer that keeps its state and gets its slot anew from a restarted coordinator
    /// has the same one.
    struct Slot {
        PeerId peer;
        swarm::Incarnation incarnation;
        std::uint32_t return_number = 0;

        // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 misreads the 0 inside it
        friend auto operator<=>(const Slot&, const Slot&) = default;
    };

    /// A leg and the stage that it goes to.
    using Hop = std::pair<swarm::protocol::LegId, swarm::StageIndex>;
    using ProcessStep = std::tuple<swarm::Incarnation, Version>;
    using Acceptance =
        std::tuple<swarm::Incarnation, Version, swarm::MicrobatchId, swarm::protocol::Leg>;

    /// A step of a thousand peers has tens of thousands of these keys: they are looked up, never
    /// listed.
    struct KeyHash {
        using is_avalanching = void;

        template <class... Fields>
        static std::size_t mix(Fields... fields) {
            std::uint64_t hash = 0;
            ((hash = swarm::mix_bits(hash ^ static_cast<std::uint64_t>(fields))), ...);
            return hash;
        }

        std::size_t operator()(const Hop& hop) const {
            const auto& [version, microbatch, attempt, leg] = hop.first;
            return mix(version.step, microbatch.value, attempt.value, leg, hop.second.value);
        }

        std::size_t operator()(const ProcessStep& key) const {
            const auto& [process, version] = key;
            return mix(process.value, version.step);
        }

        std::size_t operator()(const Acceptance& acceptance) const {
            const auto& [process, version, microbatch, leg] = acceptance;
            return mix(process.value, version.step, microbatch.value, leg);
        }
    };

    template <class Key, class Value>
    using Table = boost::unordered_flat_map<Key, Value, KeyHash>;

    /// Peers sent to, microbatches covered.
    using Lists = std::pair<std::set<PeerId>, std::set<swarm::MicrobatchId>>;

    void violated(const char* rule, const std::string& what);
    [[nodiscard]] const swarm::coordinator::Coordinator* coordinator() const;
    [[nodiscard]] const stages::StageServer* server(PeerId peer) const;

    // checker.cpp: checks of events
    void check_coordinator(const swarm::coordinator::Coordinator& role, const node::Event& event);
    void check_decision(const swarm::coordinator::Coordinator& role);
    void check_server(PeerId peer, const stages::StageServer& server);
    void check_bounds(PeerId peer, const stages::StageServer& server, const node::Event& event);
    void check_pace();
    void note_received(PeerId at, const node::Received& received);
    void note_promise(PeerId peer, const swarm::protocol::Recall& recall);
    void forget_steps_before(std::uint64_t step);

    // checker_sends.cpp: checks of messages
    void check_sent_by_coordinator(const node::Send& send);
    void check_sent_by_server(PeerId from, const node::Send& send);
    void check_offer(PeerId from, PeerId to, const swarm::protocol::Forward& forward);
    void check_offer(PeerId from, PeerId to, const swarm::protocol::Backward& backward);
    static bool is_last_to_leave(
        const swarm::run::Roster& roster, const swarm::protocol::SlotInfo& slot
    );
    enum class NewWork : std::uint8_t { Allowed, Forbidden };
    /// `new_work`: whether a peer of this standing may be offered an attempt for the first time.
    void check_successor(const Hop& hop, const Slot& to, NewWork new_work);
    void check_reduce(PeerId to, const swarm::protocol::Reduce& reduce);
    void check_recall(const swarm::protocol::Recall& recall);
    void check_commit(const swarm::protocol::Commit& commit);
    void check_accepted(PeerId from, PeerId to, const swarm::protocol::Accepted& accepted);
    void note_roster(const swarm::protocol::Roster& roster);
    void note_slot(const swarm::protocol::SlotInfo& info);

    [[nodiscard]] Slot slot_of(PeerId peer, swarm::Incarnation incarnation, swarm::SlotId slot)
        const;

    using AttemptKey = std::tuple<Version, swarm::MicrobatchId, swarm::Attempt>;

    void note_touched(const swarm::protocol::LegId& leg) {
        touched_.insert({leg.version, leg.microbatch, leg.attempt});
    }

    [[nodiscard]] bool is_touched(const swarm::protocol::LegId& leg) const {
        return touched_.contains({leg.version, leg.microbatch, leg.attempt});
    }

    World& world_;
    PeerId coordinator_;
    std::set<PeerId> liars_;
    std::set<AttemptKey> touched_;  // attempts with a liar among their hops
    swarm::Duration patience_ = swarm::Duration::max();
    swarm::Duration longest_step_{};
    TimePoint committed_at_{};
    std::uint64_t durable_steps_ = 0;
    Version told_;                // the one after the last commit that was told
    std::uint64_t troubles_ = 0;  // fences, admissions, FAILs: each may cost epochs (P9)
    std::optional<swarm::Incarnation> opened_;  // life of the coordinator whose CINC is durable
    Step newest_epoch_;
    Step decided_;
    /// The last roster that was sent.
    std::optional<std::pair<swarm::Incarnation, std::uint64_t>> roster_;
    std::map<PeerId, swarm::SlotId> slots_;  // the slots in that roster
    std::map<swarm::SlotId, std::uint32_t> return_numbers_;
    std::map<std::pair<PeerId, swarm::Incarnation>, swarm::SlotId> newest_slots_;
    std::set<swarm::SlotId> fenced_;
    std::map<PeerId, swarm::Incarnation> newest_;  // by the coordinator's links
    std::map<std::pair<Version, swarm::StageIndex>, swarm::Digest> histories_;
    std::map<Version, std::pair<swarm::Epoch, std::vector<swarm::Digest>>> commits_;
    std::map<Step, std::set<swarm::SlotId>> holders_;
    std::map<Version, std::set<swarm::Epoch>> recalls_;
    std::map<std::tuple<Version, swarm::Epoch, swarm::StageIndex>, Lists> reduces_;
    Table<Hop, Slot> visits_;
    Table<Hop, Slot> offers_;
    Table<ProcessStep, std::vector<swarm::Epoch>> floors_;  // promised floors, by microbatch
    Table<Acceptance, swarm::Attempt> accepted_;
    std::vector<std::string> violations_;
};

}  // namespace sim
