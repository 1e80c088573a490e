#include "sim/scenario/scenario.hpp"

#include "sim/scenario/scenario_tables.hpp"
#include "sim/scenario/settings.hpp"
#include "sim/scenario/table_reader.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <utility>

namespace sim {

namespace {

using swarm::Result;

constexpr std::uint64_t kSeedMax = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kScenarioBytesMax = 1U << 20;

/// Returns the first line when it is a comment, without its mark and a leading "Question:".
std::string question_of(std::string_view toml) {
    std::string_view line = toml.substr(0, toml.find('\n'));
    if (!line.starts_with('#')) {
        return "";
    }
    line.remove_prefix(std::min(line.find_first_not_of("# "), line.size()));
    constexpr std::string_view kLabel = "Question: ";
    line.remove_prefix(line.starts_with(kLabel) ? kLabel.size() : 0);
    return std::string(line);
}

/// Shares `total` out in proportion to the counts before; the groups that lose most by rounding
/// down get one more. No group goes empty: the largest group gives it one. REQUIRES: total >=
/// groups.
void scale_groups(std::vector<PeerGroup>& groups, std::uint64_t total) {
    std::uint64_t before = 0;
    for (const PeerGroup& group : groups) {
        before += group.count;
    }
    std::uint64_t left = total;
    std::vector<std::pair<std::uint64_t, PeerGroup*>> remainders;
    for (PeerGroup& group : groups) {
        const std::uint64_t share = group.count * total;
        group.count = static_cast<std::uint32_t>(share / before);
        left -= group.count;
        remainders.emplace_back(share % before, &group);
    }
    std::stable_sort(remainders.begin(), remainders.end(), [](const auto& a, const auto& b) {
        return a.first > b.first;
    });
    for (std::size_t i = 0; i < left; ++i) {
        ++remainders[i].second->count;
    }
    const auto by_count = [](const auto& a, const auto& b) { return a.count < b.count; };
    for (PeerGroup& group : groups) {
        if (group.count == 0) {
            --std::max_element(groups.begin(), groups.end(), by_count)->count;
            group.count = 1;
        }
    }
}

/// Checks the rules that hold between tables.
void check_whole(TableReader& top, Document& document, const Scenario& scenario) {
    std::uint64_t peers = 0;  // no uint32: 256 groups of 16,384 and more
    for (const PeerGroup& group : scenario.groups) {
        peers += group.count;
    }
    if (peers > kPeersMax) {
        top.refuse(
            "peers",
            "are " + std::to_string(peers) + ", must be at most " + std::to_string(kPeersMax)
        );
    }
    if (peers < scenario.pipeline.stages) {
        document.refuse(
            top.place_of("pipeline"),
            "pipeline.stages is " + std::to_string(scenario.pipeline.stages) +
                ", must be at most the number of peers (" + std::to_string(peers) +
                "): each stage needs one"
        );
    }
    const Faults& faults = scenario.faults;
    if (peers < 2 && (faults.partition.per_hour > 0 || faults.cut_links.per_hour > 0)) {
        top.refuse("faults", "between peers need two of them");
    }
    if (scenario.calm >= scenario.duration) {
        top.refuse("calm", "must be shorter than duration");
    }
}

Scenario read_document(
    const toml::table& root, const std::optional<PeersSetting>& peers, Document& document
) {
    Scenario scenario;
    TableReader top(root, "", document);
    top.read("mode", scenario.mode, {{"exact", Mode::Exact}, {"fluid", Mode::Fluid}});
    top.read("seed", scenario.seed, 0, kSeedMax);
    top.read("duration", scenario.duration, std::chrono::seconds(1), kDurationMax);
    top.read("calm", scenario.calm, Duration{}, kDurationMax);
    read_pipeline(top.find_table("pipeline"), document, scenario.pipeline);
    read_regions(top.find_table("regions"), document, scenario.regions);
    read_groups(top.find_tables("peers"), document, scenario);
    read_churn(top.find_table("churn"), document, scenario.churn);
    read_faults(top.find_table("faults"), document, scenario.faults);
    const auto plan = top.find_tables("plan");
    top.finish();
    if (scenario.groups.empty()) {
        document.refuse(document.file, "has no peers: add [[peers]] with count = 8 and so on");
    }
    if (peers && !document.error) {
        if (peers->total < scenario.groups.size()) {
            document.refuse(peers->place, "peers must be at least one for each [[peers]] group");
        }
        scale_groups(scenario.groups, peers->total);
    }
    if (!document.error) {
        check_whole(top, document, scenario);
    }
    if (!document.error) {
        read_plan(plan, document, scenario);
    }
    return scenario;
}

/// Reads a whole file, or up to one byte more than is allowed.
Result<std::string> read_text(const std::string& path) {
    std::error_code failure;
    if (!std::filesystem::is_regular_file(path, failure)) {
        return usage(path, "is not a file that can be read");
    }
    std::ifstream in(path, std::ios::binary);
    std::string text(kScenarioBytesMax + 1, '\0');
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (in.bad() || (in.fail() && !in.eof())) {
        return usage(path, "cannot be read");
    }
    text.resize(static_cast<std::size_t>(in.gcount()));
    return text;
}

}  // namespace

Result<Scenario> parse_scenario(
    std::string_view toml, std::string_view file, const Settings& settings
) {
    Document document{std::string(file), {}};
    if (toml.size() > kScenarioBytesMax) {
        return usage(document.file, "is larger than 1 MiB");
    }
    toml::table root;
    try {
        root = toml::parse(toml, file);
    } catch (const toml::parse_error& error) {
        const std::string line = std::to_string(error.source().begin.line);
        return usage(document.file + ":" + line, std::string(error.description()));
    }
    const auto peers = apply_settings(root, settings, document);
    Scenario scenario = read_document(root, peers, document);
    if (document.error) {
        return *document.error;
    }
    const std::filesystem::path path(file);
    scenario.name = path.stem().string();
    scenario.folder = path.parent_path().string();
    scenario.question = question_of(toml);
    return scenario;
}

Result<Scenario> load_scenario(const std::string& path, const Settings& settings) {
    const auto text = read_text(path);
    return text.has_error() ? Result<Scenario>(text.error())
                            : parse_scenario(*text, path, settings);
}

std::uint32_t peers_of(const Scenario& scenario) {
    std::uint32_t peers = 0;
    for (const PeerGroup& group : scenario.groups) {
        peers += group.count;
    }
    return peers;
}

}  // namespace sim
