// --set key=value: a person's change to a scenario for one run. It enters the document before the
// document is read, so that a setting meets the same checks as a line of the file.
// A key is a dotted path; within [[peers]] and [[plan]] the step is an entry's name or its number
// from 1 ("peers.laptops.count"). A value is TOML, or else a text ("32h" needs no quotes).
// Private to sim/scenario. Errors: Usage, beginning with "--set key=value".
#pragma once

#include "sim/scenario/table_reader.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sim {

using Settings = std::vector<std::pair<std::string, std::string>>;

/// The total to which a bare `peers` scales all groups.
struct PeersSetting {
    std::uint32_t total = 0;
    std::string place;  // place of the setting, for errors
};

/// Applies the settings; mistakes go to the document.
std::optional<PeersSetting> apply_settings(
    toml::table& root, const Settings& settings, Document& document
);

}  // namespace sim
