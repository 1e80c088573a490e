#include "swarm/base/try.hpp"
#include "swarm/protocol/limits.hpp"
#include "swarm/run/config.hpp"
#include "swarm/run/run_file/config_fields.hpp"
#include "swarm/run/run_file/field_reader.hpp"
#include "swarm/run/run_file/toml_values.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <toml++/toml.h>
#include <type_traits>
#include <utility>

namespace swarm::run {

namespace {

struct FieldWriter {
    toml::table document;

    template <class Field, class Bounds>
    void operator()(const Key& key, const Field& field, const Bounds&) {
        if (is_left_out(key.name, field)) {
            return;
        }
        auto [entry, inserted] = document.emplace<toml::table>(key.table);
        write_value(*entry->second.as_table(), key.name, field);
    }

    /// Keys whose defaults are left out, so that the text of an exact, untied run, which ASSIGN
    /// carries and checkpoints hash, does not change when such a key is added to the list.
    template <class Field>
    static bool is_left_out(std::string_view key, const Field& field) {
        static const RunConfig kStandard;
        if constexpr (std::is_same_v<Field, std::uint32_t>) {
            if (key == "checkpoint_keep") {
                return field == kStandard.checkpoint_keep;
            }
            if (key == "expert_stages") {
                return field == kStandard.expert_stages;
            }
            if (key == "every_steps" || key == "batches") {
                const EvalConfig& eval = kStandard.eval;
                return field == (key == "batches" ? eval.batches : eval.every_steps);
            }
            if (key == "repeat" || key == "experts_per_token") {
                const ModelConfig& model = kStandard.model;
                return field == (key == "repeat" ? model.repeat : model.experts_per_token);
            }
        }
        if constexpr (std::is_same_v<Field, double>) {
            return (key == "alpha" && field == 0) ||
                   (key == "balance" && field == kStandard.train.balance) ||
                   (key == "exit_weight" && field == kStandard.train.exit_weight) ||
                   (key == "part" && field == kStandard.loop.part) ||
                   (key == "rope_factor" && field == kStandard.model.rope_factor) ||
                   (key == "rope_low_frequency" && field == kStandard.model.rope_low_frequency) ||
                   (key == "rope_high_frequency" && field == kStandard.model.rope_high_frequency);
        }
        static constexpr std::array<std::string_view, 33> kNewer{
            "mode",
            "sync_every",
            "replicas",
            "tied_embeddings",
            "corpus_sha256",
            "checkpoint_keep_every",
            "stands_for",
            "init",
            "init_sha256",
            "head_width",
            "rope_original_context",
            "max_context",
            "begin_tokens",
            "end_tokens",
            "warmup_tokens",
            "schedule",
            "decay_steps",
            "no_decay",
            "freeze",
            "rank",
            "texts",
            "patience",
            "separate_documents",
            "document_end",
            "bottleneck",
            "experts",
            "first_microbatches",
            "grow_steps",
            "exits",
            "every",
            "layers",
            "skip_every",
            "twice_every"};
        if constexpr (std::is_same_v<Field, std::vector<std::string>>) {
            if (key == "on") {
                return field == kStandard.lora.on;
            }
        }
        const bool is_newer = std::ranges::find(kNewer, key) != kNewer.end();
        return is_newer && field == Field{};
    }
};

/// `model = "demo"` at the top stands for a whole [model] table.
bool is_short_model(std::string_view table, const toml::node& node) {
    return table == "model" && node.is_string();
}

/// Refuses unknown tables and keys.
Result<> check_keys(const toml::table& document, std::string_view file, const KeyCollector& known) {
    for (const auto& [table, node] : document) {
        const std::uint32_t line = node.source().begin.line;
        const std::string name(table.str());
        if (is_short_model(name, node)) {
            continue;
        }
        if (!known.tables.contains(name)) {
            return usage(
                file,
                line,
                name +
                    " is unknown; the tables are run, model, optimizer, train, lora, loop, paths, "
                    "eval"
            );
        }
        if (!node.is_table()) {
            return usage(file, line, name + " must be a table: [" + name + "]");
        }
        for (const auto& [key, value] : *node.as_table()) {
            if (!known.keys.contains(name + "." + std::string(key.str()))) {
                return usage(
                    file,
                    value.source().begin.line,
                    name + "." + std::string(key.str()) + " is unknown; [" + name + "] has " +
                        known.keys_of(name)
                );
            }
        }
    }
    return {};
}

/// Line of the key; 0 when the file does not have the key, so its default is at fault.
std::uint32_t line_of(const toml::table& document, const std::string& key) {
    const auto* node = document.at_path(key).node();
    return node == nullptr ? 0 : node->source().begin.line;
}

Result<RunConfig> read_document(const toml::table& document, std::string_view file) {
    RunConfig config;
    KeyCollector known;
    visit_fields(config, known);
    SWARM_TRY(check_keys(document, file, known));
    if (const auto short_model = document["model"].value_exact<std::string>()) {
        const auto model = named_model(*short_model);
        if (model.has_error()) {
            return usage(file, line_of(document, "model"), "model: " + model.error().detail);
        }
        config.model = *model;
    }
    if (document["model"]["kind"].value_exact<std::string>() == "oracle") {
        config.model.width = 1;  // an oracle is small unless the file names a width
    }
    FieldReader reader(document, file);
    visit_fields(config, reader);
    SWARM_TRY(reader.result());
    if (document.at_path("model.vocabulary").node() == nullptr) {
        follow_tokenizer(config);
    }
    const bool in_tokens = config.optimizer.warmup_tokens > 0;
    if (in_tokens && document.at_path("optimizer.warmup_steps").node() == nullptr) {
        config.optimizer.warmup_steps = 0;
    }
    RunConfig judged = config;
    if (!config.init.empty() && config.init_sha256.empty()) {
        judged.model.layers = kLayersWithBiasesMax;  // the shape is that of a model not yet read
        judged.model.experts = std::min(judged.model.experts, 1U);
        judged.model.experts_per_token = 1;
        judged.layers_per_stage.clear();
        judged.expert_stages = 1;
    }
    if (const auto fault = first_fault(judged)) {
        return usage(file, line_of(document, fault->key), fault->key + " " + fault->what);
    }
    return config;
}

}  // namespace

Result<RunConfig> parse_run(std::string_view toml, std::string_view name) {
    if (toml.size() > protocol::kRunFileBytesMax) {
        return usage(
            name,
            0,
            "has " + std::to_string(toml.size()) + " bytes, a run file at most " +
                std::to_string(protocol::kRunFileBytesMax)
        );
    }
    try {
        return read_document(toml::parse(toml, name), name);
    } catch (const toml::parse_error& error) {
        return usage(name, error.source().begin.line, std::string(error.description()));
    }
}

std::string to_toml(const RunConfig& config) {
    FieldWriter writer;
    visit_fields(config, writer);
    std::ostringstream text;
    text << writer.document << '\n';
    return std::move(text).str();
}

}  // namespace swarm::run
