#include "swarm/protocol/slot_table.hpp"

#include "swarm/base/check.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace swarm::protocol {

struct SlotTable::Index {
    using Slots = std::vector<SlotInfo>;

    explicit Index(Slots given) : slots(std::move(given)) {
        const auto by_slot = [](const SlotInfo& a, const SlotInfo& b) { return a.slot < b.slot; };
        std::stable_sort(slots.begin(), slots.end(), by_slot);
        // The last of the entries with the same slot stays. unique() keeps the first of equal
        // entries, so it walks the table from its end.
        const auto same = [](const SlotInfo& a, const SlotInfo& b) { return a.slot == b.slot; };
        const auto kept = std::unique(slots.rbegin(), slots.rend(), same);
        slots.erase(slots.begin(), kept.base());
        for (const SlotInfo& info : slots) {
            ids.push_back(info.slot);
            by_peer.emplace_back(info.peer, info.slot);
            count(info);
        }
        std::sort(by_peer.begin(), by_peer.end());
    }

    Slots::iterator at(SlotId slot) {
        return slots.begin() + (std::ranges::lower_bound(ids, slot) - ids.begin());
    }

    void count(const SlotInfo& info) {
        std::vector<SlotId>& stage = by_stage[info.stage];
        stage.insert(std::ranges::lower_bound(stage, info.slot), info.slot);
        observers += info.standing == Standing::Observer ? 1U : 0U;
    }

    Slots slots;
    std::vector<SlotId> ids;                         // slots; a look-up reads only these
    std::vector<std::pair<PeerId, SlotId>> by_peer;  // sorted
    std::map<StageIndex, std::vector<SlotId>> by_stage;
    std::size_t observers = 0;
};

SlotTable::SlotTable() : SlotTable(std::vector<SlotInfo>()) {}

SlotTable::SlotTable(std::vector<SlotInfo> slots)
    : index_(std::make_shared<Index>(std::move(slots))) {}

SlotTable::Index& SlotTable::own() {
    if (index_.use_count() != 1) {
        index_ = std::make_shared<Index>(*index_);
    }
    return *index_;
}

std::vector<SlotInfo>::const_iterator SlotTable::begin() const {
    return index_->slots.begin();
}

std::vector<SlotInfo>::const_iterator SlotTable::end() const {
    return index_->slots.end();
}

std::size_t SlotTable::size() const {
    return index_->slots.size();
}

const SlotInfo* SlotTable::find(SlotId slot) const {
    const auto found = index_->at(slot);
    return found != index_->slots.end() && found->slot == slot ? &*found : nullptr;
}

const SlotInfo* SlotTable::find_peer(PeerId peer) const {
    // Finds the last slot of the peer: it stands before the place where the next peer's begin.
    const auto after = std::upper_bound(
        index_->by_peer.begin(),
        index_->by_peer.end(),
        peer,
        [](PeerId wanted, const auto& entry) { return wanted < entry.first; }
    );
    if (after == index_->by_peer.begin() || std::prev(after)->first != peer) {
        return nullptr;
    }
    return find(std::prev(after)->second);
}

std::span<const SlotId> SlotTable::of_stage(StageIndex stage) const {
    const auto found = index_->by_stage.find(stage);
    return found == index_->by_stage.end() ? std::span<const SlotId>() : found->second;
}

std::size_t SlotTable::observers() const {
    return index_->observers;
}

void SlotTable::add(SlotInfo info) {
    SWARM_ASSERT(!find(info.slot) && !find_peer(info.peer));
    Index& index = own();
    const std::pair entry{info.peer, info.slot};
    index.by_peer.insert(std::ranges::lower_bound(index.by_peer, entry), entry);
    index.count(info);
    const auto place = index.at(info.slot);
    index.ids.insert(index.ids.begin() + (place - index.slots.begin()), info.slot);
    index.slots.insert(place, std::move(info));
}

void SlotTable::remove(SlotId slot) {
    Index& index = own();
    const auto found = index.at(slot);
    SWARM_ASSERT(found != index.slots.end() && found->slot == slot);
    std::erase(index.by_peer, std::pair{found->peer, slot});
    std::erase(index.by_stage.at(found->stage), slot);
    index.observers -= found->standing == Standing::Observer ? 1U : 0U;
    index.ids.erase(index.ids.begin() + (found - index.slots.begin()));
    index.slots.erase(found);
}

void SlotTable::set_standing(SlotId slot, Standing standing) {
    Index& index = own();
    const auto found = index.at(slot);
    SWARM_ASSERT(found != index.slots.end() && found->slot == slot);
    index.observers -= found->standing == Standing::Observer ? 1U : 0U;
    index.observers += standing == Standing::Observer ? 1U : 0U;
    found->standing = standing;
}

bool operator==(const SlotTable& left, const SlotTable& right) {
    return left.index_ == right.index_ || left.index_->slots == right.index_->slots;
}

}  // namespace swarm::protocol
