#include "sim/scenario/plan.hpp"

#include "sim/scenario/table_reader.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace sim {

namespace {

using swarm::Error;
using EntryKind = Planned::Kind;

/// Adds to each entry's time the end of the entry that it follows.
class Timeline {
 public:
    explicit Timeline(std::vector<PlanEntry>& entries) : entries_(entries) {}

    std::optional<Error> settle() {
        for (std::size_t i = 0; i < entries_.size(); ++i) {
            const PlanEntry& entry = entries_[i];
            if (!entry.name.empty() && !names_.emplace(entry.name, i).second) {
                return usage(entry.place, "plan.name \"" + entry.name + "\" is there twice");
            }
        }
        for (std::size_t i = 0; i < entries_.size(); ++i) {
            if (auto error = settle(i)) {
                return error;
            }
        }
        return std::nullopt;
    }

 private:
    /// Walks up the chain to an entry that is settled, then down again. There is no recursion,
    /// since chains may be long.
    std::optional<Error> settle(std::size_t first) {
        std::vector<std::size_t> chain;
        std::set<std::size_t> seen;
        for (std::size_t i = first; !settled_.contains(i);) {
            if (!seen.insert(i).second) {
                return circle(chain, i);
            }
            chain.push_back(i);
            if (entries_[i].after.empty()) {
                break;
            }
            const auto found = names_.find(entries_[i].after);
            if (found == names_.end()) {
                return usage(
                    entries_[i].place,
                    "plan.after \"" + entries_[i].after + "\" is the name of no entry"
                );
            }
            i = found->second;
        }
        for (; !chain.empty(); chain.pop_back()) {
            PlanEntry& entry = entries_[chain.back()];
            if (!entry.after.empty()) {
                const Planned& before = entries_[names_.at(entry.after)].planned;
                entry.planned.at =
                    std::min(entry.planned.at + before.at + before.length, 3 * kDurationMax);
            }
            settled_.insert(chain.back());
        }
        return std::nullopt;
    }

    [[nodiscard]] Error circle(const std::vector<std::size_t>& chain, std::size_t again) const {
        constexpr std::size_t kNamesMax = 6;
        auto link = std::find(chain.begin(), chain.end(), again);
        const std::string place = entries_[again].place;
        std::string text = "plan is circular: \"" + entries_[again].name + "\"";
        for (std::size_t shown = 0; link != chain.end() && shown < kNamesMax; ++link, ++shown) {
            text += " begins after \"" + entries_[*link].after + "\"";
            text += link + 1 == chain.end() ? "" : ", which";
        }
        return usage(place, text + (link == chain.end() ? "" : " and so on"));
    }

    std::vector<PlanEntry>& entries_;
    std::map<std::string, std::size_t> names_;
    std::set<std::size_t> settled_;
};

/// Walks a plan in order of time and knows which peers are there and which faults last.
class Rehearsal {
 public:
    std::optional<Error> play(const std::vector<const PlanEntry*>& entries) {
        for (const PlanEntry* entry : entries) {
            const Planned& planned = entry->planned;
            if (moves(planned.kind)) {
                there_.emplace(planned.peer, Presence{planned.kind != EntryKind::Join, {}});
            }
        }
        for (const PlanEntry* entry : entries) {
            const std::string fault = play(*entry);
            if (!fault.empty()) {
                return usage(entry->place, "plan contradicts itself: " + fault);
            }
        }
        return std::nullopt;
    }

 private:
    struct Presence {
        bool there = true;
        std::string since;  // place of the entry; empty: from the start
    };

    struct Lasting {
        Duration end{};
        std::string place;
    };

    static bool moves(EntryKind kind) {
        return kind == EntryKind::Join || kind == EntryKind::Leave || kind == EntryKind::Crash;
    }

    std::string play(const PlanEntry& entry) {
        const Planned& planned = entry.planned;
        Presence& presence = there_[planned.peer];
        const bool must_be_there = planned.kind != EntryKind::Join;
        if (presence.there != must_be_there) {
            const std::string since =
                presence.since.empty() ? "from the start" : "since " + presence.since;
            return subject(planned) + ", but it is " + (presence.there ? "" : "not ") + "there " +
                   since;
        }
        if (moves(planned.kind)) {
            presence = {planned.kind == EntryKind::Join, entry.place};
            lasting_.erase({EntryKind::Freeze, planned.peer, 0});  // a freeze ends with the process
            return "";
        }
        Lasting& lasting = lasting_[{planned.kind, planned.peer, planned.to}];
        if (planned.at < lasting.end) {
            return subject(planned) + ", but that of " + lasting.place + " lasts until " +
                   seconds_text(lasting.end);
        }
        lasting = {planned.at + planned.length, entry.place};
        return "";
    }

    static std::string subject(const Planned& planned) {
        return std::string(name_of(planned.kind)) + " of peer " + std::to_string(planned.peer) +
               " at " + seconds_text(planned.at);
    }

    std::map<std::uint32_t, Presence> there_;
    std::map<std::tuple<EntryKind, std::uint32_t, std::uint32_t>, Lasting> lasting_;
};

}  // namespace

const char* name_of(EntryKind kind) {
    switch (kind) {
        case EntryKind::Join:
            return "join";
        case EntryKind::Leave:
            return "leave";
        case EntryKind::Crash:
            return "crash";
        case EntryKind::Freeze:
            return "freeze";
        case EntryKind::SlowDown:
            return "slow_down";
        case EntryKind::Partition:
            return "partition";
        case EntryKind::CutLinks:
            return "cut_links";
    }
    return "";
}

bool lasts(EntryKind kind) {
    return kind == EntryKind::Freeze || kind == EntryKind::SlowDown ||
           kind == EntryKind::Partition || kind == EntryKind::CutLinks;
}

swarm::Result<std::vector<Planned>> settle_plan(std::vector<PlanEntry> entries, Duration end) {
    if (auto error = Timeline(entries).settle()) {
        return *error;
    }
    std::vector<const PlanEntry*> in_order;
    for (const PlanEntry& entry : entries) {
        if (entry.planned.at >= end) {
            return usage(
                entry.place,
                "plan.at is " + seconds_text(entry.planned.at) + ", must be before " +
                    seconds_text(end) + ", where the calm begins or the run ends"
            );
        }
        in_order.push_back(&entry);
    }
    std::stable_sort(in_order.begin(), in_order.end(), [](const PlanEntry* a, const PlanEntry* b) {
        return a->planned.at < b->planned.at;
    });
    if (auto error = Rehearsal().play(in_order)) {
        return *error;
    }
    std::vector<Planned> plan;
    for (const PlanEntry* entry : in_order) {
        plan.push_back(entry->planned);
    }
    return plan;
}

}  // namespace sim
