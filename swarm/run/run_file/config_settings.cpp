#include "swarm/run/run_file/config_settings.hpp"

#include "swarm/base/edit_distance.hpp"
#include "swarm/base/try.hpp"
#include "swarm/run/run_file/config_fields.hpp"
#include "swarm/run/run_file/field_reader.hpp"
#include "swarm/run/training/tokenizer_names.hpp"

#include <algorithm>
#include <sstream>
#include <toml++/toml.h>
#include <type_traits>

namespace swarm::run {
namespace {

template <class Field>
inline constexpr bool kIsText = std::is_same_v<Field, std::string> || Choice<Field>;

/// A table whose only key "v" holds the value; empty: the text is no TOML.
toml::table value_of(const std::string& text) {
    try {
        toml::table parsed = toml::parse("v = " + text);
        return parsed.size() == 1 ? parsed : toml::table();
    } catch (const toml::parse_error&) {
        return {};
    }
}

void put(toml::table& to, const char* key, const toml::node& node) {
    node.visit([&](const auto& one) { to.insert_or_assign(key, one); });
}

/// Puts the value as a field of this type is read. What cannot be one becomes text, which the
/// reader refuses.
template <class Field>
struct SettingWriter {
    static void write(toml::table& to, const char* key, const std::string& text) {
        const toml::table parsed = value_of(text);
        const toml::node* const value = parsed.get("v");
        if (value == nullptr || (kIsText<Field> && !value->is_string())) {
            to.insert_or_assign(key, text);
        } else {
            put(to, key, *value);
        }
    }
};

template <class Element>
struct SettingWriter<std::vector<Element>> {
    static void write(toml::table& to, const char* key, const std::string& text) {
        const toml::table parsed = value_of(text);
        const toml::node* const value = parsed.get("v");
        if (value != nullptr && value->is_array()) {
            put(to, key, *value);
            return;
        }
        toml::array list;
        std::istringstream elements(text);
        for (std::string element; std::getline(elements >> std::ws, element, ',');) {
            toml::table one;
            SettingWriter<Element>::write(one, "v", element);
            one.get("v")->visit([&](const auto& node) { list.push_back(node); });
        }
        to.insert_or_assign(key, std::move(list));
    }
};

/// Reads the setting into the field whose key it names.
struct KeySetter {
    std::string key;
    const std::string& value;
    std::string place;
    Result<> result{};

    template <class Field, class Bounds>
    void operator()(const Key& of, Field& field, const Bounds& bounds) {
        if (dotted(of) != key) {
            return;
        }
        toml::table table;
        SettingWriter<std::remove_cvref_t<Field>>::write(table, of.name, value);
        toml::table document;
        document.insert_or_assign(of.table, std::move(table));
        FieldReader reader(document, place);
        reader(of, field, bounds);
        result = reader.result();
    }
};

/// Collects the key that looks most like another one, with its table or without.
struct NearestKey {
    std::string wanted;
    std::string found{};
    std::size_t distance = 0;

    template <class Field, class Bounds>
    void operator()(const Key& key, const Field&, const Bounds&) {
        const std::size_t own =
            std::min(edit_distance(wanted, dotted(key)), edit_distance(wanted, key.name));
        if (found.empty() || own < distance) {
            found = dotted(key);
            distance = own;
        }
    }
};

std::string place_of(const std::pair<std::string, std::string>& setting) {
    return "--set " + setting.first + "=" + setting.second;
}

void drop_what_belonged_to(
    const RunConfig& before, const Settings& settings, RunConfig& config
) {
    const auto is_set = [&](std::string_view key) { return sets_key(settings, key); };
    if (config.corpus != before.corpus && !is_set("run.corpus_sha256")) {
        config.corpus_sha256.clear();
    }
    if (config.init != before.init && !is_set("run.init_sha256")) {
        config.init_sha256.clear();
    }
    if (config.stages != before.stages && !is_set("run.layers_per_stage")) {
        config.layers_per_stage.clear();
    }
    if (config.tokenizer != before.tokenizer && !is_set("run.tokenizer_sha256")) {
        config.tokenizer_sha256.clear();
    }
    if (config.tokenizer != before.tokenizer && !is_set("model.vocabulary")) {
        if (trained_tokens(before.tokenizer)) {
            config.model.vocabulary = ModelConfig{}.vocabulary;
        }
        follow_tokenizer(config);
    }
    OptimizerConfig& optimizer = config.optimizer;
    if (is_set("optimizer.warmup_tokens") && !is_set("optimizer.warmup_steps")) {
        optimizer.warmup_steps = optimizer.warmup_tokens > 0 ? 0 : optimizer.warmup_steps;
    } else if (is_set("optimizer.warmup_steps") && !is_set("optimizer.warmup_tokens")) {
        optimizer.warmup_tokens = optimizer.warmup_steps > 0 ? 0 : optimizer.warmup_tokens;
    }
}

}  // namespace

Result<> set_keys(RunConfig& config, const Settings& settings) {
    const RunConfig before = config;
    KeyCollector known;
    visit_fields(config, known);
    for (const auto& setting : settings) {
        const auto& [key, value] = setting;
        if (!known.keys.contains(key)) {
            NearestKey nearest{key};
            visit_fields(config, nearest);
            return usage(
                place_of(setting), 0, key + " is unknown; the nearest key is " + nearest.found
            );
        }
        KeySetter setter{key, value, place_of(setting)};
        visit_fields(config, setter);
        SWARM_TRY(setter.result);
        const bool is_oracle = config.model.kind == ModelKind::Oracle;
        if (is_oracle && before.model.kind != ModelKind::Oracle && key == "model.kind" &&
            !sets_key(settings, "model.width")) {
            config.model.width = 1;  // an oracle is small unless a width is named
        }
    }
    drop_what_belonged_to(before, settings, config);
    return {};
}

bool sets_key(const Settings& settings, std::string_view key) {
    return std::ranges::any_of(settings, [&](const auto& setting) { return setting.first == key; });
}

}  // namespace swarm::run
