#include "stages/reduction.hpp"

#include "swarm/protocol/limits.hpp"

#include <algorithm>
#include <utility>

namespace stages {

bool Reduction::start(
    const protocol::Reduce& reduce, const std::set<MicrobatchId>& held, node::Turn turn
) {
    if (active_ && epoch_ == reduce.epoch) {
        return false;  // repeated
    }
    ++generation_;
    active_ = true;
    sealed_ = false;
    complete_ = false;
    epoch_ = reduce.epoch;
    std::erase_if(early_, [this](const EarlyPart& early) { return early.part.epoch < epoch_; });
    ids_ = std::set<MicrobatchId>(reduce.ids.begin(), reduce.ids.end());
    group_ = reduce.group;
    observers_ = reduce.observers;
    peers_.clear();
    for (const SlotId slot : group_) {
        const auto* const info = context_.roster.find(slot);
        peers_.push_back(info ? info->peer : PeerId{});
    }
    added_.clear();
    arrived_.clear();
    taken_.clear();
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

bool Reduction::matches(const std::set<MicrobatchId>& held) const {
    return held == ids_ || (context_.bugs.inexact_set && held.size() + 1 >= ids_.size());
}

bool Reduction::ids_changed(const std::set<MicrobatchId>& held, node::Turn turn) {
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
    for (std::uint32_t slice = 0; slice < members; ++slice) {
        if (slice != own_) {
            send_scatter(slice, turn);
        }
    }
    if (members == 1) {
        finish_own_slice(turn);
    }
    const std::vector<EarlyPart> early = std::exchange(early_, {});
    for (const EarlyPart& part : early) {
        on(part.from, part.part, part.values, turn);
    }
}

void Reduction::send_scatter(std::uint32_t slice, node::Turn turn) {
    const protocol::Part part{*context_.version, epoch_, slice, false};
    context_.device.submit_for<node::Payload>(
        turn,
        0,
        [worker = context_.worker, slice](node::Payload& values) {
            values = worker->scatter_part(slice);
        },
        [this, part, to = peers_[slice], mine = generation_](
            node::Payload& values, node::Turn later
        ) {
            if (is_current(mine)) {
                ServerContext::send(to, part, std::move(values), later);
            }
        }
    );
}

std::optional<std::uint32_t> Reduction::member_index(PeerId peer) const {
    const auto found = std::find(peers_.begin(), peers_.end(), peer);
    return found == peers_.end()
               ? std::nullopt
               : std::optional(static_cast<std::uint32_t>(found - peers_.begin()));
}

bool Reduction::has_size(const node::Payload& values, std::uint32_t slice, protocol::Dtype dtype)
    const {
    const std::uint64_t elements = context_.layout.elements() + context_.config.microbatches;
    const SliceRange range =
        slice_range(elements, slice, static_cast<std::uint32_t>(group_.size()));
    const std::uint64_t wanted = range.end - range.begin;
    const protocol::TensorEnvelope envelope{
        dtype, protocol::CodecId::None, {static_cast<std::uint32_t>(wanted)}};
    return values.envelope() == envelope &&
           values.bytes().size() == wanted * protocol::bytes_of(dtype);
}

void Reduction::on(PeerId from, const protocol::Part& part, node::Payload values, node::Turn turn) {
    const bool mine = active_ && part.epoch == epoch_;
    const bool later = part.epoch > epoch_ || (!active_ && !complete_ && part.epoch == epoch_);
    const bool early_scatter = mine && !sealed_;
    if (later || early_scatter) {
        keep_early(from, part, std::move(values));
        return;
    }
    if (!mine || complete_ || !member_index(from)) {
        return;  // of an epoch that is dead, or decided
    }
    if (part.gathered) {
        take_gathered(from, part.slice, std::move(values), turn);
    } else if (part.slice == own_) {
        take_scatter(from, std::move(values), turn);
    }
}

void Reduction::keep_early(PeerId from, const protocol::Part& part, node::Payload values) {
    const auto* const sender = context_.roster.find_peer(from);
    const std::uint64_t elements = context_.layout.elements() + context_.config.microbatches;
    const bool plausible = sender && sender->stage == context_.stage() &&
                           values.bytes().size() <= elements * sizeof(std::int64_t);
    const bool repeated = std::any_of(early_.begin(), early_.end(), [&](const EarlyPart& early) {
        return early.from == from && early.part == part;
    });
    const std::size_t of_all = 2 * context_.roster.slots_of(context_.stage()).size();
    if (plausible && !repeated && early_.size() < std::max(protocol::kEarlyPartsMax, of_all)) {
        early_.push_back({from, part, std::move(values)});
    }
}

void Reduction::take_scatter(PeerId from, node::Payload values, node::Turn turn) {
    if (from == context_.self || !has_size(values, own_, protocol::Dtype::Int64) ||
        !added_.insert(from).second) {
        return;
    }
    stuck_at_ = turn.now + kStuckAfter;
    context_.device.submit(turn, 0, [worker = context_.worker, values = std::move(values)] {
        // The size was checked above, and nothing else can be wrong with integers.
        SWARM_ASSERT(worker->add_part(values));
    });
    if (added_.size() + 1 == group_.size()) {
        finish_own_slice(turn);
    }
}

void Reduction::finish_own_slice(node::Turn turn) {
    context_.device.submit_for<node::Payload>(
        turn,
        0,
        [worker = context_.worker,
         bug = context_.bugs.result_in_accumulator](node::Payload& values) {
            values = worker->finish_own_slice();
            if (bug) {
                worker->clear_accumulator();
            }
        },
        [this, mine = generation_](node::Payload& values, node::Turn later) {
            if (!is_current(mine)) {
                return;
            }
            own_values_ = std::move(values);
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

void Reduction::send_gathered(PeerId to, node::Turn turn) {
    if (to != context_.self) {
        const protocol::Part part{*context_.version, epoch_, own_, true};
        ServerContext::send(to, part, *own_values_, turn);
    }
}

void Reduction::take_gathered(
    PeerId from, std::uint32_t slice, node::Payload values, node::Turn turn
) {
    const bool wanted = slice < peers_.size() && peers_[slice] == from && slice != own_ &&
                        !taken_.contains(slice) &&
                        has_size(values, slice, protocol::Dtype::Float32);
    if (!wanted) {
        return;
    }
    taken_.insert(slice);
    stuck_at_ = turn.now + kStuckAfter;
    context_.device.submit_for<bool>(
        turn,
        0,
        [worker = context_.worker, slice, values = std::move(values)](bool& stored) {
            stored = worker->store_gathered(slice, values).has_value();
        },
        [this, slice, mine = generation_](bool& stored, node::Turn later) {
            if (is_current(mine) && stored) {
                slice_arrived(slice, later);
            }
        }
    );
}

void Reduction::slice_arrived(std::uint32_t slice, node::Turn turn) {
    arrived_.insert(slice);
    if (arrived_.size() == group_.size()) {
        stuck_at_ = swarm::kNever;
        summarise(turn);
    }
}

void Reduction::summarise(node::Turn turn) {
    context_.device.submit_for<StageWorker::ResultSummary>(
        turn,
        0,
        [worker = context_.worker](StageWorker::ResultSummary& summary) {
            summary = worker->summarise_result();
        },
        [this, mine = generation_](StageWorker::ResultSummary& summary, node::Turn later) {
            if (!is_current(mine)) {
                return;
            }
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

void Reduction::resend(PeerId peer, node::Turn turn) {
    const auto index = member_index(peer);
    if (!active_ || !sealed_) {
        return;
    }
    if (index && *index != own_) {
        send_scatter(*index, turn);
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
        if (i != own_ && (!added_.contains(peers_[i]) || !arrived_.contains(i))) {
            stuck.waits_for.push_back(group_[i]);
        }
    }
    context_.tell_coordinator(std::move(stuck), turn);
}

}  // namespace stages
