#include "swarm/run/run_file/run_reference.hpp"

#include "swarm/run/run_file/config_fields.hpp"
#include "swarm/run/run_file/toml_values.hpp"

#include <map>
#include <sstream>
#include <string_view>
#include <utility>

namespace swarm::run {
namespace {

constexpr std::size_t kCommentColumns = 100;

/// Collects the text of every key's value.
struct ValueTexts {
    std::map<std::string, std::string> by_key;

    template <class Field, class Bounds>
    void operator()(const Key& key, const Field& field, const Bounds&) {
        by_key[dotted(key)] = value_text(field);
    }
};

std::map<std::string, std::string> default_texts() {
    ValueTexts defaults;
    const RunConfig config;
    visit_fields(config, defaults);
    return std::move(defaults.by_key);
}

/// The words of `text` as lines of comment.
std::string comment(const std::string& text) {
    std::istringstream words(text);
    std::string lines;
    std::string line = "#";
    for (std::string word; words >> word;) {
        if (line.size() + 1 + word.size() > kCommentColumns) {
            lines += line + "\n";
            line = "#";
        }
        line += " " + word;
    }
    return lines + line + "\n";
}

class DocumentedFile {
 public:
    template <class Field, class Bounds>
    void operator()(const Key& key, const Field& field, const Bounds& bounds) {
        if (table_ != key.table) {
            table_ = key.table;
            text_ += "\n[" + table_ + "]\n";
        }
        text_ += "\n" + comment(key.meaning);
        text_ +=
            comment("Default: " + defaults_.at(dotted(key)) + ". Allowed: " + bounds.cell() + ".");
        text_ += std::string(key.name) + " = " + value_text(field) + "\n";
    }

    [[nodiscard]] std::string text() && { return std::move(text_); }

 private:
    const std::map<std::string, std::string> defaults_ = default_texts();
    std::string table_;
    std::string text_ =
        "# A run file with every key that `swarm train FILE` reads. A key that is left out has "
        "its\n"
        "# default.\n";
};

std::string type_of(const std::string& /*field*/) {
    return "string";
}

std::string type_of(bool /*field*/) {
    return "true or false";
}

std::string type_of(double /*field*/) {
    return "number";
}

template <Choice Field>
std::string type_of(const Field& /*field*/) {
    return "name";
}

std::string type_of(const std::vector<std::uint32_t>& /*field*/) {
    return "list of whole numbers";
}

std::string type_of(const std::vector<std::string>& /*field*/) {
    return "list of strings";
}

template <std::unsigned_integral Field>
std::string type_of(Field /*field*/) {
    return "whole number";
}

/// For a configuration of defaults.
struct TableRows {
    std::string text =
        "| key | type | default | allowed | `--resume` | meaning |\n"
        "|---|---|---|---|---|---|\n";

    template <class Field, class Bounds>
    void operator()(const Key& key, const Field& field, const Bounds& bounds) {
        text += "| `" + dotted(key) + "` | " + type_of(field) + " | `" + value_text(field) +
                "` | " + bounds.cell() + " | " + to_text(key.new_value) + " | " + key.meaning +
                " |\n";
    }
};

}  // namespace

std::string documented_toml(const RunConfig& config) {
    DocumentedFile file;
    visit_fields(config, file);
    return std::move(file).text();
}

std::string run_reference_table() {
    TableRows rows;
    const RunConfig defaults;
    visit_fields(defaults, rows);
    return std::move(rows.text);
}

}  // namespace swarm::run
