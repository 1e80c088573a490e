#include "swarm/coordinator/step_ledger.hpp"

#include "swarm/base/check.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace swarm::coordinator {
namespace {

bool contains(const std::vector<SlotId>& slots, SlotId slot) {
    return std::find(slots.begin(), slots.end(), slot) != slots.end();
}

MicrobatchId id_at(std::size_t index) {
    return MicrobatchId{static_cast<std::uint32_t>(index)};
}

}  // namespace

StepLedger::StepLedger(std::uint32_t stages, StageMask training, std::uint32_t microbatches)
    : stages_(stages), training_(training), rows_(microbatches) {
    for (Row& row : rows_) {
        row.mask = training;
        row.owners.resize(stages);
    }
    unpathed_ = rows_.size();
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        index(id_at(i));
    }
}

void StepLedger::index(MicrobatchId id) {
    Row& row = rows_[id.value];
    launches_.erase(id);
    replays_.erase(id);
    awaited_.erase({row.awaited_since, id});
    if (need_.contains(id)) {
        return;
    }
    if (!row.launched) {
        (row.tried ? replays_ : launches_).insert(id);
    } else if (!row.pathed) {
        row.awaited_since = row.launched_at;
        awaited_.insert({row.awaited_since, id});
    }
}

void StepLedger::mark_pathed(Row& row) {
    if (!row.pathed) {
        row.pathed = true;
        --unpathed_;
    }
}

void StepLedger::mark_unpathed(Row& row) {
    if (row.pathed) {
        row.pathed = false;
        ++unpathed_;
    }
}

std::optional<StepLedger::Launch> StepLedger::next_launch(std::size_t replays_max) const {
    if (!replays_.empty() && replays_in_flight_ < replays_max) {
        const MicrobatchId id = *replays_.begin();
        return Launch{id, rows_[id.value].mask, true};
    }
    if (!launches_.empty()) {
        const MicrobatchId id = *launches_.begin();
        return Launch{id, rows_[id.value].mask, false};
    }
    return std::nullopt;
}

void StepLedger::launched(MicrobatchId id, Attempt attempt, TimePoint now) {
    Row& row = rows_[id.value];
    SWARM_ASSERT(!row.launched && !row.mask.empty());
    row.attempt = attempt;
    row.launched = true;
    mark_unpathed(row);
    row.in_flight = true;
    row.launched_at = now;
    row.first_hop = {};
    row.path.clear();
    ++in_flight_;
    if (row.tried) {
        ++replays_in_flight_;
        ++replayed_;
    }
    index(id);
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
    mark_pathed(row);
    index(id);
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
        recall(id);
    }
}

void StepLedger::need_all() {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        recall(id_at(i));
    }
}

void StepLedger::recall(MicrobatchId id) {
    need_.insert(id);
    index(id);
}

void StepLedger::need_after_fence(SlotId slot) {
    disclaim(slot);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        const Row& row = rows_[i];
        const bool owned = contains(row.owners, slot);
        const bool offered = row.launched && !row.pathed && row.first_hop == slot;
        const bool under_way = row.in_flight && contains(row.path, slot);
        if (owned || offered || under_way) {
            recall(id_at(i));
        }
    }
}

std::optional<SlotId> StepLedger::tail_of(MicrobatchId id) const {
    const bool known = id.value < rows_.size() && !rows_[id.value].path.empty();
    return known ? std::optional(rows_[id.value].path.back()) : std::nullopt;
}

std::vector<MicrobatchId> StepLedger::begin_recall(Epoch epoch) {
    recalled_.assign(need_.begin(), need_.end());
    need_.clear();
    for (const MicrobatchId id : recalled_) {
        Row& row = rows_[id.value];
        leave_flight(row);
        row.tried = row.tried || row.launched;
        row.launched = false;
        mark_unpathed(row);
        row.attempt = epoch;
        row.path.clear();
        row.before = std::exchange(row.owners, std::vector<SlotId>(stages_));
        row.claims.clear();
        index(id);
    }
    return recalled_;
}

void StepLedger::held(SlotId slot, StageIndex stage, const protocol::Held& held) {
    for (std::size_t i = 0; i < held.ids.size(); ++i) {
        const MicrobatchId id = held.ids[i];
        if (!std::binary_search(recalled_.begin(), recalled_.end(), id)) {
            continue;  // nobody asked for this microbatch
        }
        std::vector<Claim>& claims = rows_[id.value].claims;
        if (std::ranges::find(claims, slot, &Claim::slot) == claims.end()) {
            const bool is_tail = stage.value + 1 == stages_ && i < held.losses.size();
            claims.push_back({stage, slot, is_tail ? std::optional(held.losses[i]) : std::nullopt});
        }
    }
}

std::optional<SlotId> StepLedger::contradicted() const {
    std::map<SlotId, std::uint32_t> doubts;
    std::vector<std::uint32_t> claims(stages_);  // claims to one microbatch, by stage
    for (const MicrobatchId id : recalled_) {
        const Row& row = rows_[id.value];
        std::ranges::fill(claims, 0U);
        for (const Claim& claim : row.claims) {
            ++claims[claim.stage.value];
        }
        for (const Claim& claim : row.claims) {
            const bool was_there = row.before[claim.stage.value] == claim.slot;
            doubts[claim.slot] += claims[claim.stage.value] == 1 ? 0 : was_there ? 1 : 2;
        }
    }
    const auto most = std::ranges::max_element(doubts, [](const auto& one, const auto& other) {
        return std::tie(one.second, one.first) < std::tie(other.second, other.first);
    });
    return most == doubts.end() || most->second == 0 ? std::nullopt : std::optional(most->first);
}

bool StepLedger::is_claimed(MicrobatchId id, SlotId by) const {
    const std::vector<Claim>& claims = rows_[id.value].claims;
    return std::ranges::find(claims, by, &Claim::slot) != claims.end();
}

void StepLedger::disclaim(SlotId slot) {
    for (const MicrobatchId id : recalled_) {
        std::erase_if(rows_[id.value].claims, [&](const Claim& claim) {
            return claim.slot == slot;
        });
    }
}

void StepLedger::end_recall() {
    for (const MicrobatchId id : recalled_) {
        Row& row = rows_[id.value];
        for (const Claim& claim : std::exchange(row.claims, {})) {
            row.owners[claim.stage.value] = claim.slot;
            row.loss = claim.loss.value_or(row.loss);
        }
        row.mask = {};
        for (std::uint32_t stage = 0; stage < stages_; ++stage) {
            if (training_.has({stage}) && row.owners[stage] == SlotId{}) {
                row.mask.add({stage});
            }
        }
        if (row.mask.empty()) {  // every stage holds it, so no launch is needed
            row.launched = true;
            mark_pathed(row);
            index(id);
        }
    }
    recalled_.clear();
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

std::set<SlotId> StepLedger::next_on_paths(SlotId from, StageIndex stage) const {
    std::set<SlotId> slots;
    for (const Row& row : rows_) {
        const std::size_t above = stage.value + std::size_t{1};
        if (above < row.path.size() && row.path[stage.value] == from) {
            slots.insert(row.path[above]);
        }
    }
    return slots;
}

std::vector<MicrobatchId> StepLedger::launched_before(TimePoint limit) const {
    std::vector<MicrobatchId> ids;
    for (auto it = awaited_.begin(); it != awaited_.end() && it->first <= limit; ++it) {
        ids.push_back(it->second);
    }
    std::sort(ids.begin(), ids.end());
    return ids;
}

double StepLedger::mean_loss() const {
    double sum = 0;
    for (const Row& row : rows_) {  // in id order, so the sum does not depend on the schedule
        sum += row.loss;
    }
    return sum / static_cast<double>(rows_.size());
}

}  // namespace swarm::coordinator
