#include "sim/scenario/table_reader.hpp"

#include "sim/scenario/distribution.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <sstream>

namespace sim {

namespace {

constexpr std::size_t kChoicesMax = 1024;

std::string text_of(double value) {
    std::ostringstream text;
    text << value;
    return std::move(text).str();
}

std::string range_text(double low, double high) {
    return text_of(low) + " to " + text_of(high);
}

bool is_number(const toml::node& node) {
    return node.is_integer() || node.is_floating_point();
}

std::optional<Duration> duration_from(double count, Duration unit) {
    const double nanoseconds = count * static_cast<double>(unit.count());
    // The comparison is false for NaN, too.
    if (!(nanoseconds >= 0 && nanoseconds <= static_cast<double>(kDurationMax.count()))) {
        return std::nullopt;
    }
    return Duration(static_cast<std::int64_t>(std::round(nanoseconds)));
}

std::optional<Duration> read_duration(const toml::node& node) {
    if (const auto text = node.value_exact<std::string>()) {
        return parse_duration(*text);
    }
    return is_number(node) ? duration_from(*node.value<double>(), std::chrono::seconds(1))
                           : std::nullopt;
}

/// Returns the values of { uniform = [1, 9] } and the like; none when they are no numbers.
std::vector<double> numbers_of(const toml::node& node) {
    std::vector<double> numbers;
    if (is_number(node)) {
        numbers.push_back(*node.value<double>());
    } else if (const toml::array* array = node.as_array()) {
        for (const toml::node& element : *array) {
            if (!is_number(element)) {
                return {};
            }
            numbers.push_back(*element.value<double>());
        }
    }
    return numbers;
}

std::optional<Draw> read_draw(const toml::node& node) {
    if (is_number(node)) {
        return Draw{Draw::Kind::Constant, numbers_of(node)};
    }
    const toml::table* table = node.as_table();
    if (table == nullptr || table->size() != 1) {
        return std::nullopt;
    }
    const auto only = table->begin();
    const std::string_view key = only->first.str();
    const toml::node& value = only->second;
    const std::vector<double> numbers = numbers_of(value);
    if (key == "uniform" && value.is_array() && numbers.size() == 2 && numbers[0] <= numbers[1]) {
        return Draw{Draw::Kind::Uniform, numbers};
    }
    if (key == "exponential" && is_number(value)) {
        return Draw{Draw::Kind::Exponential, numbers};
    }
    if (key == "choice" && value.is_array() && !numbers.empty() && numbers.size() <= kChoicesMax) {
        return Draw{Draw::Kind::Choice, numbers};
    }
    return std::nullopt;
}

}  // namespace

std::optional<Duration> parse_duration(std::string_view text) {
    using namespace std::chrono_literals;
    static constexpr std::array<std::pair<std::string_view, Duration>, 7> kUnits = {
        {{"us", 1us}, {"ms", 1ms}, {"s", 1s}, {"m", 1min}, {"min", 1min}, {"h", 1h}, {"d", 24h}}};
    double count = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), count, std::chars_format::fixed);
    if (error != std::errc{}) {
        return std::nullopt;
    }
    const std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
    for (const auto& [name, unit] : kUnits) {
        if (rest == name) {
            return duration_from(count, unit);
        }
    }
    return std::nullopt;
}

std::string seconds_text(Duration duration) {
    return text_of(std::chrono::duration<double>(duration).count()) + " s";
}

swarm::Error usage(const std::string& place, const std::string& what) {
    std::string line = place + ": " + what;
    // Keys and values may hold line ends; an error is one line.
    std::replace_if(
        line.begin(),
        line.end(),
        [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; },
        '?'
    );
    return {swarm::ErrorCode::Usage, swarm::Reaction::Reject, std::move(line)};
}

void Document::refuse(const std::string& place, const std::string& what) {
    if (!error) {
        error = usage(place, what);
    }
}

std::string Document::place_of(const toml::node& node) const {
    const toml::source_region& source = node.source();
    if (source.path && *source.path != file) {
        return *source.path;
    }
    return source.begin.line == 0 ? file : file + ":" + std::to_string(source.begin.line);
}

const toml::node* TableReader::find(const char* key) {
    known_.emplace_back(key);
    return table_.get(key);
}

const toml::table* TableReader::find_table(const char* key) {
    const toml::node* node = find(key);
    if (node != nullptr && !node->is_table()) {
        refuse(key, "must be a table: [" + dotted(key) + "]");
    }
    return node == nullptr ? nullptr : node->as_table();
}

std::vector<const toml::table*> TableReader::find_tables(const char* key) {
    std::vector<const toml::table*> tables;
    const toml::node* node = find(key);
    if (node == nullptr) {
        return tables;
    }
    const toml::array* array = node->as_array();
    if (array == nullptr) {
        refuse(key, "must be a list of tables: [[" + dotted(key) + "]]");
        return tables;
    }
    for (const toml::node& element : *array) {
        if (!element.is_table()) {
            refuse(key, "must be a list of tables: [[" + dotted(key) + "]]");
            return {};
        }
        tables.push_back(element.as_table());
    }
    return tables;
}

void TableReader::read(const char* key, bool& field) {
    if (const toml::node* node = find(key)) {
        const auto value = node->value_exact<bool>();
        field = value.value_or(field);
        if (!value) {
            refuse(key, "must be true or false");
        }
    }
}

void TableReader::read(const char* key, std::string& field) {
    if (const toml::node* node = find(key)) {
        const auto value = node->value_exact<std::string>();
        field = value.value_or(field);
        if (!value) {
            refuse(key, "must be a string");
        }
    }
}

void TableReader::read(const char* key, double& field, double low, double high) {
    if (const toml::node* node = find(key)) {
        const double value = is_number(*node) ? *node->value<double>() : low - 1;
        if (!(low <= value && value <= high)) {
            refuse(key, "must be a number from " + range_text(low, high));
            return;
        }
        field = value;
    }
}

void TableReader::read(
    const char* key, std::uint64_t& field, std::uint64_t low, std::uint64_t high
) {
    if (const toml::node* node = find(key)) {
        const auto value = node->value_exact<std::int64_t>();
        if (!value || *value < 0 || static_cast<std::uint64_t>(*value) < low ||
            static_cast<std::uint64_t>(*value) > high) {
            refuse(
                key,
                "must be a whole number from " + std::to_string(low) + " to " + std::to_string(high)
            );
            return;
        }
        field = static_cast<std::uint64_t>(*value);
    }
}

void TableReader::read(
    const char* key, std::uint32_t& field, std::uint64_t low, std::uint64_t high
) {
    std::uint64_t value = field;
    read(key, value, low, high);
    field = static_cast<std::uint32_t>(value);
}

void TableReader::read(const char* key, Duration& field, Duration low, Duration high) {
    if (const toml::node* node = find(key)) {
        const auto value = read_duration(*node);
        if (!value || *value < low || *value > high) {
            refuse(
                key,
                "must be a duration from " + seconds_text(low) + " to " + seconds_text(high) +
                    ": \"32h\", \"5min\", \"200ms\" or a number of seconds"
            );
            return;
        }
        field = *value;
    }
}

void TableReader::read(const char* key, Draw& field, double low, double high) {
    if (const toml::node* node = find(key)) {
        const auto draw = read_draw(*node);
        if (!draw) {
            refuse(
                key,
                "must be a number, { uniform = [low, high] }, { exponential = mean } or "
                "{ choice = [a, b] }"
            );
            return;
        }
        const bool allowed =
            std::all_of(draw->values.begin(), draw->values.end(), [&](double value) {
                return low <= value && value <= high;
            });
        if (!allowed || (draw->kind == Draw::Kind::Exponential && draw->values[0] < 0)) {
            refuse(key, "must stay within " + range_text(low, high));
            return;
        }
        field = *draw;
    }
}

std::string TableReader::place_of(const char* key) const {
    const toml::node* node = table_.get(key);
    return document_.place_of(node == nullptr ? table_ : *node);
}

void TableReader::refuse(const char* key, const std::string& what) {
    document_.refuse(place_of(key), dotted(key) + " " + what);
}

void TableReader::refuse_at(const toml::node& node, const char* key, const std::string& what) {
    document_.refuse(document_.place_of(node), dotted(key) + " " + what);
}

void TableReader::finish() {
    for (const auto& [key, node] : table_) {
        const std::string name(key.str());
        if (std::find(known_.begin(), known_.end(), name) == known_.end()) {
            std::string list;
            for (const std::string& known : known_) {
                list += (list.empty() ? "" : ", ") + known;
            }
            const std::string table = name_.empty() ? "a scenario" : "[" + name_ + "]";
            document_.refuse(
                document_.place_of(node),
                dotted(name.c_str()) + " is unknown; " + table + " has " + list
            );
        }
    }
}

std::string TableReader::dotted(const char* key) const {
    return name_.empty() ? key : name_ + "." + key;
}

}  // namespace sim
