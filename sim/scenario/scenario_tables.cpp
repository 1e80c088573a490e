#include "sim/scenario/scenario_tables.hpp"

#include "router/policy.hpp"
#include "router/rebalancer.hpp"
#include "sim/pipe.hpp"
#include "sim/scenario/distribution.hpp"
#include "sim/scenario/plan.hpp"
#include "swarm/protocol/limits.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace sim {

namespace {

using EntryKind = Planned::Kind;

constexpr std::uint64_t kStepsMax = 1'000'000'000;
// Most bytes of a state, so that no frame of an exact run is too large for a Pipe.
constexpr std::uint64_t kStateBytesMax = 15'000'000'000;
static_assert(kStateBytesMax + swarm::protocol::kTensorBytesMax <= Pipe::kFrameBytesMax);
constexpr std::uint64_t kSyncEveryMax = 1000;
constexpr std::uint64_t kMemoryBytesMax = 1ULL << 50;
constexpr std::size_t kRegionsMax = 64;
constexpr std::size_t kGroupsMax = 256;
constexpr Duration kLatencyMax = std::chrono::minutes(1);
constexpr Duration kArrivalGapMax = std::chrono::minutes(1);
// The least speed: a work unit takes 1,000 s, by the device or by a slow-down, which is as good as
// standing still.
constexpr double kSpeedMin = 1e-3;
constexpr double kPerHourMax = 1e9;
constexpr double kSecondsMax = 366.0 * 24 * 3600;

std::string names_text(const Regions& regions) {
    std::string list;
    for (const std::string& name : regions.names) {
        list += (list.empty() ? "" : ", ") + name;
    }
    return list;
}

/// Returns the region's place among the names; none, and a fault, when the name is no region.
std::optional<std::size_t> region_at(
    const Regions& regions, std::string_view name, const toml::node& node, TableReader& reader
) {
    const auto found = std::find(regions.names.begin(), regions.names.end(), name);
    if (found != regions.names.end()) {
        return static_cast<std::size_t>(found - regions.names.begin());
    }
    reader.refuse_at(
        node,
        "latency",
        "names \"" + std::string(name) + "\", unknown; the regions are " + names_text(regions)
    );
    return std::nullopt;
}

void read_region_names(TableReader& reader, Regions& regions) {
    const toml::node* node = reader.find("names");
    if (node == nullptr) {
        return;
    }
    regions.names.clear();
    if (const toml::array* array = node->as_array()) {
        for (const toml::node& element : *array) {
            const std::string name = element.value_exact<std::string>().value_or("");
            const bool repeated =
                std::find(regions.names.begin(), regions.names.end(), name) != regions.names.end();
            regions.names.push_back(repeated ? "" : name);
        }
    }
    const bool named =
        std::find(regions.names.begin(), regions.names.end(), "") == regions.names.end();
    if (regions.names.empty() || regions.names.size() > kRegionsMax || !named) {
        reader.refuse("names", "must be a list of 1 to 64 different names");
        regions.names = {"everywhere"};
    }
}

/// Reads { eu = { eu = "2ms", us = "45ms" } }: from, to; the way back is as long unless it is
/// given.
void read_latencies(const toml::table& from_table, Document& document, Regions& regions) {
    constexpr Duration kAbsent{-1};
    TableReader outer(from_table, "regions", document);
    const std::size_t count = regions.names.size();
    std::vector<std::vector<Duration>> given(count, std::vector<Duration>(count, kAbsent));
    for (const auto& [from_name, row] : from_table) {
        const auto from = region_at(regions, from_name.str(), row, outer);
        if (!from || !row.is_table()) {
            outer.refuse_at(row, "latency", "must be { from = { to = \"45ms\" } }");
            return;
        }
        TableReader reader(
            *row.as_table(), "regions.latency." + std::string(from_name.str()), document
        );
        for (const auto& [to_name, value] : *row.as_table()) {
            if (const auto to = region_at(regions, to_name.str(), value, outer)) {
                const std::string key(to_name.str());
                reader.read(key.c_str(), given[*from][*to], Duration{}, kLatencyMax);
            }
        }
    }
    for (std::size_t from = 0; from < count; ++from) {
        for (std::size_t to = 0; to < count; ++to) {
            const Duration there = given[from][to];
            regions.latency[from][to] = there == kAbsent ? given[to][from] : there;
            if (regions.latency[from][to] == kAbsent) {
                outer.refuse_at(
                    from_table,
                    "latency",
                    "does not say how far it is from " + regions.names[from] + " to " +
                        regions.names[to]
                );
            }
        }
    }
}

void read_sync(TableReader& reader, Pipeline& pipeline) {
    using swarm::run::SyncMode;
    std::string name(swarm::run::to_text(pipeline.mode));
    reader.read("mode", name);
    const auto mode = swarm::run::find_choice<SyncMode>(name);
    if (!mode) {
        reader.refuse("mode", "must be " + swarm::run::choice_names<SyncMode>());
        return;
    }
    pipeline.mode = *mode;
    reader.read("reductions", pipeline.reductions);
    reader.read("sync_every", pipeline.sync_every, 0, kSyncEveryMax);
    if (!pipeline.is_sparse() && pipeline.sync_every > 0) {
        reader.refuse("sync_every", "must be left out where pipeline.mode is exact");
    }
}

void read_group(
    const toml::table& table, Document& document, const Regions& regions, PeerGroup& group
) {
    TableReader reader(table, "peers", document);
    reader.read("name", group.name);
    if (group.name.empty()) {
        reader.refuse("name", "must not be empty");
    }
    reader.read("count", group.count, 1, kPeersMax);
    reader.read("region", group.region);
    if (!group.region.empty() &&
        std::find(regions.names.begin(), regions.names.end(), group.region) ==
            regions.names.end()) {
        reader.refuse(
            "region", "\"" + group.region + "\" is unknown; the regions are " + names_text(regions)
        );
    }
    reader.read("units_per_s", group.units_per_s, kSpeedMin, kDrawMax);
    reader.read("up_bytes_per_s", group.up_bytes_per_s, 0, kDrawMax);
    reader.read("down_bytes_per_s", group.down_bytes_per_s, 0, kDrawMax);
    reader.read("memory_bytes", group.memory_bytes, 0, kMemoryBytesMax);
    reader.read("clock_offset_s", group.clock_offset_s, -kSecondsMax, kSecondsMax);
    reader.read("clock_drift_ppm", group.clock_drift_ppm, -1e5, 1e5);
    reader.finish();
}

void read_fault(TableReader& faults, const char* key, Document& document, Faults::Kind& kind) {
    const toml::table* table = faults.find_table(key);
    if (table == nullptr) {
        return;
    }
    TableReader reader(*table, std::string("faults.") + key, document);
    reader.read("per_hour", kind.per_hour, 0, kPerHourMax);
    reader.read("length_s", kind.length_s, 0, kSecondsMax);
    if (!reader.has("length_s")) {
        reader.refuse("length_s", "is missing: how long one lasts, in seconds");
    }
    reader.finish();
}

PlanEntry read_plan_entry(const toml::table& table, Document& document, std::uint32_t peers) {
    PlanEntry entry;
    entry.place = document.place_of(table);
    Planned& planned = entry.planned;
    TableReader reader(table, "plan", document);
    reader.read("name", entry.name);
    reader.read("after", entry.after);
    reader.read("at", planned.at, Duration{}, kDurationMax);
    reader.read(
        "kind",
        planned.kind,
        {{"join", EntryKind::Join},
         {"leave", EntryKind::Leave},
         {"crash", EntryKind::Crash},
         {"freeze", EntryKind::Freeze},
         {"slow_down", EntryKind::SlowDown},
         {"partition", EntryKind::Partition},
         {"cut_links", EntryKind::CutLinks}}
    );
    reader.read("peer", planned.peer, 1, peers);
    reader.read("to", planned.to, 1, peers);
    reader.read("length", planned.length, std::chrono::milliseconds(1), kDurationMax);
    reader.read("factor", planned.factor, kSpeedMin, 1);
    reader.finish();
    const EntryKind kind = planned.kind;
    const auto must = [&](const char* key, bool wanted, bool allowed) {
        if (reader.has(key) ? !allowed : wanted) {
            const char* what = wanted ? " is missing" : " makes no sense";
            reader.refuse(key, std::string(what + 1) + " for a " + name_of(kind));
        }
    };
    must("kind", true, true);
    must("at", entry.after.empty(), true);
    must("peer", true, true);
    must(
        "to",
        kind == EntryKind::Partition,
        kind == EntryKind::Partition || kind == EntryKind::CutLinks
    );
    must("length", lasts(kind), lasts(kind));
    must("factor", kind == EntryKind::SlowDown, kind == EntryKind::SlowDown);
    if (planned.to == planned.peer && planned.to != 0) {
        reader.refuse("to", "must be another peer than plan.peer");
    }
    return entry;
}

}  // namespace

void read_pipeline(const toml::table* table, Document& document, Pipeline& pipeline) {
    if (table == nullptr) {
        return;
    }
    TableReader reader(*table, "pipeline", document);
    reader.read("stages", pipeline.stages, 1, swarm::protocol::kStagesMax);
    reader.read("microbatches", pipeline.microbatches, 1, swarm::protocol::kMicrobatchesMax);
    reader.read("in_flight", pipeline.in_flight, 0, swarm::protocol::kMicrobatchesMax);
    reader.read("min_peers", pipeline.min_peers, 0, kPeersMax);
    reader.read("arrival_gap", pipeline.arrival_gap, Duration{}, kArrivalGapMax);
    reader.read("steps", pipeline.steps, 0, kStepsMax);
    reader.read("work_units", pipeline.work_units, 1e-6, 1e12);
    reader.read("activation_bytes", pipeline.activation_bytes, 0, swarm::protocol::kTensorBytesMax);
    reader.read("state_bytes", pipeline.state_bytes, 0, kStateBytesMax);
    read_sync(reader, pipeline);
    reader.read("policy", pipeline.policy);
    if (router::make_policy(pipeline.policy, 0) == nullptr) {
        reader.refuse("policy", "must be one of " + router::policy_names());
    }
    reader.read("rebalancer", pipeline.rebalancer);
    if (router::make_rebalancer(pipeline.rebalancer) == nullptr) {
        reader.refuse("rebalancer", "must be one of " + router::rebalancer_names());
    }
    reader.read("rebalance_every", pipeline.rebalance_every, std::chrono::seconds(1), kDurationMax);
    if (pipeline.rebalance_every % std::chrono::seconds(1) != Duration{}) {
        reader.refuse("rebalance_every", "must be whole seconds");
    }
    reader.finish();
}

void read_regions(const toml::table* table, Document& document, Regions& regions) {
    if (table == nullptr) {
        return;
    }
    TableReader reader(*table, "regions", document);
    read_region_names(reader, regions);
    const std::size_t count = regions.names.size();
    Duration everywhere = kLatencyDefault;
    const toml::node* latency = reader.find("latency");
    const bool is_table = latency != nullptr && latency->is_table();
    if (latency != nullptr && !is_table) {
        reader.read("latency", everywhere, Duration{}, kLatencyMax);
    }
    regions.latency.assign(count, std::vector<Duration>(count, everywhere));
    if (is_table) {
        read_latencies(*latency->as_table(), document, regions);
    } else if (latency == nullptr && count > 1) {
        reader.refuse("names", "are several, so regions.latency must say how far apart they are");
    }
    reader.read("jitter", regions.jitter, 0, 10);
    reader.finish();
}

void read_groups(
    const std::vector<const toml::table*>& tables, Document& document, Scenario& scenario
) {
    scenario.groups.clear();
    for (const toml::table* table : tables) {
        PeerGroup& group = scenario.groups.emplace_back();
        read_group(*table, document, scenario.regions, group);
        const bool repeated = std::any_of(
            scenario.groups.begin(),
            scenario.groups.end() - 1,
            [&](const PeerGroup& other) { return other.name == group.name; }
        );
        if (repeated || scenario.groups.size() > kGroupsMax) {
            document.refuse(
                document.place_of(*table),
                "peers.name must differ from group to group, and there are 256 groups at most"
            );
            return;
        }
    }
}

void read_churn(const toml::table* table, Document& document, Churn& churn) {
    if (table == nullptr) {
        return;
    }
    TableReader reader(*table, "churn", document);
    reader.read("mtbf", churn.mtbf, Duration{}, kDurationMax);
    reader.read("crash_share", churn.crash_share, 0, 1);
    reader.read("absence_mean", churn.absence_mean, Duration{}, kDurationMax);
    reader.read("arrivals_per_hour", churn.arrivals_per_hour, 0, kPerHourMax);
    reader.read("spares_last", churn.spares_last);
    reader.read("trace", churn.trace);
    reader.finish();
}

void read_faults(const toml::table* table, Document& document, Faults& faults) {
    if (table == nullptr) {
        return;
    }
    TableReader reader(*table, "faults", document);
    read_fault(reader, "freeze", document, faults.freeze);
    read_fault(reader, "partition", document, faults.partition);
    read_fault(reader, "slow_down", document, faults.slow_down);
    reader.read("slow_down_factor", faults.slow_down_factor, kSpeedMin, 1);
    read_fault(reader, "cut_links", document, faults.cut_links);
    reader.read("frame_loss", faults.frame_loss, 0, 1);
    reader.read("job_stall", faults.job_stall, 0, 1);
    reader.read("job_stall_s", faults.job_stall_s, 0, kSecondsMax);
    reader.finish();
}

void read_plan(
    const std::vector<const toml::table*>& tables, Document& document, Scenario& scenario
) {
    if (tables.size() > kPlanMax) {
        document.refuse(document.file, "has more than 10000 [[plan]] entries; use churn.trace");
        return;
    }
    std::vector<PlanEntry> entries;
    for (const toml::table* table : tables) {
        entries.push_back(read_plan_entry(*table, document, peers_of(scenario)));
    }
    if (document.error) {
        return;  // an entry that could not be read has no time
    }
    auto plan = settle_plan(std::move(entries), scenario.duration - scenario.calm);
    if (plan.has_error()) {
        document.error = plan.error();
    } else {
        scenario.plan = std::move(*plan);
    }
}

}  // namespace sim
