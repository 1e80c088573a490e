#include "sim/scenario/schedule.hpp"

#include "sim/scenario/distribution.hpp"
#include "sim/scenario/happenings.hpp"
#include "sim/scenario/plan.hpp"
#include "sim/scenario/table_reader.hpp"
#include "sim/scenario/trace.hpp"
#include "swarm/base/try.hpp"
#include "swarm/run/memory_plan.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

namespace sim {

namespace {

using swarm::Error;
using swarm::Result;
using Kind = Happening::Kind;

constexpr double kPeerSpeedMin = 1e-3;

/// Names a peer's streams: its group and its place in it, from 1.
PeerId stream_name(std::string_view group, std::uint64_t place) {
    std::uint64_t name = group.size();
    for (const char c : group) {
        name = swarm::mix_bits(name + static_cast<unsigned char>(c) + 1);
    }
    return PeerId{{place, name, 0, 0}};
}

/// A draw of 0 for a line that is not unlimited becomes the slowest line, not an unlimited one.
std::uint64_t draw_rate(std::uint64_t seed, const PeerId& who, Draws purpose, const Draw& draw) {
    const bool unlimited = draw.kind == Draw::Kind::Constant && draw.values[0] == 0.0;
    swarm::Rng rng = stream_for(seed, who, purpose);
    const double rate = sample(rng, draw);
    return unlimited ? 0 : static_cast<std::uint64_t>(std::max(rate, 1.0));
}

double draw_number(std::uint64_t seed, const PeerId& who, Draws purpose, const Draw& draw) {
    swarm::Rng rng = stream_for(seed, who, purpose);
    return sample(rng, draw);
}

/// Returns about how many happenings there would be, so that too many are refused before they are
/// drawn.
double expected_happenings(const Scenario& scenario) {
    constexpr double kHour = 3600.0;
    const auto seconds = [](Duration duration) {
        return std::chrono::duration<double>(duration).count();
    };
    const Faults& faults = scenario.faults;
    const double hours = seconds(scenario.duration - scenario.calm) / kHour;
    const double faults_per_hour = faults.freeze.per_hour + faults.partition.per_hour +
                                   faults.slow_down.per_hour + faults.cut_links.per_hour;
    const Churn& churn = scenario.churn;
    const bool returns = churn.mtbf > Duration{} && churn.absence_mean > Duration{};
    const double turns_per_hour =
        returns ? peers_of(scenario) * kHour / seconds(churn.mtbf + churn.absence_mean) : 0.0;
    return 2 * hours * (faults_per_hour + turns_per_hour);
}

/// Builds one schedule. Its parts stand in the order in which they need each other.
class Builder {
 public:
    Builder(const Scenario& scenario, std::uint64_t seed)
        : scenario_(scenario),
          seed_(seed),
          end_(TimePoint{} + scenario.duration - scenario.calm),
          peers_(peers_of(scenario)) {}

    Result<Schedule> build() {
        if (expected_happenings(scenario_) > static_cast<double>(kHappeningsMax)) {
            return too_much();
        }
        add_groups();
        SWARM_TRY(read_trace_file());
        take_first_steps(trace_);
        add_arrivals();
        if (schedule_.fleet.size() > kPeersMax) {
            return usage(
                scenario_.name,
                "churn.arrivals_per_hour brings more than " + std::to_string(kPeersMax) +
                    " peers in all; lower it or the duration"
            );
        }
        add_comings_and_goings();
        const auto fleet = static_cast<std::uint32_t>(schedule_.fleet.size());
        add_faults(scenario_.faults, seed_, fleet, end_, happenings_);
        if (happenings_.full()) {
            return too_much();
        }
        const auto next_part =
            scenario_.calm > Duration{} ? AfterFaults::Calm : AfterFaults::EndOfRun;
        schedule_.happenings = happenings_.settle(schedule_.fleet, end_, next_part);
        SWARM_TRY(leave_out_the_small());
        return std::move(schedule_);
    }

 private:
    [[nodiscard]] Error too_much() const {
        return usage(
            scenario_.name,
            "more than " + std::to_string(kHappeningsMax) +
                " things would happen; lower the rates or the duration"
        );
    }

    /// Leaves out each peer whose memory holds no stage. In a real run such a peer ends at once
    /// (swarm/run/memory_plan); here it never comes.
    Result<> leave_out_the_small() {
        const Pipeline& pipeline = scenario_.pipeline;
        using swarm::run::MemoryPlan;
        const std::uint64_t parameters = pipeline.parameters();
        const std::uint64_t of_sparse =
            pipeline.is_sparse() ? MemoryPlan::kSparseBytesPerParameter * parameters : 0;
        std::vector<bool> small(schedule_.fleet.size() + 1);  // by number
        bool anybody = false;
        for (FleetPeer& peer : schedule_.fleet) {
            const MemoryPlan plan(
                peer.memory_bytes, {}, parameters, pipeline.microbatches, of_sparse
            );
            small[peer.number] = plan.check().has_error();
            peer.there_at_start = peer.there_at_start && !small[peer.number];
            anybody = anybody || !small[peer.number];
        }
        if (!anybody) {
            return usage(scenario_.name, "no peer has the memory for pipeline.state_bytes");
        }
        std::erase_if(schedule_.happenings, [&](const Happening& happening) {
            return happening.kind == Kind::Join && small[happening.peer];
        });
        return {};
    }

    void add_peer(const PeerGroup& group, const PeerId& name, bool there_at_start) {
        FleetPeer& peer = schedule_.fleet.emplace_back();
        peer.number = static_cast<std::uint32_t>(schedule_.fleet.size());
        const auto& regions = scenario_.regions.names;
        const auto region = std::find(regions.begin(), regions.end(), group.region);
        peer.region =
            region == regions.end() ? 0 : static_cast<std::uint32_t>(region - regions.begin());
        peer.units_per_s =
            std::max(draw_number(seed_, name, Draws::Speed, group.units_per_s), kPeerSpeedMin);
        peer.up_bytes_per_s = draw_rate(seed_, name, Draws::Up, group.up_bytes_per_s);
        peer.down_bytes_per_s = draw_rate(seed_, name, Draws::Down, group.down_bytes_per_s);
        peer.memory_bytes = group.memory_bytes;
        peer.clock_offset_s = draw_number(seed_, name, Draws::ClockOffset, group.clock_offset_s);
        peer.clock_drift_ppm = draw_number(seed_, name, Draws::ClockDrift, group.clock_drift_ppm);
        peer.there_at_start = there_at_start;
        names_.push_back(name);
        since_.emplace_back();
    }

    void add_groups() {
        for (const PeerGroup& group : scenario_.groups) {
            for (std::uint64_t place = 1; place <= group.count; ++place) {
                add_peer(group, stream_name(group.name, place), true);
            }
        }
    }

    Result<> read_trace_file() {
        const std::string& name = scenario_.churn.trace;
        if (name.empty()) {
            return {};
        }
        const std::string path = (std::filesystem::path(scenario_.folder) / name).string();
        std::ifstream in(path, std::ios::binary);
        if (!in) {
            return usage(path, "churn.trace is not a file that can be read");
        }
        SWARM_TRY(trace_, read_trace(in, path, peers_));
        return {};
    }

    /// A peer whose first step, by the trace or the plan, is a join was not there at the start; its
    /// churn begins with that join.
    void take_first_steps(std::vector<Happening> steps) {
        for (const Planned& planned : scenario_.plan) {
            const bool joins = planned.kind == Planned::Kind::Join;
            if (joins || !lasts(planned.kind)) {
                const Kind kind = joins ? Kind::Join : Kind::Leave;
                steps.push_back({TimePoint(planned.at), planned.peer, kind});
            }
        }
        std::stable_sort(steps.begin(), steps.end(), [](const Happening& a, const Happening& b) {
            return a.at < b.at;
        });
        std::vector<bool> seen(peers_ + 1);
        for (const Happening& step : steps) {
            if (!seen[step.peer] && step.kind == Kind::Join) {
                schedule_.fleet[step.peer - 1].there_at_start = false;
                since_[step.peer - 1] = step.at;
            }
            seen[step.peer] = true;
        }
    }

    void add_arrivals() {
        const double per_hour = scenario_.churn.arrivals_per_hour;
        if (!(per_hour > 0)) {
            return;
        }
        constexpr double kHour = 3600.0;
        swarm::Rng rng = stream_for(seed_, PeerId{}, Draws::Arrival);
        TimePoint now{};
        for (std::uint64_t place = 1; schedule_.fleet.size() <= kPeersMax; ++place) {
            now += exponential(rng, to_duration(kHour / per_hour));
            if (now >= end_) {
                return;
            }
            // No group can have this name: they are not empty.
            add_peer(scenario_.groups.front(), stream_name("", place), false);
            since_.back() = now;
            happenings_.add(Happening{now, schedule_.fleet.back().number, Kind::Join});
        }
    }

    void add_comings_and_goings() {
        for (const Happening& step : trace_) {
            happenings_.add(step);
        }
        add_plan(scenario_.plan, seed_, peers_, happenings_);
        for (std::size_t i = 0; i < schedule_.fleet.size(); ++i) {
            const std::uint32_t number = schedule_.fleet[i].number;
            add_churn(scenario_.churn, seed_, names_[i], number, since_[i], end_, happenings_);
        }
    }

    const Scenario& scenario_;
    std::uint64_t seed_;
    TimePoint end_;
    std::uint32_t peers_;  // the number without arrivals
    Schedule schedule_;
    std::vector<PeerId> names_;     // names of the random streams, by place in the fleet
    std::vector<TimePoint> since_;  // the start, or the time of the first join
    std::vector<Happening> trace_;
    Happenings happenings_;
};

}  // namespace

const char* name_of(Kind kind) {
    switch (kind) {
        case Kind::Join:
            return "join";
        case Kind::Leave:
            return "leave";
        case Kind::Crash:
            return "crash";
        case Kind::Freeze:
            return "freeze";
        case Kind::Thaw:
            return "thaw";
        case Kind::SlowDown:
            return "slow_down";
        case Kind::SpeedBack:
            return "speed_back";
        case Kind::Block:
            return "block";
        case Kind::Unblock:
            return "unblock";
        case Kind::CutLink:
            return "cut_link";
        case Kind::MendLink:
            return "mend_link";
    }
    return "";
}

Result<Schedule> make_schedule(const Scenario& scenario, std::uint64_t seed) {
    return Builder(scenario, seed).build();
}

}  // namespace sim
