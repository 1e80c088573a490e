#include "sim/report/note.hpp"

#include <array>

namespace sim {
namespace {

/// Names in the order of the enumerators.
constexpr std::array<std::string_view, 13> kNames = {
    "join",
    "leave",
    "crash",
    "spared",
    "freeze",
    "thaw",
    "slow_down",
    "speed_back",
    "move",
    "fenced",
    "stage_empty",
    "partition",
    "cut_link"};
static_assert(kNames.size() == static_cast<std::size_t>(NoteKind::CutLink) + 1);

}  // namespace

std::string_view to_text(NoteKind kind) {
    return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace sim
