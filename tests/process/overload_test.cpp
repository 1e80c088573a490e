// A stage that is three times too slow for a while: the step is slower meanwhile, and no longer.
#include "tests/process/overload_bed.hpp"

namespace swarm::test {

TEST_F(OverloadTest, TheStepTimeIsBackTenSecondsAfterAStageWasThreeTimesSlower) {
    expect_recovery(seconds(8), 110);
}

}  // namespace swarm::test
