// Reads a scenario's TOML key by key, and names the place of a value that is not allowed.
// Invariant: every key that was asked for is known, every other is an error at finish(); the first
// error of a document is kept. A key that is absent keeps its default. Private to sim/scenario.
// Units: durations are text with a unit ("32h", "5min", "1.5s", "200ms") or a number of seconds.
// Errors: one line, "FILE:LINE: table.key what" or "--set key=value: table.key what".
#pragma once

#include "sim/scenario/scenario.hpp"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <toml++/toml.h>
#include <utility>
#include <vector>

namespace sim {

/// Returns nothing when the text is no duration from 0 to kDurationMax.
std::optional<Duration> parse_duration(std::string_view text);
/// "90 s", "0.2 s": for error texts.
std::string seconds_text(Duration duration);
swarm::Error usage(const std::string& place, const std::string& what);

struct Document {
    std::string file;
    std::optional<swarm::Error> error;  // the first error

    void refuse(const std::string& place, const std::string& what);
    /// Returns "FILE:LINE", or "--set key=value" for a node that came from there.
    [[nodiscard]] std::string place_of(const toml::node& node) const;
};

class TableReader {
 public:
    /// `name`: the table's name for errors, empty at the top.
    TableReader(const toml::table& table, std::string name, Document& document)
        : table_(table), name_(std::move(name)), document_(document) {}

    /// Returns null when the key is absent.
    const toml::node* find(const char* key);
    const toml::table* find_table(const char* key);
    /// Finds the tables of [[key]]; none when the key is absent.
    std::vector<const toml::table*> find_tables(const char* key);

    void read(const char* key, bool& field);
    void read(const char* key, std::string& field);
    void read(const char* key, double& field, double low, double high);
    void read(const char* key, std::uint32_t& field, std::uint64_t low, std::uint64_t high);
    void read(const char* key, std::uint64_t& field, std::uint64_t low, std::uint64_t high);
    void read(const char* key, Duration& field, Duration low, Duration high);
    void read(const char* key, Draw& field, double low, double high);

    template <class Enum>
    void read(
        const char* key, Enum& field, std::initializer_list<std::pair<const char*, Enum>> names
    ) {
        std::string word;
        read(key, word);
        std::string known;
        for (const auto& [name, value] : names) {
            if (word == name) {
                field = value;
                return;
            }
            known += (known.empty() ? "" : ", ") + std::string(name);
        }
        if (table_.contains(key)) {
            refuse(key, "must be one of " + known);
        }
    }

    /// The place of a key in the file, or of the table when the key is absent.
    [[nodiscard]] std::string place_of(const char* key) const;
    void refuse(const char* key, const std::string& what);
    /// Refuses at the place of the node itself, for a value that lies deeper than a key.
    void refuse_at(const toml::node& node, const char* key, const std::string& what);

    [[nodiscard]] bool has(const char* key) const { return table_.contains(key); }

    void finish();

 private:
    [[nodiscard]] std::string dotted(const char* key) const;

    const toml::table& table_;
    std::string name_;
    Document& document_;
    std::vector<std::string> known_;
};

}  // namespace sim
