// How the fields of a run are written as values of TOML. Private to swarm/run.
// Threading: pure.
#pragma once

#include "swarm/run/config.hpp"

#include <concepts>
#include <cstdint>
#include <string>
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

}  // namespace swarm::run
