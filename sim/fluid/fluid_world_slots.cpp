// The slots of a FluidWorld's machines: joining, moving, leaving, downloading.
#include "sim/fluid/fluid_world.hpp"
#include "sim/peer.hpp"
#include "sim/scenario/distribution.hpp"
#include "swarm/coordinator/placement.hpp"
#include "swarm/protocol/limits.hpp"
#include "swarm/run/state_chunk.hpp"
#include "swarm/run/step_time.hpp"

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
        awaiting_.push_back({number, machine(number).spell, std::nullopt, false});
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
    awaiting_.push_back({number, one.spell, to, false});
}

void FluidWorld::stop_work(std::uint32_t number) {
    Machine& one = machine(number);
    has_changed_ = true;
    one.is_member = false;
    stages_[one.stage.value].remove(*one.slot);
    if (stages_[one.stage.value].members().empty()) {
        admit_waiting(one.stage);
    }
}

// Without a member no commit comes, for which those with the state would wait.
void FluidWorld::admit_waiting(StageIndex stage) {
    std::vector<std::uint32_t> numbers;
    std::erase_if(awaiting_, [&](const Awaiting& who) {
        const Machine& one = machine(who.number);
        const bool waits = who.has_state && one.spell == who.spell && one.stage == stage;
        if (waits) {
            numbers.push_back(who.number);
        }
        return waits;
    });
    for (const std::uint32_t number : numbers) {
        admit(number);
    }
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
        } else if (who.has_state) {
            admit(who.number);
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

// Work comes to a newcomer with the microbatches that are launched after it came. Where the window
// holds a whole step, these are the ones of the next step.
void FluidWorld::downloaded(std::uint32_t number) {
    Machine& one = machine(number);
    totals_.bytes += download_bytes();
    release_donors(one);
    const bool all_are_launched = window_ >= scenario_.pipeline.microbatches;
    if (all_are_launched && !stages_[one.stage.value].members().empty()) {
        awaiting_.push_back({number, one.spell, std::nullopt, true});
    } else {
        admit(number);
    }
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
    stages_[one.stage.value].add(*one.slot, number, flow_as_member(number));
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
// they share with their tensors, and the pace that the donors keep. Without a donor (no machine of
// the stage works) the state is a checkpoint of the coordinator's.
Duration FluidWorld::download_from_donors(std::uint32_t number) {
    settle();
    Machine& one = machine(number);
    one.donors = choose_donors(one.stage);
    const double bytes = download_bytes();
    const auto down = static_cast<double>(peer_of(number).down_bytes_per_s);
    double takes_s = down > 0 ? bytes / down : 0;
    double given_per_s = 0;
    for (const std::uint32_t donor : one.donors) {
        ++machine(donor).feeding;
        given_per_s += given_by(donor);
        line_changed(donor);
    }
    if (given_per_s > 0) {
        takes_s = std::max(takes_s, bytes / given_per_s);
    }
    return to_duration(takes_s + kDownloadHops * latency_s_);
}

// Links of a line that have bytes waiting get equal shares of it. The links to the neighbours do
// not always have some: what their tensors leave is the downloads'.
double FluidWorld::given_by(std::uint32_t donor) const {
    const Machine& one = machines_[donor - 1];
    const auto up = static_cast<double>(peer_of(donor).up_bytes_per_s);
    if (up == 0) {
        return pace_of_donor() / one.feeding;
    }
    const double left = 1 - std::min(tensors_share(donor), tensors_share_of_links(donor));
    return std::min(up * left / one.feeding, pace_of_donor());
}

// Share of the donor's line that its tensors and parts of sums use, if nothing else does.
double FluidWorld::tensors_share(std::uint32_t donor) const {
    const Machine& one = machines_[donor - 1];
    const StageFlow& stage = stages_[one.stage.value];
    const auto up = static_cast<double>(peer_of(donor).up_bytes_per_s);
    const Pipeline& pipeline = scenario_.pipeline;
    const double bytes = tensors_each_way(pipeline, one.stage.value) *
                         static_cast<double>(pipeline.activation_bytes);
    double share = 0;
    for (const StageFlow::Member& member : stage.members()) {
        share += member.number == donor ? stage.share(member) : 0;
    }
    const auto members = static_cast<std::uint32_t>(stage.members().size());
    const double sums = swarm::run::sync_bytes(pipeline.mode, pipeline.exchanged(), members, up);
    const double steps = pipeline.is_sparse() ? pipeline.steps_between_syncs() : 1;
    return flow_ * (bytes * share + sums / steps / pipeline.microbatches) / up;
}

// Share of the donor's line that its links to neighbours get beside downloads; at the end of a step
// they are those to its stage's members.
double FluidWorld::tensors_share_of_links(std::uint32_t donor) const {
    const Machine& one = machines_[donor - 1];
    const std::size_t stage = one.stage.value;
    std::size_t neighbours = 0;
    if (stage > 0) {
        neighbours += stages_[stage - 1].members().size();
    }
    if (stage + 1 < stages_.size()) {
        neighbours += stages_[stage + 1].members().size();
    }
    const auto links =
        static_cast<double>(std::max<std::size_t>({1, neighbours, stages_[stage].members().size()})
        );
    return links / (links + one.feeding);
}

void FluidWorld::line_changed(std::uint32_t donor) {
    if (peer_of(donor).up_bytes_per_s > 0) {
        speed_changed(donor);
    }
}

// A donor's tensors have what downloads leave of its line: their links' share, or more where the
// donor's pace bounds the downloads.
PeerFlow FluidWorld::flow_as_member(std::uint32_t number) const {
    const Machine& one = machines_[number - 1];
    FleetPeer peer = peer_of(number);
    if (one.feeding > 0 && peer.up_bytes_per_s > 0) {
        const auto up = static_cast<double>(peer.up_bytes_per_s);
        const double left =
            std::max(up * tensors_share_of_links(number), up - one.feeding * pace_of_donor());
        peer.up_bytes_per_s = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(left));
    }
    return flow_of(peer, speed_of(one), scenario_.pipeline, one.stage.value);
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
        line_changed(donor);
    }
}

}  // namespace sim
