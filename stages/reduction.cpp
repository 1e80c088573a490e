#include "stages/reduction.hpp"

#include "swarm/protocol/limits.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace stages {

bool Reduction::start(const protocol::Reduce& reduce, const MicrobatchIds& held, node::Turn turn) {
    if (active_ && epoch_ == reduce.epoch) {
        return false;  // repeated
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
    for (Members* members : {&added_, &taken_, &arrived_}) {
        members->reset(group_.size());
    }
    sent_.assign(group_.size(), {});
    std::erase_if(fast_, [this](PeerId peer) { return !member_indices_.contains(peer); });
    refused_ = std::make_shared<std::vector<std::uint32_t>>();
    own_values_.reset();
    const auto own = member_index(context_.self);
    if (!own) {
        active_ = false;
        return false;
    }
    own_ = *own;
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
    own_values_.reset();
    stuck_at_ = swarm::kNever;
    // Parts of a later epoch may have overtaken its REDUCE: they are told apart by their epoch.
}

void Reduction::new_step() {
    abort();
    epoch_ = {};  // a step's epochs start anew: a part may overtake its first REDUCE
    early_.clear();
}

void Reduction::seal(node::Turn turn) {
    sealed_ = true;
    const auto members = static_cast<std::uint32_t>(group_.size());
    context_.device.submit(turn, 0, [worker = context_.worker, own = own_, members] {
        worker->begin_result(own, members);
    });
    send_all_scatters(turn);
    if (members == 1) {
        finish_own_slice(turn);
    }
    const std::vector<EarlyPart> early = std::exchange(early_, {});
    for (const EarlyPart& part : early) {
        on(part.from, part.part, part.values, turn);
    }
}

void Reduction::send_all_scatters(node::Turn turn) {
    const auto members = static_cast<std::uint32_t>(group_.size());
    const std::uint64_t part_bytes = elements() / members * sizeof(std::int64_t);
    const std::uint64_t parts_per_job = kScatterJobBytes / (part_bytes + 1) + 1;
    std::vector<std::uint32_t> slices;
    for (std::uint32_t slice = 0; slice < members; ++slice) {
        if (slice != own_) {
            slices.push_back(slice);
        }
        if (slices.size() == parts_per_job || (slice + 1 == members && !slices.empty())) {
            send_scatter(std::exchange(slices, {}), turn);
        }
    }
}

bool Reduction::packs_for(std::uint32_t member) const {
    const std::uint64_t part_bytes = elements() / group_.size() * sizeof(std::int64_t);
    return part_bytes >= kPackedBytesMin && !fast_.contains(peers_[member]);
}

void Reduction::judge_line(std::uint32_t member, std::uint64_t bytes, TimePoint now) {
    const Sent& sent = sent_[member];
    if (sent.bytes == 0) {
        return;
    }
    const double seconds = std::chrono::duration<double>(now - sent.at).count();
    if (static_cast<double>(sent.bytes + bytes) > kRawAboveBytesPerSecond * seconds) {
        fast_.insert(peers_[member]);
    } else {
        fast_.erase(peers_[member]);
    }
}

void Reduction::send_scatter(std::vector<std::uint32_t> slices, node::Turn turn) {
    using Parts = std::vector<std::pair<protocol::Part, node::Payload>>;
    std::vector<bool> packed;
    for (const std::uint32_t slice : slices) {
        packed.push_back(packs_for(slice));
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
                    Sent& sent = sent_[part.slice];
                    if (sent.bytes == 0) {  // a repeated one says nothing of the line
                        sent = {later.now, values.bytes().size()};
                    }
                    ServerContext::send(peers_[part.slice], part, std::move(values), later);
                }
            }
        }
    );
}

std::uint64_t Reduction::elements() const {
    return context_.layout.elements() + context_.config.microbatches;
}

std::optional<std::uint32_t> Reduction::member_index(PeerId peer) const {
    const auto found = member_indices_.find(peer);
    return found == member_indices_.end() ? std::nullopt : std::optional(found->second);
}

bool Reduction::has_size(const node::Payload& values, std::uint32_t slice, protocol::Dtype dtype)
    const {
    const SliceRange range =
        slice_range(elements(), slice, static_cast<std::uint32_t>(group_.size()));
    const std::uint64_t wanted = range.end - range.begin;
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
    const auto member = member_index(from);
    if (!mine || complete_ || !member || *member == own_) {
        return;  // of an epoch that is dead, or decided
    }
    if (part.gathered && part.slice == *member) {
        take_gathered(*member, std::move(values), turn);
    } else if (!part.gathered && part.slice == own_) {
        take_scatter(*member, std::move(values), turn);
    }
}

void Reduction::keep_early(PeerId from, const protocol::Part& part, node::Payload values) {
    const auto* const sender = context_.roster.find_peer(from);
    const bool plausible = sender && sender->stage == context_.stage() &&
                           values.bytes().size() <= elements() * sizeof(std::int64_t);
    const bool repeated = std::any_of(early_.begin(), early_.end(), [&](const EarlyPart& early) {
        return early.from == from && early.part == part;
    });
    const std::size_t of_all = 2 * context_.roster.slots_of(context_.stage()).size();
    if (plausible && !repeated && early_.size() < std::max(protocol::kEarlyPartsMax, of_all)) {
        early_.push_back({from, part, std::move(values)});
    }
}

void Reduction::take_scatter(std::uint32_t member, node::Payload values, node::Turn turn) {
    if (added_.has(member) || !has_size(values, own_, protocol::Dtype::Int64)) {
        return;
    }
    added_.add(member);
    stuck_at_ = turn.now + kStuckAfter;
    context_.device.submit(
        turn,
        0,
        [worker = context_.worker, refused = refused_, member, values = std::move(values)] {
            if (worker->add_part(values).has_error()) {
                refused->push_back(member);
            }
        }
    );
    if (added_.count() + 1 == group_.size()) {
        finish_own_slice(turn);
    }
}

void Reduction::finish_own_slice(node::Turn turn) {
    struct Outcome {
        std::vector<std::uint32_t> refused;
        node::Payload values;
    };

    context_.device.submit_for<Outcome>(
        turn,
        0,
        [worker = context_.worker,
         refused = refused_,
         bug = context_.bugs.result_in_accumulator](Outcome& outcome) {
            outcome.refused = std::exchange(*refused, {});
            if (!outcome.refused.empty()) {
                return;
            }
            outcome.values = worker->finish_own_slice();
            if (bug) {
                worker->clear_accumulator();
            }
        },
        [this, mine = generation_](Outcome& outcome, node::Turn later) {
            if (!is_current(mine)) {
                return;
            }
            if (!outcome.refused.empty()) {
                parts_refused(outcome.refused, later);
                return;
            }
            own_values_ = std::move(outcome.values);
            for (const PeerId peer : peers_) {
                send_gathered(peer, later);
            }
            for (const SlotId slot : observers_) {
                if (const auto* info = context_.roster.find(slot)) {
                    send_gathered(info->peer, later);
                }
            }
            slice_arrived(own_, later);
        }
    );
}

void Reduction::parts_refused(std::span<const std::uint32_t> members, node::Turn turn) {
    for (const std::uint32_t member : members) {
        added_.remove(member);
    }
    stuck_at_ = turn.now + kStuckAfter;  // then the coordinator hears whom we wait for
}

void Reduction::send_gathered(PeerId to, node::Turn turn) {
    if (to != context_.self) {
        const protocol::Part part{*context_.version, epoch_, own_, true};
        ServerContext::send(to, part, *own_values_, turn);
    }
}

void Reduction::take_gathered(std::uint32_t member, node::Payload values, node::Turn turn) {
    if (taken_.has(member) || !has_size(values, member, protocol::Dtype::Float32)) {
        return;
    }
    taken_.add(member);
    judge_line(member, values.bytes().size(), turn.now);
    stuck_at_ = turn.now + kStuckAfter;
    context_.device.submit(turn, 0, [worker = context_.worker, member, values = std::move(values)] {
        // The size was checked above; what is not finite shows in the summary.
        std::ignore = worker->store_gathered(member, values);
    });
    slice_arrived(member, turn);
}

void Reduction::slice_arrived(std::uint32_t slice, node::Turn turn) {
    arrived_.add(slice);
    if (arrived_.count() == group_.size()) {
        stuck_at_ = swarm::kNever;
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
    stuck_at_ = turn.now + kStuckAfter;  // then the coordinator hears whom we wait for
}

void Reduction::resend(PeerId peer, node::Turn turn) {
    const auto index = member_index(peer);
    if (!active_ || !sealed_) {
        return;
    }
    if (index && *index != own_) {
        send_scatter({*index}, turn);
    }
    const auto* const info = context_.roster.find_peer(peer);
    const bool observes =
        info && std::find(observers_.begin(), observers_.end(), info->slot) != observers_.end();
    if (own_values_ && (index || observes)) {
        send_gathered(peer, turn);
    }
}

void Reduction::wake(node::Turn turn) {
    if (stuck_at_ > turn.now) {
        return;
    }
    stuck_at_ = turn.now + kStuckAfter;
    if (!sealed_) {
        return;  // it waits for backwards, not for replicas
    }
    protocol::Stuck stuck{*context_.version, epoch_, {}};
    for (std::uint32_t i = 0; i < peers_.size(); ++i) {
        if (i != own_ && (!added_.has(i) || !arrived_.has(i))) {
            stuck.waits_for.push_back(group_[i]);
        }
    }
    context_.tell_coordinator(std::move(stuck), turn);
}

}  // namespace stages
