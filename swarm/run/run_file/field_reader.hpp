// How the values of a TOML document become fields of a run, for run files and for single settings.
// Private to swarm/run.
// Threading: one thread. Errors: Usage (Reject): place, key, and what its value must be.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/run/run_file/config_fields.hpp"

#include <concepts>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <toml++/toml.h>
#include <utility>
#include <vector>

namespace swarm::run {

/// "run.toml:3: what"; line 0 is none.
inline Error usage(std::string_view file, std::uint32_t line, const std::string& what) {
    const std::string place = line == 0 ? "" : ":" + std::to_string(line);
    return {ErrorCode::Usage, Reaction::Reject, std::string(file) + place + ": " + what};
}

struct KeyCollector {
    std::set<std::string> tables;
    std::set<std::string> keys;

    template <class Field, class Bounds>
    void operator()(const Key& key, const Field&, const Bounds&) {
        tables.insert(key.table);
        keys.insert(dotted(key));
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

/// Fills fields from the document; a field that the document lacks keeps its default. Keeps the
/// first error.
class FieldReader {
 public:
    FieldReader(const toml::table& document, std::string_view file)
        : document_(document), file_(file) {}

    template <class Field, class Bounds>
    void operator()(const Key& key, Field& field, const Bounds& bounds) {
        const toml::node* node = document_[key.table][key.name].node();
        if (node != nullptr && !error_ && !read(*node, field)) {
            error_ = usage(
                file_, node->source().begin.line, dotted(key) + " must be " + bounds.wanted()
            );
        }
    }

    [[nodiscard]] Result<> result() const { return error_ ? Result<>(*error_) : Result<>(); }

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

    template <Choice Field>
    static bool read(const toml::node& node, Field& field) {
        const auto name = node.value_exact<std::string>();
        const auto choice = name ? find_choice<Field>(*name) : std::nullopt;
        field = choice.value_or(field);
        return choice.has_value();
    }

    template <class Element>
    static bool read(const toml::node& node, std::vector<Element>& field) {
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

    const toml::table& document_;
    std::string_view file_;
    std::optional<Error> error_;
};

}  // namespace swarm::run
