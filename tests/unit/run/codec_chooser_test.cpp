#include "swarm/run/codec_chooser.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <vector>

namespace swarm::run {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kStart{};
constexpr double kSlow = 1e5;  // bytes per second
constexpr double kFast = 1e9;

/// Two stages of two members each.
class CodecChooserTest : public testing::Test {
 protected:
    CodecChooserTest() {
        config_.stages = 2;
        config_.layers_per_stage = {3, 3};
        config_.codec = "auto";
        context_.emplace(RunContext{
            config_,
            partition(config_),
            {},
            1,
            {0, 0},
            Roster(config_.stages, 1),
            {},
            FailureDetector{FailureDetector::Timing{}},
            0,
            {},
            first_codecs(config_)});
        for (std::uint64_t n = 1; n <= 4; ++n) {
            protocol::SlotInfo info;
            info.peer = {{n, 0, 0, 0}};
            info.stage = {n <= 2 ? 0U : 1U};
            info.standing = protocol::Standing::Member;
            slots_.push_back(context_->roster.add(info));
        }
    }

    void say(std::uint64_t slot, double compute_s, double to_next, double to_previous) {
        measures_.note(context_->roster, slots_.at(slot - 1), {compute_s, to_next, to_previous});
    }

    LegCodecs next(TimePoint now) {
        context_->codecs = chooser_.next(*context_, measures_, now);
        return context_->codecs;
    }

    RunConfig config_;
    std::optional<RunContext> context_;
    std::vector<SlotId> slots_;
    SelfMeasures measures_;
    CodecChooser chooser_;
};

TEST_F(CodecChooserTest, TheSlowestLineOfABoundaryDecides) {
    say(1, 0.002, kFast, 0);
    say(2, 0.002, kSlow, 0);
    say(3, 0.002, 0, kFast);
    EXPECT_EQ(next(kStart), (LegCodecs{CodecId::Int4, CodecId::None}));
}

TEST_F(CodecChooserTest, WaitsUntilEachStageIsMeasured) {
    say(1, 0.002, kSlow, 0);
    EXPECT_EQ(next(kStart), (LegCodecs{CodecId::Int8, CodecId::Int8}));
    say(4, 0.002, 0, kSlow);
    EXPECT_EQ(next(kStart + 1s), (LegCodecs{CodecId::Int4, CodecId::Int4}));
}

TEST_F(CodecChooserTest, KeepsAChoiceForAWhile) {
    say(1, 0.002, kSlow, 0);
    say(3, 0.002, 0, kSlow);
    const LegCodecs slow = next(kStart);
    say(1, 0.002, kFast, 0);
    say(3, 0.002, 0, kFast);
    EXPECT_EQ(next(kStart + 19s), slow);
    EXPECT_EQ(next(kStart + 20s), (LegCodecs{CodecId::None, CodecId::None}));
}

TEST_F(CodecChooserTest, ForgetsWhoHasLeft) {
    say(1, 0.002, kFast, 0);
    say(2, 0.002, kSlow, 0);
    say(3, 0.002, 0, kFast);
    context_->roster.remove(slots_.at(1));
    EXPECT_EQ(next(kStart), (LegCodecs{CodecId::None, CodecId::None}));
}

TEST_F(CodecChooserTest, ChoosesNothingForARunThatNamesItsCodec) {
    context_->config.codec = "int8";
    say(1, 0.002, kSlow, 0);
    say(3, 0.002, 0, kSlow);
    EXPECT_EQ(next(kStart), (LegCodecs{CodecId::Int8, CodecId::Int8}));
}

}  // namespace
}  // namespace swarm::run
