// The test of overload_test.cpp, with an overload of a minute.
#include "tests/process/overload_bed.hpp"

namespace swarm::test {

TEST_F(OverloadTest, TheStepTimeIsBackTenSecondsAfterAMinuteAtAThirdOfTheSpeed) {
    expect_recovery(seconds(60), 300);
}

}  // namespace swarm::test
