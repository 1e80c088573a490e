#include "swarm/run/step_ledger.hpp"

#include "swarm/base/check.hpp"

#include <algorithm>

namespace swarm::run {
namespace {

bool contains(const std::vector<SlotId>& slots, SlotId slot) {
    return std::find(slots.begin(), slots.end(), slot) != slots.end();
}

MicrobatchId id_at(std::size_t index) {
    return MicrobatchId{static_cast<std::uint32_t>(index)};
}

}  // namespace

StepLedger::StepLedger(std::uint32_t stages, std::uint32_t microbatches)
    : stages_(stages), rows_(microbatches) {
    for (Row& row : rows_) {
        row.mask = StageMask::first(stages);
        row.owners.resize(stages);
    }
}

std::optional<StepLedger::Launch> StepLedger::next_launch(std::size_t replays_max) const {
    std::optional<Launch> fresh;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        const Row& row = rows_[i];
        if (row.launched || need_.contains(id_at(i))) {
            continue;
        }
        if (row.tried && replays_in_flight_ < replays_max) {
            return Launch{id_at(i), row.mask, true};
        }
        if (!row.tried && !fresh) {
            fresh = Launch{id_at(i), row.mask, false};
        }
    }
    return fresh;
}

void StepLedger::launched(MicrobatchId id, Attempt attempt, TimePoint now) {
    Row& row = rows_[id.value];
    SWARM_ASSERT(!row.launched && !row.mask.empty());
    row.attempt = attempt;
    row.launched = true;
    row.pathed = false;
    row.in_flight = true;
    row.launched_at = now;
    row.first_hop = {};
    row.path.clear();
    ++in_flight_;
    if (row.tried) {
        ++replays_in_flight_;
        ++replayed_;
    }
}

void StepLedger::offered(MicrobatchId id, SlotId first_hop) {
    rows_[id.value].first_hop = first_hop;
}

bool StepLedger::is_current(MicrobatchId id, Attempt attempt) const {
    return id.value < rows_.size() && rows_[id.value].launched &&
           rows_[id.value].attempt == attempt && !need_.contains(id);
}

Duration StepLedger::pathed(
    MicrobatchId id, const std::vector<SlotId>& path, double loss, TimePoint now
) {
    Row& row = rows_[id.value];
    row.pathed = true;
    row.loss = loss;
    row.path = path;
    for (std::uint32_t stage = 0; stage < stages_; ++stage) {
        if (row.mask.has({stage})) {
            row.owners[stage] = path[stage];
        }
    }
    return now - row.launched_at;
}

bool StepLedger::left_flight(MicrobatchId id) {
    Row& row = rows_[id.value];
    const bool flew = row.in_flight;
    leave_flight(row);
    return flew;
}

void StepLedger::leave_flight(Row& row) {
    if (row.in_flight) {
        row.in_flight = false;
        --in_flight_;
        replays_in_flight_ -= row.tried ? 1 : 0;
    }
}

void StepLedger::need(MicrobatchId id) {
    if (id.value < rows_.size() && rows_[id.value].launched) {
        need_.insert(id);
    }
}

void StepLedger::need_all() {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        need_.insert(id_at(i));
    }
}

void StepLedger::need_after_fence(SlotId slot) {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        const Row& row = rows_[i];
        const bool owned = contains(row.owners, slot);
        const bool offered = row.launched && !row.pathed && row.first_hop == slot;
        const bool under_way = row.in_flight && contains(row.path, slot);
        if (owned || offered || under_way) {
            need_.insert(id_at(i));
        }
    }
}

std::vector<MicrobatchId> StepLedger::begin_recall(Epoch epoch) {
    recalled_.assign(need_.begin(), need_.end());
    need_.clear();
    for (const MicrobatchId id : recalled_) {
        Row& row = rows_[id.value];
        leave_flight(row);
        row.tried = row.tried || row.launched;
        row.launched = false;
        row.pathed = false;
        row.attempt = epoch;
        row.path.clear();
        std::fill(row.owners.begin(), row.owners.end(), SlotId{});
    }
    return recalled_;
}

std::optional<SlotId> StepLedger::held(SlotId slot, StageIndex stage, const protocol::Held& held) {
    for (std::size_t i = 0; i < held.ids.size(); ++i) {
        const MicrobatchId id = held.ids[i];
        if (!std::binary_search(recalled_.begin(), recalled_.end(), id)) {
            continue;  // not asked for: says nothing
        }
        SlotId& owner = rows_[id.value].owners[stage.value];
        if (owner != SlotId{} && owner != slot) {
            return owner;
        }
        owner = slot;
        if (stage.value + 1 == stages_ && i < held.losses.size()) {
            rows_[id.value].loss = held.losses[i];
        }
    }
    return std::nullopt;
}

void StepLedger::end_recall() {
    for (const MicrobatchId id : recalled_) {
        Row& row = rows_[id.value];
        row.mask = {};
        for (std::uint32_t stage = 0; stage < stages_; ++stage) {
            if (row.owners[stage] == SlotId{}) {
                row.mask.add({stage});
            }
        }
        if (row.mask.empty()) {  // held everywhere: done without another launch
            row.launched = true;
            row.pathed = true;
        }
    }
    recalled_.clear();
}

bool StepLedger::all_pathed() const {
    return std::all_of(rows_.begin(), rows_.end(), [](const Row& row) { return row.pathed; });
}

std::vector<MicrobatchId> StepLedger::ids_of(SlotId slot, StageIndex stage) const {
    std::vector<MicrobatchId> ids;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        if (rows_[i].owners[stage.value] == slot) {
            ids.push_back(id_at(i));
        }
    }
    return ids;
}

bool StepLedger::awaits_path(std::size_t index) const {
    const Row& row = rows_[index];
    return row.launched && !row.pathed && !need_.contains(id_at(index));
}

TimePoint StepLedger::oldest_launch() const {
    TimePoint oldest = kNever;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        if (awaits_path(i)) {
            oldest = std::min(oldest, rows_[i].launched_at);
        }
    }
    return oldest;
}

std::vector<MicrobatchId> StepLedger::launched_before(TimePoint limit) const {
    std::vector<MicrobatchId> ids;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        if (awaits_path(i) && rows_[i].launched_at <= limit) {
            ids.push_back(id_at(i));
        }
    }
    return ids;
}

double StepLedger::mean_loss() const {
    double sum = 0;
    for (const Row& row : rows_) {  // in id order: the sum does not depend on the schedule
        sum += row.loss;
    }
    return sum / static_cast<double>(rows_.size());
}

}  // namespace swarm::run
