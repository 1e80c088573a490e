// The slots of a FluidWorld's machines: joining, moving, leaving, downloading.
#include "sim/fluid/fluid_world.hpp"
#include "sim/peer.hpp"
#include "sim/scenario/distribution.hpp"
#include "swarm/coordinator/placement.hpp"
#include "swarm/protocol/limits.hpp"
#include "swarm/run/state_chunk.hpp"

#include <algorithm>
#include <utility>

namespace sim {

using swarm::protocol::Standing;

namespace {

// Hops of a download: COMMIT with the order to fetch; the question for the list and its answer; the
// question for the state and its answer; JOIN.
constexpr double kDownloadHops = 6;
// The same as in swarm/coordinator/coordinator.hpp.
constexpr std::size_t kDonorsMax = 4;

}  // namespace

bool FluidWorld::is_last_of_its_stage(std::uint32_t number) const {
    const Machine& own = machines_[number - 1];
    if (!own.is_member) {
        return false;
    }
    const auto& members = stages_[own.stage.value].members();
    return std::none_of(members.begin(), members.end(), [&](const StageFlow::Member& member) {
        return member.number != number && !machines_[member.number - 1].frozen;
    });
}

void FluidWorld::take_slot(std::uint32_t number, StageIndex stage) {
    Machine& one = machine(number);
    swarm::protocol::SlotInfo info;
    info.peer = peer(number);
    info.stage = stage;
    info.standing = Standing::Observer;
    one.slot = roster_.add(std::move(info));
    one.stage = stage;
    observers_[stage.value].push_back(*one.slot);
}

void FluidWorld::observe(std::uint32_t number, StageIndex stage) {
    take_slot(number, stage);
    // No commit will come: the state comes from a checkpoint.
    if (stages_[stage.value].members().empty()) {
        begin_download(number);
    } else {
        awaiting_.push_back({number, machine(number).spell, std::nullopt});
    }
}

void FluidWorld::begin_download(std::uint32_t number) {
    const Duration takes = download_from_donors(number);
    pending_.push(now_ + takes, {Pending::Kind::Downloaded, number, machine(number).spell});
}

// The mover gets no new work; its sums count at the commit.
void FluidWorld::begin_move(std::uint32_t number, StageIndex to) {
    Machine& one = machine(number);
    stop_work(number);
    roster_.set_standing(*one.slot, Standing::Draining);
    observers_[one.stage.value].push_back(*one.slot);
    one.moves_to = to;
    one.leased_until = now_ + swarm::coordinator::lease_of(scenario_.pipeline.rebalance_every);
    awaiting_.push_back({number, one.spell, to});
}

void FluidWorld::stop_work(std::uint32_t number) {
    Machine& one = machine(number);
    has_changed_ = true;
    one.is_member = false;
    stages_[one.stage.value].remove(*one.slot);
}

void FluidWorld::commit() {
    ++events_;
    is_fresh_ = is_fresh_ && !samples_each_step();
    for (const Awaiting& who : std::exchange(awaiting_, {})) {
        if (machine(who.number).spell != who.spell) {
            continue;
        }
        if (who.moves_to) {
            release(who);
        } else {
            begin_download(who.number);
        }
    }
    refresh();
}

void FluidWorld::release(const Awaiting& mover) {
    const StageIndex from = machine(mover.number).stage;
    if (stages_[from.value].members().empty()) {
        admit(mover.number);  // the other members are gone: the mover is the last with the state
        return;
    }
    give_up_slot(mover.number);
    ++moves_;
    observe(mover.number, *mover.moves_to);
}

void FluidWorld::admit(std::uint32_t number) {
    Machine& one = machine(number);
    std::erase(observers_[one.stage.value], *one.slot);
    one.moves_to.reset();
    release_donors(one);
    take_part(number);
}

void FluidWorld::take_part(std::uint32_t number) {
    Machine& one = machine(number);
    roster_.set_standing(*one.slot, Standing::Member);
    one.is_member = true;
    has_changed_ = true;
    one.queued_s = 0;
    one.present_s = 0;
    stages_[one.stage.value].add(
        *one.slot,
        number,
        flow_of(peer_of(number), speed_of(one), scenario_.pipeline, one.stage.value)
    );
}

void FluidWorld::give_up_slot(std::uint32_t number) {
    Machine& one = machine(number);
    if (one.is_member) {
        stop_work(number);
    } else {
        std::erase(observers_[one.stage.value], *one.slot);
        release_donors(one);
    }
    roster_.remove(*one.slot);
    one.slot.reset();
    one.moves_to.reset();
    ++one.spell;
}

// The same choice as swarm::coordinator::Coordinator::stage_for.
StageIndex FluidWorld::stage_for_newcomer() {
    std::vector<std::size_t> peers;
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
        peers.push_back(stages_[stage].members().size() + observers_[stage].size());
    }
    const auto fewest = std::min_element(peers.begin(), peers.end());
    const StageIndex neediest{static_cast<std::uint32_t>(fewest - peers.begin())};
    if (scenario_.pipeline.rebalancer == "none" || stages_[neediest.value].members().empty()) {
        return neediest;
    }
    settle();
    return rebalancer_->place(mean_loads());
}

// The download takes as long as the slowest of three: the newcomer's line, the donors' lines, which
// their downloaders share, and the pace that the donors keep. Without a donor (no machine of the
// stage works) the state is a checkpoint of the coordinator's.
Duration FluidWorld::download_from_donors(std::uint32_t number) {
    Machine& one = machine(number);
    one.donors = choose_donors(one.stage);
    const double bytes = download_bytes();
    const auto down = static_cast<double>(peer_of(number).down_bytes_per_s);
    double takes_s = down > 0 ? bytes / down : 0;
    double given_per_s = 0;
    for (const std::uint32_t donor : one.donors) {
        const std::uint32_t sharers = ++machine(donor).feeding;
        const auto up = static_cast<double>(peer_of(donor).up_bytes_per_s);
        const double pace = pace_of_donor();
        given_per_s += (up > 0 ? std::min(up, pace) : pace) / sharers;
    }
    if (given_per_s > 0) {
        takes_s = std::max(takes_s, bytes / given_per_s);
    }
    return to_duration(takes_s + kDownloadHops * latency_s_);
}

// Beside a reduction a donor gives fewer chunks.
double FluidWorld::pace_of_donor() const {
    const double step_s = flow_ > 0 ? scenario_.pipeline.microbatches / flow_ : 0;
    const double reducing = step_s > 0 ? std::min(1.0, sync_s_ / step_s) : 0;
    constexpr auto kFull = static_cast<double>(swarm::run::kChunksPerSecond);
    constexpr double kBeside = kFull / swarm::run::kSlowerBesideReduction;
    const double chunks_per_s = kFull * (1 - reducing) + kBeside * reducing;
    return chunks_per_s * swarm::run::kPackedStateShare * swarm::protocol::kChunkBytes;
}

double FluidWorld::download_bytes() const {
    return static_cast<double>(scenario_.pipeline.state_bytes) * swarm::run::kPackedStateShare;
}

// Chooses the machines that feed the fewest others; among equals those in the lowest slots.
std::vector<std::uint32_t> FluidWorld::choose_donors(StageIndex stage) const {
    std::vector<std::uint32_t> donors;
    for (const StageFlow::Member& member : stages_[stage.value].members()) {
        if (!machines_[member.number - 1].frozen) {
            donors.push_back(member.number);
        }
    }
    std::stable_sort(donors.begin(), donors.end(), [&](std::uint32_t a, std::uint32_t b) {
        return machines_[a - 1].feeding < machines_[b - 1].feeding;
    });
    donors.resize(std::min(donors.size(), scenario_.pipeline.is_sparse() ? 1 : kDonorsMax));
    return donors;
}

void FluidWorld::release_donors(Machine& downloader) {
    for (const std::uint32_t donor : std::exchange(downloader.donors, {})) {
        --machine(donor).feeding;
    }
}

}  // namespace sim
