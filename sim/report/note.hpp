// The events of a simulated run that are worth a row: faults, moves, fences, pauses.
// The kinds have one table of names, which --json and the page with plots show.
// Threading: plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sim {

enum class NoteKind : std::uint8_t {
    Join,
    Leave,
    Crash,
    Spared,  // the last peer of a stage was to leave or crash, and stays
    Freeze,
    Thaw,
    SlowDown,
    SpeedBack,
    Move,
    Fenced,
    StageEmpty,
    Partition,
    CutLink,
};

/// Returns the name of the kind in --json: "stage_empty".
std::string_view to_text(NoteKind kind);

struct Note {
    double at_s = 0;
    NoteKind kind{};
    std::string text;
};

inline constexpr std::size_t kNotesMax = 5'000;

}  // namespace sim
