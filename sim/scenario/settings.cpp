#include "sim/scenario/settings.hpp"

#include <algorithm>
#include <charconv>

namespace sim {

namespace {

/// A table whose only key `v` holds the value, and whose nodes know the setting as their source.
std::optional<toml::table> parse_value(const std::string& value, const std::string& place) {
    // The text is tried raw first, then as a literal string, which only quotes and line ends break.
    for (const std::string& text : {"v = " + value, "v = '" + value + "'"}) {
        try {
            toml::table parsed = toml::parse(text, place);
            if (parsed.size() == 1) {
                return parsed;
            }
        } catch (const toml::parse_error&) {
            continue;
        }
    }
    return std::nullopt;
}

/// The name of an entry of this list that has no name of its own.
std::string default_name(const std::string& list) {
    return list == "peers" ? PeerGroup{}.name : "";
}

/// Returns the entry of a list of tables that has that name or number; null when there is none.
toml::table* entry_of(toml::array& entries, const std::string& list, const std::string& step) {
    for (toml::node& entry : entries) {
        toml::table* table = entry.as_table();
        if (table != nullptr && (*table)["name"].value_or(default_name(list)) == step) {
            return table;
        }
    }
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(step.data(), step.data() + step.size(), number);
    const bool whole = error == std::errc{} && end == step.data() + step.size();
    return whole && number >= 1 && number <= entries.size() ? entries[number - 1].as_table()
                                                            : nullptr;
}

/// Where the path's next step leads from the node of that name, made if it is not there; null where
/// no table can be.
toml::table* step_into(
    toml::node& from, const std::string& name, const std::string& step, const std::string& place
) {
    if (toml::array* array = from.as_array()) {
        return entry_of(*array, name, step);
    }
    toml::table* table = from.as_table();
    if (table == nullptr) {
        return nullptr;
    }
    toml::node* next = table->get(step);
    if (next == nullptr) {
        toml::table made = toml::parse("v = {}", place);
        return table->insert(step, std::move(*made["v"].as_table())).first->second.as_table();
    }
    return next->as_table();
}

std::vector<std::string> steps_of(const std::string& key) {
    std::vector<std::string> steps(1);
    for (const char c : key) {
        if (c == '.') {
            steps.emplace_back();
        } else {
            steps.back() += c;
        }
    }
    return steps;
}

void apply(
    toml::table& root, const std::string& key, const std::string& value, Document& document
) {
    const std::string place = "--set " + key + "=" + value;
    std::vector<std::string> steps = steps_of(key);
    const std::string last = steps.back();
    steps.pop_back();
    if (last.empty() || std::find(steps.begin(), steps.end(), "") != steps.end()) {
        document.refuse(place, "the key must be like churn.mtbf");
        return;
    }
    auto parsed = parse_value(value, place);
    if (!parsed) {
        document.refuse(place, "the value is neither TOML nor a text without quotes");
        return;
    }
    toml::node* at = &root;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        // In a list a step ends at the entry: peers.laptops goes on from there.
        toml::table* table = at->as_table();
        toml::node* next = table == nullptr ? nullptr : table->get(steps[i]);
        const std::string name = i > 0 ? steps[i - 1] : "";
        at = next != nullptr && next->is_array() ? next : step_into(*at, name, steps[i], place);
        if (at == nullptr) {
            document.refuse(place, steps[i] + " is not a table or an entry's name or number");
            return;
        }
    }
    toml::table* table = at->as_table();
    if (table == nullptr) {
        document.refuse(place, "say which entry: its name or its number from 1");
        return;
    }
    // The node is moved, not copied: a copy would forget its source.
    parsed->get("v")->visit([&](auto& node) { table->insert_or_assign(last, std::move(node)); });
}

}  // namespace

std::optional<PeersSetting> apply_settings(
    toml::table& root, const Settings& settings, Document& document
) {
    std::optional<PeersSetting> peers;
    for (const auto& [key, value] : settings) {
        if (key != "peers") {
            apply(root, key, value, document);
            continue;
        }
        const std::string place = "--set peers=" + value;
        std::uint32_t total = 0;
        const char* end = value.data() + value.size();
        const auto [stop, error] = std::from_chars(value.data(), end, total);
        if (error != std::errc{} || stop != end || total < 1 || total > kPeersMax) {
            document.refuse(
                place, "peers must be a whole number from 1 to " + std::to_string(kPeersMax)
            );
        }
        peers = PeersSetting{total, place};
    }
    return peers;
}

}  // namespace sim
