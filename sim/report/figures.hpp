// Writes figures as people read them: "1,234", "81.3 %", "4 min 05 s", "12.3 GB", and explains a
// fidelity.
// Invariant: no text is "nan" or "inf": a value that is no number is "-". No locale: the same
// everywhere.
// Units: in the names; bytes in powers of 1,000. Threading: stateless.
#pragma once

#include "sim/scenario/scenario.hpp"

#include <cstdint>
#include <string>

namespace sim {

/// 1234567 -> "1,234,567".
std::string count_text(std::uint64_t count);
/// Three digits: "0.123", "1.23", "12.3", "1,230"; whole numbers without a fraction: "2".
std::string number_text(double number);
/// 0.8126 -> "81.3 %".
std::string share_text(double share);
/// "420 ms", "12.3 s", "4 min 05 s", "3 h 20 min", "2 d 04 h".
std::string seconds_text(double seconds);
/// "999 B", "1.23 kB", "12.3 GB".
std::string bytes_text(double bytes);
/// 16 hexadecimal digits.
std::string hash_text(std::uint64_t hash);

/// "exact" or "fluid".
std::string mode_name(Mode mode);
/// One sentence that says which parts the mode runs and which it leaves out.
std::string mode_text(Mode mode);

/// Escapes a text for text and attributes of HTML; control characters, which no page may have,
/// become spaces.
std::string escaped(const std::string& text);

}  // namespace sim
