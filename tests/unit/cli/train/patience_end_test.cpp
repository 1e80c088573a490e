#include "swarm/cli/train/patience_end.hpp"

#include "tests/unit/stages/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace swarm::cli {
namespace {

using stages::test::ScratchFolder;

const PatienceEnd kEnd{9, 2, "no better held-out loss than 3.2140 in 2 evaluations"};

TEST(PatienceEnd, IsReadAsItWasWritten) {
    const ScratchFolder scratch;
    EXPECT_FALSE(read_patience_end(scratch.path()));
    ASSERT_TRUE(write_patience_end(scratch.path(), kEnd));
    EXPECT_EQ(read_patience_end(scratch.path()), kEnd);
    const PatienceEnd later{12, 3, "another reason"};
    ASSERT_TRUE(write_patience_end(scratch.path(), later));
    EXPECT_EQ(read_patience_end(scratch.path()), later);
}

TEST(PatienceEnd, AFileThatIsNotUnderstoodCountsAsNone) {
    const ScratchFolder scratch;
    for (const std::string& bad :
         {std::string(),
          std::string("9 2 torn"),
          std::string("9 two why\n"),
          std::string("9 2\n"),
          std::string("-1 why\n"),
          "9 2 " + std::string(5000, 'a') + "\n"}) {
        std::ofstream(scratch.path() / kPatienceEndFile) << bad;
        EXPECT_FALSE(read_patience_end(scratch.path())) << bad;
    }
}

TEST(PatienceEnd, SaysWhatOneMayDo) {
    const std::string same = to_text(kEnd, 2);
    EXPECT_EQ(
        same,
        "eval.patience ended the run after step 9: no better held-out loss than 3.2140 in 2 "
        "evaluations; it goes on with another value, such as --set eval.patience=0"
    );
    EXPECT_NE(
        to_text(kEnd, 5).find("; it goes on, because eval.patience was 2 and is 5"),
        std::string::npos
    );
}

}  // namespace
}  // namespace swarm::cli
