#include "swarm/protocol/limits.hpp"
#include "swarm/run/config.hpp"
#include "swarm/run/config_fields.hpp"

#include <array>
#include <concepts>
#include <limits>
#include <set>
#include <sstream>
#include <toml++/toml.h>
#include <utility>

namespace swarm::run {

namespace {

std::string dotted(std::string_view table, std::string_view key) {
    return std::string(table) + "." + std::string(key);
}

Error usage(std::string_view file, std::uint32_t line, const std::string& what) {
    const std::string place = line == 0 ? "" : ":" + std::to_string(line);
    return {ErrorCode::Usage, Reaction::Reject, std::string(file) + place + ": " + what};
}

struct KeyCollector {
    std::set<std::string> tables;
    std::set<std::string> keys;

    template <class Field>
    void operator()(const char* table, const char* key, const Field&) {
        tables.insert(table);
        keys.insert(dotted(table, key));
    }

    /// "name, seed, ...": the keys of one table.
    [[nodiscard]] std::string keys_of(std::string_view table) const {
        std::string list;
        for (const std::string& key : keys) {
            if (key.starts_with(std::string(table) + ".")) {
                list += (list.empty() ? "" : ", ") + key.substr(table.size() + 1);
            }
        }
        return list;
    }
};

/// Fills fields from the document; what is absent keeps its default. Keeps the first error.
class FieldReader {
 public:
    FieldReader(const toml::table& document, std::string_view file)
        : document_(document), file_(file) {}

    template <class Field>
    void operator()(const char* table, const char* key, Field& field) {
        const toml::node* node = document_[table][key].node();
        if (node != nullptr && !error_ && !read(*node, field)) {
            error_ = usage(
                file_, node->source().begin.line, dotted(table, key) + " must be " + wanted(field)
            );
        }
    }

    [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
    static bool read(const toml::node& node, std::string& field) {
        const auto value = node.value_exact<std::string>();
        field = value.value_or(field);
        return value.has_value();
    }

    static bool read(const toml::node& node, double& field) {
        if (!node.is_floating_point() && !node.is_integer()) {
            return false;
        }
        field = node.value<double>().value_or(field);
        return true;
    }

    static bool read(const toml::node& node, bool& field) {
        const auto value = node.value_exact<bool>();
        field = value.value_or(field);
        return value.has_value();
    }

    template <std::unsigned_integral Field>
    static bool read(const toml::node& node, Field& field) {
        const auto value = node.value_exact<std::int64_t>();
        if (!value || !std::in_range<Field>(*value)) {
            return false;
        }
        field = static_cast<Field>(*value);
        return true;
    }

    static bool read(const toml::node& node, ModelKind& field) {
        const auto value = node.value_exact<std::string>();
        field = value == "oracle" ? ModelKind::Oracle : ModelKind::Llama;
        return value == "oracle" || value == "llama";
    }

    static bool read(const toml::node& node, SyncMode& field) {
        const auto value = node.value_exact<std::string>();
        field = value == "sparse" ? SyncMode::Sparse : SyncMode::Exact;
        return value == "sparse" || value == "exact";
    }

    static bool read(const toml::node& node, std::vector<std::uint32_t>& field) {
        const toml::array* array = node.as_array();
        if (array == nullptr) {
            return false;
        }
        field.clear();
        for (const toml::node& element : *array) {
            if (!read(element, field.emplace_back())) {
                return false;
            }
        }
        return true;
    }

    static std::string wanted(const std::string&) { return "a string"; }

    static std::string wanted(double) { return "a number"; }

    static std::string wanted(bool) { return "true or false"; }

    template <std::unsigned_integral Field>
    static std::string wanted(Field) {
        return sizeof(Field) == 4 ? "a whole number from 0 to 4294967295"
                                  : "a whole number from 0 to 9223372036854775807";
    }

    static std::string wanted(ModelKind) { return "\"llama\" or \"oracle\""; }

    static std::string wanted(SyncMode) { return "\"exact\" or \"sparse\""; }

    static std::string wanted(const std::vector<std::uint32_t>&) {
        return "a list of whole numbers from 0 to 4294967295";
    }

    const toml::table& document_;
    std::string_view file_;
    std::optional<Error> error_;
};

struct FieldWriter {
    toml::table document;

    template <class Field>
    void operator()(const char* table, const char* key, const Field& field) {
        if (is_left_out(key) && field == Field{}) {
            return;
        }
        auto [entry, inserted] = document.emplace<toml::table>(table);
        write(*entry->second.as_table(), key, field);
    }

    /// Where they say no more than their absence, so that the text of an exact, untied run, which
    /// ASSIGN carries and checkpoints hash, is the one it was before there were others.
    static bool is_left_out(std::string_view key) {
        return key == "mode" || key == "sync_every" || key == "replicas" ||
               key == "tied_embeddings";
    }

    static void write(toml::table& to, const char* key, const std::string& field) {
        to.insert(key, field);
    }

    static void write(toml::table& to, const char* key, double field) { to.insert(key, field); }

    static void write(toml::table& to, const char* key, bool field) { to.insert(key, field); }

    template <std::unsigned_integral Field>
    static void write(toml::table& to, const char* key, Field field) {
        to.insert(key, static_cast<std::int64_t>(field));
    }

    static void write(toml::table& to, const char* key, ModelKind field) {
        to.insert(key, field == ModelKind::Oracle ? "oracle" : "llama");
    }

    static void write(toml::table& to, const char* key, SyncMode field) {
        to.insert(key, field == SyncMode::Sparse ? "sparse" : "exact");
    }

    static void write(toml::table& to, const char* key, const std::vector<std::uint32_t>& field) {
        toml::array array;
        for (const std::uint32_t value : field) {
            array.push_back(std::int64_t{value});
        }
        to.insert(key, std::move(array));
    }
};

/// `model = "demo"` at the top stands for a whole [model] table.
bool is_short_model(std::string_view table, const toml::node& node) {
    return table == "model" && node.is_string();
}

std::optional<Error> find_unknown_key(
    const toml::table& document, std::string_view file, const KeyCollector& known
) {
    for (const auto& [table, node] : document) {
        const std::uint32_t line = node.source().begin.line;
        const std::string name(table.str());
        if (is_short_model(name, node)) {
            continue;
        }
        if (!known.tables.contains(name)) {
            return usage(file, line, name + " is unknown; the tables are run, model, optimizer");
        }
        if (!node.is_table()) {
            return usage(file, line, name + " must be a table: [" + name + "]");
        }
        for (const auto& [key, value] : *node.as_table()) {
            if (!known.keys.contains(dotted(name, key.str()))) {
                return usage(
                    file,
                    value.source().begin.line,
                    dotted(name, key.str()) + " is unknown; [" + name + "] has " +
                        known.keys_of(name)
                );
            }
        }
    }
    return std::nullopt;
}

/// Line of the key, or 0 when the file does not say it and its default is at fault.
std::uint32_t line_of(const toml::table& document, const std::string& key) {
    const auto* node = document.at_path(key).node();
    return node == nullptr ? 0 : node->source().begin.line;
}

Result<RunConfig> read_document(const toml::table& document, std::string_view file) {
    RunConfig config;
    KeyCollector known;
    visit_fields(config, known);
    if (auto unknown = find_unknown_key(document, file, known)) {
        return *unknown;
    }
    if (const auto short_model = document["model"].value_exact<std::string>()) {
        const auto model = named_model(*short_model);
        if (model.has_error()) {
            return usage(file, line_of(document, "model"), "model: " + model.error().detail);
        }
        config.model = *model;
    }
    if (document["model"]["kind"].value_exact<std::string>() == "oracle") {
        config.model.width = 1;  // a small oracle unless the file says more
    }
    FieldReader reader(document, file);
    visit_fields(config, reader);
    if (reader.error()) {
        return *reader.error();
    }
    if (document.at_path("model.vocabulary").node() == nullptr) {
        follow_tokenizer(config);
    }
    if (const auto fault = first_fault(config)) {
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
