// Values that a run file may have for one key, apart from rules between two keys, which stand in
// config.cpp. Each kind of bounds has admits(value); wanted(), which ends the sentence "the key
// must be ..."; and cell(), the text of the reference. Private to swarm/run.
// Threading: values.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace swarm::run {

/// "1e12", "0.003": the shortest text that reads back as the same number.
std::string number_text(double value);

/// The largest value of most keys' fields.
inline constexpr std::uint64_t kAnyHigh = std::numeric_limits<std::uint32_t>::max();

/// Whole numbers from `low` to `high`, both included.
struct Whole {
    std::uint64_t low = 0;
    std::uint64_t high = kAnyHigh;
    /// "model.heads": where a rule of config.cpp bounds the value by another key, and not `high`.
    const char* high_key = nullptr;
    /// The model of this configuration does not read the key, and every value is taken.
    bool is_unread = false;

    [[nodiscard]] bool admits(std::uint64_t value) const {
        return is_unread || (low <= value && (high_key != nullptr || value <= high));
    }

    [[nodiscard]] std::string cell() const;
    [[nodiscard]] std::string wanted() const;
};

/// Numbers from `low` to `high`, both included.
struct Real {
    double low = 0;
    double high = 0;
    bool is_unread = false;  // see Whole

    /// False for NaN, for which each comparison is false.
    [[nodiscard]] bool admits(double value) const {
        return is_unread || (low <= value && value <= high);
    }

    [[nodiscard]] std::string cell() const;
    [[nodiscard]] std::string wanted() const;
};

/// Numbers of at least 0 and below 1.
struct Fraction {
    [[nodiscard]] static bool admits(double value) { return 0 <= value && value < 1; }

    [[nodiscard]] static std::string cell() { return "0 to below 1"; }

    [[nodiscard]] static std::string wanted() { return "a number of at least 0 and below 1"; }
};

/// Text that config.cpp judges.
struct Text {
    const char* allowed = "";

    [[nodiscard]] static bool admits(const std::string& /*value*/) { return true; }

    [[nodiscard]] std::string cell() const { return allowed; }

    [[nodiscard]] std::string wanted() const { return std::string("a string: ") + allowed; }
};

/// One of some names; `names` gives them in quotes: "\"exact\" or \"sparse\"". The reader refuses
/// all others.
struct Names {
    std::string (*names)() = nullptr;

    template <class Value>
    [[nodiscard]] static bool admits(const Value& /*value*/) {
        return true;
    }

    [[nodiscard]] std::string cell() const { return names(); }

    [[nodiscard]] std::string wanted() const { return names(); }
};

struct YesOrNo {
    [[nodiscard]] static bool admits(bool /*value*/) { return true; }

    [[nodiscard]] static std::string cell() { return "true or false"; }

    [[nodiscard]] static std::string wanted() { return cell(); }
};

/// A list of whole numbers that config.cpp judges.
struct WholeList {
    const char* allowed = "";

    [[nodiscard]] static bool admits(const std::vector<std::uint32_t>& /*value*/) { return true; }

    [[nodiscard]] std::string cell() const { return allowed; }

    [[nodiscard]] static std::string wanted() {
        return "a list of whole numbers from 0 to 4294967295";
    }
};

/// A list of strings that config.cpp judges.
struct TextList {
    const char* allowed = "";

    [[nodiscard]] static bool admits(const std::vector<std::string>& /*value*/) { return true; }

    [[nodiscard]] std::string cell() const { return allowed; }

    [[nodiscard]] static std::string wanted() { return "a list of strings, such as [\"embed\"]"; }
};

}  // namespace swarm::run
