#include "swarm/coordinator/codec_chooser.hpp"

#include "tests/start.hpp"
#include "tests/unit/coordinator/two_by_two.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace swarm::coordinator {
namespace {

using namespace std::chrono_literals;
using swarm::test::kStart;

constexpr double kSlow = 1e5;  // bytes per second
constexpr double kFast = 1e9;

/// Two stages of two members each.
class CodecChooserTest : public testing::Test {
 protected:
    CodecChooserTest() {
        config_.stages = 2;
        config_.layers_per_stage = {3, 3};
        config_.codec = run::CodecSetting::automatic();
        run_.begin(config_, run::first_codecs(config_));
    }

    void say(std::uint64_t member, double compute_s, double to_next, double to_previous) {
        run_.say(member, {compute_s, to_next, to_previous});
    }

    run::LegCodecs next(TimePoint now) {
        return run_.context().codecs = chooser_.next(run_.context(), run_.measures(), now);
    }

    run::RunConfig config_;
    TwoByTwo run_;
    CodecChooser chooser_;
};

TEST_F(CodecChooserTest, TheSlowestLineOfABoundaryDecides) {
    say(1, 0.002, kFast, 0);
    say(2, 0.002, kSlow, 0);
    say(3, 0.002, 0, kFast);
    EXPECT_EQ(next(kStart), (run::LegCodecs{protocol::CodecId::Int4, protocol::CodecId::None}));
}

TEST_F(CodecChooserTest, WaitsUntilEachStageIsMeasured) {
    say(1, 0.002, kSlow, 0);
    EXPECT_EQ(next(kStart), (run::LegCodecs{protocol::CodecId::Int8, protocol::CodecId::Int8}));
    say(4, 0.002, 0, kSlow);
    EXPECT_EQ(
        next(kStart + 1s), (run::LegCodecs{protocol::CodecId::Int4, protocol::CodecId::Int4})
    );
}

TEST_F(CodecChooserTest, KeepsAChoiceForAWhile) {
    say(1, 0.002, kSlow, 0);
    say(3, 0.002, 0, kSlow);
    const run::LegCodecs slow = next(kStart);
    say(1, 0.002, kFast, 0);
    say(3, 0.002, 0, kFast);
    EXPECT_EQ(next(kStart + 19s), slow);
    EXPECT_EQ(
        next(kStart + 20s), (run::LegCodecs{protocol::CodecId::None, protocol::CodecId::None})
    );
}

TEST_F(CodecChooserTest, ForgetsAMemberThatHasLeft) {
    say(1, 0.002, kFast, 0);
    say(2, 0.002, kSlow, 0);
    say(3, 0.002, 0, kFast);
    run_.context().roster.remove(run_.slots().at(1));
    EXPECT_EQ(next(kStart), (run::LegCodecs{protocol::CodecId::None, protocol::CodecId::None}));
}

TEST_F(CodecChooserTest, ChoosesNothingForARunThatNamesItsCodec) {
    run_.context().config.codec = run::CodecSetting::find("int8").value();
    say(1, 0.002, kSlow, 0);
    say(3, 0.002, 0, kSlow);
    EXPECT_EQ(next(kStart), (run::LegCodecs{protocol::CodecId::Int8, protocol::CodecId::Int8}));
}

}  // namespace
}  // namespace swarm::coordinator
