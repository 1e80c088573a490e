#include "sim/report/note.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace sim {
namespace {

TEST(NoteKind, EachHasANameOfItsOwn) {
    std::set<std::string_view> names;
    for (int kind = 0; kind <= static_cast<int>(NoteKind::CutLink); ++kind) {
        names.insert(to_text(static_cast<NoteKind>(kind)));
    }
    EXPECT_EQ(names.size(), static_cast<std::size_t>(NoteKind::CutLink) + 1);
    EXPECT_EQ(to_text(NoteKind::Join), "join");
    EXPECT_EQ(to_text(NoteKind::StageEmpty), "stage_empty");
    EXPECT_EQ(to_text(NoteKind::CutLink), "cut_link");
}

}  // namespace
}  // namespace sim
