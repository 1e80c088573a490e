// How the fields of a run are written as values of TOML. Private to swarm/run.
// Threading: pure.
#pragma once

#include "swarm/run/config.hpp"
#include "swarm/run/run_file/key_bounds.hpp"

#include <concepts>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <toml++/toml.h>
#include <utility>
#include <vector>

namespace swarm::run {

inline void write_value(toml::table& to, const char* key, const std::string& field) {
    to.insert(key, field);
}

inline void write_value(toml::table& to, const char* key, double field) {
    to.insert(key, field);
}

inline void write_value(toml::table& to, const char* key, bool field) {
    to.insert(key, field);
}

template <std::unsigned_integral Field>
void write_value(toml::table& to, const char* key, Field field) {
    to.insert(key, static_cast<std::int64_t>(field));
}

template <Choice Field>
void write_value(toml::table& to, const char* key, const Field& field) {
    to.insert(key, std::string(to_text(field)));
}

inline void write_value(toml::table& to, const char* key, const std::vector<std::uint32_t>& field) {
    toml::array array;
    for (const std::uint32_t value : field) {
        array.push_back(std::int64_t{value});
    }
    to.insert(key, std::move(array));
}

inline void write_value(toml::table& to, const char* key, const std::vector<std::string>& field) {
    toml::array array;
    for (const std::string& value : field) {
        array.push_back(value);
    }
    to.insert(key, std::move(array));
}

/// "60": a value as a run file has it, in one line.
template <class Field>
std::string value_text(const Field& field) {
    using enum toml::format_flags;
    toml::table one;
    write_value(one, "x", field);
    std::ostringstream text;
    text << toml::toml_formatter(
        one,
        toml::toml_formatter::default_flags & ~(allow_literal_strings | allow_multi_line_strings)
    );
    return text.str().substr(std::string_view("x = ").size());
}

/// Shorter than TOML's own text, and just as exact.
inline std::string value_text(double field) {
    return number_text(field);
}

}  // namespace swarm::run
