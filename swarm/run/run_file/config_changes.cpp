#include "swarm/run/run_file/config_changes.hpp"

#include "swarm/run/run_file/config_fields.hpp"
#include "swarm/run/run_file/toml_values.hpp"

#include <cstddef>
#include <utility>

namespace swarm::run {
namespace {

struct KeyValue {
    std::string key;
    std::string text;
    NewValue rule;
};

/// Collects every key with the text of its value.
struct KeyValues {
    std::vector<KeyValue> list;

    template <class Field, class Bounds>
    void operator()(const Key& key, const Field& field, const Bounds&) {
        list.push_back({dotted(key), value_text(field), key.new_value});
    }
};

bool is_of_the_cut(const std::string& key) {
    return key == "run.stages" || key == "run.layers_per_stage" || key == "run.split";
}

std::vector<KeyValue> values_of(const RunConfig& config) {
    KeyValues values;
    visit_fields(config, values);
    for (KeyValue& value : values.list) {
        const bool keeps_cut = config.model.bottleneck > 0 || config.expert_stages > 1;
        if (keeps_cut && is_of_the_cut(value.key)) {
            value.rule = NewValue::Never;  // the state has parts that belong to this cut
        }
        if (value.key == "run.steps" && config.mode == SyncMode::Sparse) {
            value.rule = NewValue::Asked;  // the last step has an exchange, whatever its number
        }
    }
    return std::move(values.list);
}

/// The coordinator alone reads the text, and the log has the split of each process.
bool is_of_the_owner(const std::string& key) {
    return key == "run.corpus_sha256" || key == "run.stages" || key == "run.layers_per_stage";
}

}  // namespace

const char* to_text(NewValue rule) {
    switch (rule) {
        case NewValue::Taken:
            return "taken";
        case NewValue::Asked:
            return "asks";
        case NewValue::Never:
            return "never";
    }
    return "";
}

std::vector<KeyChange> changes_between(const RunConfig& was, const RunConfig& now) {
    const std::vector<KeyValue> before = values_of(was);
    const std::vector<KeyValue> after = values_of(now);
    std::vector<KeyChange> changes;
    for (std::size_t i = 0; i < before.size(); ++i) {
        if (before[i].text != after[i].text) {
            changes.push_back({after[i].key, before[i].text, after[i].text, after[i].rule});
        }
    }
    return changes;
}

Digest peer_settings(const RunConfig& config) {
    const std::vector<KeyValue> own = values_of(config);
    const std::vector<KeyValue> standard = values_of(RunConfig{});
    Sha256 hash;
    for (std::size_t i = 0; i < own.size(); ++i) {
        const auto& [key, text, rule] = own[i];
        if (rule != NewValue::Taken && text != standard[i].text && !is_of_the_owner(key)) {
            hash.add_text(key + " = " + text + "\n");
        }
    }
    return hash.finish();
}

}  // namespace swarm::run
