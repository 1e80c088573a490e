// A stage is three times too slow for a while; the step is slower during that time, and not after
// it.
#include "tests/process/overload_bed.hpp"

namespace swarm::test {

TEST_F(OverloadTest, TheStepTimeIsBackTenSecondsAfterAStageWasThreeTimesSlower) {
    expect_recovery(seconds(8), 110);
}

}  // namespace swarm::test
