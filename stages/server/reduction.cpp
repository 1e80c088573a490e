#include "stages/server/reduction.hpp"

#include "swarm/protocol/limits.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace stages {

bool Reduction::start(const protocol::Reduce& reduce, const MicrobatchIds& held, node::Turn turn) {
    if (active_ && epoch_ == reduce.epoch) {
        return false;  // a repeated REDUCE
    }
    ++generation_;
    active_ = true;
    sealed_ = false;
    complete_ = false;
    epoch_ = reduce.epoch;
    std::erase_if(early_, [this](const EarlyPart& early) { return early.part.epoch < epoch_; });
    ids_ = MicrobatchIds(reduce.ids.begin(), reduce.ids.end());
    group_ = reduce.group;
    observers_ = reduce.observers;
    peers_.clear();
    member_indices_.clear();
    for (const SlotId slot : group_) {
        const auto* const info = context_.roster.find(slot);
        peers_.push_back(info ? info->peer : PeerId{});
        member_indices_.emplace(peers_.back(), static_cast<std::uint32_t>(peers_.size() - 1));
    }
    std::erase_if(fast_, [this](PeerId peer) { return !member_indices_.contains(peer); });
    const auto own = member_index(context_.self);
    if (!own || !tied_.start(reduce, *own)) {
        active_ = false;
        return false;
    }
    slices_ = context_.slices(group_.size());
    added_.resize(slices_.pieces());
    for (Some& added : added_) {
        added.reset(group_.size());
    }
    taken_.reset(slices_.count());
    arrived_.reset(slices_.count());
    exchanged_.assign(group_.size(), {});
    refused_ = std::make_shared<RefusedParts>();
    own_values_.assign(slices_.pieces(), std::nullopt);
    own_ = *own;
    said_stuck_ = false;
    stuck_at_ = turn.now + kStuckAfter;
    return ids_changed(held, turn);
}

bool Reduction::matches(const MicrobatchIds& held) const {
    return held == ids_ || (context_.bugs.inexact_set && held.size() + 1 >= ids_.size());
}

bool Reduction::ids_changed(const MicrobatchIds& held, node::Turn turn) {
    if (!active_ || sealed_) {
        return false;
    }
    if (matches(held)) {
        seal(turn);
        return true;
    }
    if (!std::includes(ids_.begin(), ids_.end(), held.begin(), held.end())) {
        const std::vector<MicrobatchId> ids(held.begin(), held.end());
        context_.tell_coordinator(protocol::Mismatch{*context_.version, epoch_, ids}, turn);
        active_ = false;
        stuck_at_ = swarm::kNever;
    }
    return false;
}

void Reduction::abort() {
    ++generation_;
    active_ = false;
    sealed_ = false;
    complete_ = false;
    own_values_.clear();
    tied_.clear();
    stuck_at_ = swarm::kNever;
    // Early parts stay: those of a later epoch may have overtaken its REDUCE, and the epoch tells
    // them apart.
}

void Reduction::new_step() {
    abort();
    epoch_ = {};  // each step has epochs of its own: a part may overtake its first REDUCE
    early_.clear();
}

void Reduction::seal(node::Turn turn) {
    sealed_ = true;
    context_.device.submit(turn, 0, [worker = context_.worker, own = own_, slices = slices_] {
        worker->begin_result(own, slices);
    });
    for (std::uint32_t piece = 0; piece < std::min(slices_.pieces(), kUnderWayMax); ++piece) {
        send_next_scatters(turn);
    }
    for (std::uint32_t piece = 0; group_.size() == 1 && piece < slices_.pieces(); ++piece) {
        slice_summed(slices_.slice(own_, piece), turn);
    }
    const std::vector<EarlyPart> early = std::exchange(early_, {});
    for (const EarlyPart& part : early) {
        on(part.from, part.part, part.values, turn);
    }
}

void Reduction::send_next_scatters(node::Turn turn) {
    const std::uint64_t part_bytes = slices_.range(0).size() * sizeof(std::int64_t);
    const std::uint64_t parts_per_job = kScatterJobBytes / (part_bytes + 1) + 1;
    std::vector<std::uint32_t> next;
    for (std::uint32_t member = 0; member < slices_.members(); ++member) {
        if (member != own_) {
            next.push_back(slices_.slice(member, exchanged_[member].sent++));
        }
        if (next.size() == parts_per_job || (member + 1 == slices_.members() && !next.empty())) {
            send_scatter(std::exchange(next, {}), turn);
        }
    }
}

// Values may overtake each other where a link was lost. The next part then waits for the oldest.
bool Reduction::may_send_next(std::uint32_t member) const {
    const std::uint32_t next = exchanged_[member].sent;
    return next < slices_.pieces() &&
           (next < kUnderWayMax || taken_.has(slices_.slice(member, next - kUnderWayMax)));
}

bool Reduction::packs_for(std::uint32_t member) const {
    const std::uint64_t part_bytes = slices_.range(0).size() * sizeof(std::int64_t);
    return part_bytes >= kPackedBytesMin && !fast_.contains(peers_[member]);
}

void Reduction::judge_line(std::uint32_t member, TimePoint now) {
    const Exchanged& with = exchanged_[member];
    if (with.bytes == 0 || with.came_back < slices_.pieces()) {
        return;
    }
    const double seconds = std::chrono::duration<double>(now - with.since).count();
    if (static_cast<double>(with.bytes) > kRawAboveBytesPerSecond * seconds) {
        fast_.insert(peers_[member]);
    } else {
        fast_.erase(peers_[member]);
    }
}

void Reduction::send_scatter(std::vector<std::uint32_t> slices, node::Turn turn) {
    using Parts = std::vector<std::pair<protocol::Part, node::Payload>>;
    std::vector<bool> packed;
    for (const std::uint32_t slice : slices) {
        packed.push_back(packs_for(slices_.owner(slice)));
    }
    context_.device.submit_for<Parts>(
        turn,
        0,
        [worker = context_.worker,
         version = *context_.version,
         epoch = epoch_,
         slices = std::move(slices),
         packed = std::move(packed)](Parts& parts) {
            for (std::size_t i = 0; i < slices.size(); ++i) {
                parts.emplace_back(
                    protocol::Part{version, epoch, slices[i], false},
                    packed[i] ? worker->packed_scatter_part(slices[i])
                              : worker->scatter_part(slices[i])
                );
            }
        },
        [this, mine = generation_](Parts& parts, node::Turn later) {
            if (is_current(mine)) {
                for (auto& [part, values] : parts) {
                    const std::uint32_t member = slices_.owner(part.slice);
                    Exchanged& with = exchanged_[member];
                    with.since = with.bytes == 0 ? later.now : with.since;
                    with.bytes += values.bytes().size();
                    ServerContext::send(peers_[member], part, std::move(values), later);
                }
            }
        }
    );
}

std::optional<std::uint32_t> Reduction::member_index(PeerId peer) const {
    const auto found = member_indices_.find(peer);
    return found == member_indices_.end() ? std::nullopt : std::optional(found->second);
}

bool Reduction::has_size(const node::Payload& values, std::uint64_t wanted, protocol::Dtype dtype) {
    const std::uint64_t raw_bytes = wanted * protocol::bytes_of(dtype);
    protocol::TensorEnvelope envelope{
        dtype, protocol::CodecId::None, {static_cast<std::uint32_t>(wanted)}};
    if (values.envelope() == envelope) {
        return values.bytes().size() == raw_bytes;
    }
    envelope.codec = protocol::CodecId::BytePlanes;
    return dtype == protocol::Dtype::Int64 && values.envelope() == envelope &&
           values.bytes().size() < raw_bytes;
}

void Reduction::on(PeerId from, const protocol::Part& part, node::Payload values, node::Turn turn) {
    const bool mine = active_ && part.epoch == epoch_;
    const bool later = part.epoch > epoch_ || (!active_ && !complete_ && part.epoch == epoch_);
    const bool early_scatter = mine && !sealed_;
    if (later || early_scatter) {
        keep_early(from, part, std::move(values));
        return;
    }
    if (!mine || complete_) {
        return;  // the part's epoch was aborted, or its result is complete
    }
    if (part.tied_into) {
        take_tied(from, part, std::move(values), turn);
        return;
    }
    const auto member = member_index(from);
    if (!member || *member == own_ || part.slice >= slices_.count()) {
        return;
    }
    const std::uint32_t owner = slices_.owner(part.slice);
    if (part.gathered && owner == *member) {
        take_gathered(*member, part.slice, std::move(values), turn);
    } else if (!part.gathered && owner == own_) {
        take_scatter(*member, part.slice, std::move(values), turn);
    }
}

void Reduction::keep_early(PeerId from, const protocol::Part& part, node::Payload values) {
    const auto* const sender = context_.roster.find_peer(from);
    const Slices alone = context_.slices(1);  // no group has more pieces each, or longer slices
    const bool tied = part.tied_into && context_.tied;
    const bool plausible = sender &&
                           sender->stage == (tied ? context_.tied->stage : context_.stage()) &&
                           values.bytes().size() <= context_.slice_bytes_max &&
                           values.bytes().size() <= alone.portion(0).size() * sizeof(std::int64_t);
    const bool repeated = std::any_of(early_.begin(), early_.end(), [&](const EarlyPart& early) {
        return early.from == from && early.part == part;
    });
    const std::size_t of_each = std::min(alone.pieces(), kUnderWayMax) + alone.pieces();
    std::size_t of_all = of_each * context_.roster.slots_of(context_.stage()).size();
    if (context_.tied) {  // n and m slices have at most n + m pairs with common weights
        const std::size_t others = context_.slices_of(context_.tied->elements, 1).pieces();
        of_all += (alone.pieces() + others) * context_.roster.slots_of(context_.tied->stage).size();
    }
    if (plausible && !repeated && early_.size() < std::max(protocol::kEarlyPartsMax, of_all)) {
        early_.push_back({from, part, std::move(values)});
    }
}

void Reduction::take_scatter(
    std::uint32_t member, std::uint32_t slice, node::Payload values, node::Turn turn
) {
    Some& added = added_[slices_.piece(slice)];
    if (added.has(member) ||
        !has_size(values, slices_.range(slice).size(), protocol::Dtype::Int64)) {
        return;
    }
    added.add(member);
    stuck_at_ = turn.now + kStuckAfter;
    context_.device.submit(
        turn,
        0,
        [worker = context_.worker, refused = refused_, member, slice, values = std::move(values)] {
            if (worker->add_part(slice, values).has_error()) {
                refused->push_back({slice, member, std::nullopt});
            }
        }
    );
    if (added.count() + 1 == group_.size()) {
        slice_summed(slice, turn);
    }
}

void Reduction::take_gathered(
    std::uint32_t member, std::uint32_t slice, node::Payload values, node::Turn turn
) {
    if (taken_.has(slice) ||
        !has_size(values, slices_.range(slice).size(), protocol::Dtype::Float32)) {
        return;
    }
    taken_.add(slice);
    Exchanged& with = exchanged_[member];
    ++with.came_back;
    with.bytes += with.bytes > 0 ? values.bytes().size() : 0;
    judge_line(member, turn.now);
    stuck_at_ = turn.now + kStuckAfter;
    while (may_send_next(member)) {
        send_scatter({slices_.slice(member, with.sent++)}, turn);
    }
    context_.device.submit(turn, 0, [worker = context_.worker, slice, values = std::move(values)] {
        // The size was checked above; a slice with a value that is not finite is reported missing.
        std::ignore = worker->store_gathered(slice, values);
    });
    slice_arrived(slice, turn);
}

void Reduction::slice_arrived(std::uint32_t slice, node::Turn turn) {
    arrived_.add(slice);
    if (arrived_.count() == slices_.count()) {
        stuck_at_ = turn.now + kStuckAfter;  // a stage below may wait for gradients from here
        summarise(turn);
    }
}

void Reduction::summarise(node::Turn turn) {
    struct Outcome {
        std::vector<std::uint32_t> missing;
        StageWorker::ResultSummary summary;
    };

    context_.device.submit_for<Outcome>(
        turn,
        0,
        [worker = context_.worker](Outcome& outcome) {
            outcome.missing = worker->missing_slices();
            if (outcome.missing.empty()) {
                outcome.summary = worker->summarise_result();
            }
        },
        [this, mine = generation_](Outcome& outcome, node::Turn later) {
            if (!is_current(mine)) {
                return;
            }
            if (!outcome.missing.empty()) {
                slices_refused(outcome.missing, later);
                return;
            }
            StageWorker::ResultSummary& summary = outcome.summary;
            complete_ = true;
            context_.tell_coordinator(
                protocol::Reduced{
                    *context_.version,
                    epoch_,
                    std::move(summary.sums_of_squares),
                    summary.hash,
                    summary.counted_once,
                    summary.counted_wrong,
                    context_.wire_bytes},
                later
            );
        }
    );
}

void Reduction::slices_refused(std::span<const std::uint32_t> slices, node::Turn turn) {
    for (const std::uint32_t slice : slices) {
        arrived_.remove(slice);
    }
    stuck_at_ = turn.now + kStuckAfter;  // STUCK then names the owners of these slices
}

}  // namespace stages
