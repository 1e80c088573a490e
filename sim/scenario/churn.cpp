// Comings, goings and faults as the random streams have them.
#include "sim/scenario/distribution.hpp"
#include "sim/scenario/happenings.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace sim {

namespace {

using Kind = Happening::Kind;

// Most links that one swizzle cuts: enough to tear a ring, few enough for a schedule of 1,000
// peers.
constexpr std::uint32_t kSwizzledLinksMax = 8;

/// The name of fleet-wide streams, which belong to no peer.
constexpr PeerId kNobody{};

/// Draws of one kind of fault: time, victims and length, each from its own stream.
class FaultDraws {
 public:
    FaultDraws(const Faults::Kind& kind, std::uint64_t seed, Draws first)
        : kind_(kind),
          times_(stream_of(seed, first, 0)),
          victims_(stream_of(seed, first, 1)),
          lengths_(stream_of(seed, first, 2)) {}

    /// Draws the next fault of a fleet of `peers`; false when it would begin after `end`.
    bool next(std::uint32_t peers, TimePoint end) {
        if (!(kind_.per_hour > 0)) {
            return false;
        }
        constexpr double kHour = 3600.0;
        fault.begin = std::max(fault.begin, TimePoint{}) +
                      exponential(times_, to_duration(kHour / kind_.per_hour));
        fault.end = fault.begin + to_duration(sample(lengths_, kind_.length_s));
        fault.peer = 1 + place_of(victims_.next(), peers);
        const std::uint64_t key = victims_.next();
        // The other peer of a pair, when there are two.
        const std::uint32_t other = peers > 1 ? 1 + place_of(key, peers - 1) : 0;
        fault.to = other >= fault.peer ? other + 1 : other;
        return fault.begin < end;
    }

    Lasting fault;

 private:
    static swarm::Rng stream_of(std::uint64_t seed, Draws first, std::uint64_t offset) {
        return stream_for(
            seed, kNobody, static_cast<Draws>(static_cast<std::uint64_t>(first) + offset)
        );
    }

    const Faults::Kind& kind_;
    swarm::Rng times_;
    swarm::Rng victims_;
    swarm::Rng lengths_;
};

/// Shuffles by Fisher-Yates; std::shuffle differs between libraries.
void shuffle(std::vector<std::uint32_t>& items, swarm::Rng& rng) {
    for (std::size_t left = items.size(); left > 1; --left) {
        std::swap(items[left - 1], items[rng.below(left)]);
    }
}

std::vector<std::uint32_t> others_of(std::uint32_t peer, std::uint32_t peers, swarm::Rng& rng) {
    std::vector<std::uint32_t> others;
    if (peers <= kSwizzledLinksMax + 1) {
        for (std::uint32_t other = 1; other <= peers; ++other) {
            if (other != peer) {
                others.push_back(other);
            }
        }
        return others;
    }
    while (others.size() < kSwizzledLinksMax) {
        const std::uint32_t other = 1 + place_of(rng.next(), peers);
        if (other != peer && std::find(others.begin(), others.end(), other) == others.end()) {
            others.push_back(other);
        }
    }
    return others;
}

/// Cuts links of the fault's peer one after the other in the first third of the fault, and mends
/// them one after the other, in another order, in its last third.
void add_swizzle(const Lasting& fault, std::uint32_t peers, swarm::Rng rng, Happenings& to) {
    std::vector<std::uint32_t> others = others_of(fault.peer, peers, rng);
    if (others.empty()) {
        return;
    }
    shuffle(others, rng);
    std::vector<std::uint32_t> ranks(others.size());
    std::iota(ranks.begin(), ranks.end(), 0U);
    shuffle(ranks, rng);
    const Duration gap = (fault.end - fault.begin) / (3 * static_cast<std::int64_t>(others.size()));
    for (std::size_t i = 0; i < others.size(); ++i) {
        Lasting cut = fault;
        cut.kind = Kind::CutLink;
        cut.to = others[i];
        cut.begin = fault.begin + static_cast<std::int64_t>(i) * gap;
        cut.end = fault.end - static_cast<std::int64_t>(ranks[i]) * gap;
        to.add(cut);
    }
}

/// `source`: 0 for random faults, 1 for the plan's.
swarm::Rng swizzle_stream(std::uint64_t seed, std::uint64_t source, std::uint64_t occasion) {
    return stream_for(seed, PeerId{{occasion, source, 0, 0}}, Draws::Swizzle);
}

Kind kind_of(Planned::Kind kind) {
    switch (kind) {
        case Planned::Kind::Join:
            return Kind::Join;
        case Planned::Kind::Leave:
            return Kind::Leave;
        case Planned::Kind::Crash:
            return Kind::Crash;
        case Planned::Kind::Freeze:
            return Kind::Freeze;
        case Planned::Kind::SlowDown:
            return Kind::SlowDown;
        case Planned::Kind::Partition:
            return Kind::Block;
        case Planned::Kind::CutLinks:
            break;
    }
    return Kind::CutLink;
}

}  // namespace

void add_churn(
    const Churn& churn,
    std::uint64_t seed,
    const PeerId& who,
    std::uint32_t number,
    TimePoint from,
    TimePoint end,
    Happenings& to
) {
    if (churn.mtbf == Duration{}) {
        return;
    }
    swarm::Rng up_times = stream_for(seed, who, Draws::UpTime);
    swarm::Rng departures = stream_for(seed, who, Draws::Departure);
    swarm::Rng absences = stream_for(seed, who, Draws::Absence);
    TimePoint now = from;
    while (!to.full()) {
        now += exponential(up_times, churn.mtbf);
        if (now >= end) {
            return;
        }
        const bool crashes = departures.unit() < churn.crash_share;
        to.add(Happening{now, number, crashes ? Kind::Crash : Kind::Leave});
        if (churn.absence_mean == Duration{}) {
            return;
        }
        now += exponential(absences, churn.absence_mean);
        to.add(Happening{now, number, Kind::Join});
    }
}

void add_faults(
    const Faults& faults, std::uint64_t seed, std::uint32_t peers, TimePoint end, Happenings& to
) {
    FaultDraws freezes(faults.freeze, seed, Draws::FreezeTime);
    while (!to.full() && freezes.next(peers, end)) {
        Lasting fault = freezes.fault;
        fault.kind = Kind::Freeze;
        fault.to = 0;
        to.add(fault);
    }
    FaultDraws slow_downs(faults.slow_down, seed, Draws::SlowDownTime);
    while (!to.full() && slow_downs.next(peers, end)) {
        Lasting fault = slow_downs.fault;
        fault.kind = Kind::SlowDown;
        fault.to = 0;
        fault.factor = faults.slow_down_factor;
        to.add(fault);
    }
    FaultDraws partitions(faults.partition, seed, Draws::PartitionTime);
    while (peers > 1 && !to.full() && partitions.next(peers, end)) {
        Lasting fault = partitions.fault;
        fault.kind = Kind::Block;
        to.add(fault);
    }
    FaultDraws cuts(faults.cut_links, seed, Draws::CutLinksTime);
    for (std::uint64_t i = 0; !to.full() && cuts.next(peers, end); ++i) {
        add_swizzle(cuts.fault, peers, swizzle_stream(seed, 0, i), to);
    }
}

void add_plan(
    const std::vector<Planned>& plan, std::uint64_t seed, std::uint32_t peers, Happenings& to
) {
    std::uint64_t swizzles = 0;
    for (const Planned& planned : plan) {
        const Kind kind = kind_of(planned.kind);
        const TimePoint at(planned.at);
        if (kind == Kind::Join || kind == Kind::Leave || kind == Kind::Crash) {
            to.add(Happening{at, planned.peer, kind});
            continue;
        }
        const Lasting lasting{
            kind, at, at + planned.length, planned.peer, planned.to, planned.factor};
        if (kind == Kind::CutLink && planned.to == 0) {
            add_swizzle(lasting, peers, swizzle_stream(seed, 1, swizzles++), to);
        } else {
            to.add(lasting);
        }
    }
}

}  // namespace sim
