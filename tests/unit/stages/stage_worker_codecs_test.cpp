// The bytes that a stage worker passes on.
#include "compression/codec.hpp"
#include "stages/worker/stage_worker.hpp"
#include "tests/unit/stages/small_models.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace stages {
namespace {

using swarm::ErrorCode;
using swarm::protocol::CodecId;

TEST(StageWorker, SendsTheSameCodedBytesForEveryAttempt) {
    for (const char* const codec : {"int8", "int4", "hadamard-int4"}) {
        SCOPED_TRACE(codec);
        auto config = test::small_run(2);
        config.codec = swarm::run::CodecSetting::find(codec).value();
        auto first = test::make_worker(config, test::make_noise_compute, 0);
        auto second = test::make_worker(config, test::make_noise_compute, 0);
        auto leg = test::leg_of(config, 3);
        const auto sent = first->forward(leg, Graph::Keep);
        leg.key.attempt = swarm::make_epoch(2, 9);
        const auto sent_again = second->forward(leg, Graph::Keep);
        ASSERT_TRUE(sent.has_value() && sent_again.has_value());
        EXPECT_EQ(sent->envelope().codec, compression::find_codec(codec)->id());
        EXPECT_TRUE(std::ranges::equal(sent->bytes(), sent_again->bytes()));
    }
}

/// Three stages have a codec of their own for each boundary and leg.
TEST(StageWorker, CodesEachBoundaryAsTheLegSays) {
    const auto config = test::small_run(3);
    auto head = test::make_worker(config, test::make_noise_compute, 0);
    auto middle = test::make_worker(config, test::make_noise_compute, 1);
    auto tail = test::make_worker(config, test::make_noise_compute, 2);
    auto leg = test::leg_of(config, 0);
    leg.codecs = {CodecId::Int8, CodecId::Bf16, CodecId::Int4, CodecId::None};
    const auto pass = [&](swarm::Result<Payload> sent, CodecId in) {
        ASSERT_TRUE(sent.has_value()) << sent.error().detail;
        EXPECT_EQ(sent->envelope().codec, in);
        leg.input = std::move(*sent);
    };
    pass(head->forward(leg, Graph::Keep), CodecId::Int8);
    pass(middle->forward(leg, Graph::Keep), CodecId::Int4);
    pass(tail->forward_tail(leg)->gradient_below, CodecId::None);
    pass(middle->backward(leg), CodecId::Bf16);
    EXPECT_TRUE(head->backward(leg).has_value());
}

TEST(StageWorker, RefusesATensorWithAnotherCodecThanTheLegs) {
    const auto config = test::small_run(2);
    auto head = test::make_worker(config, test::make_noise_compute, 0);
    auto tail = test::make_worker(config, test::make_noise_compute, 1);
    auto leg = test::leg_of(config, 0);
    leg.codecs = {CodecId::Int8, CodecId::Int8};
    leg.input = *head->forward(leg, Graph::Drop);
    leg.codecs = {CodecId::Int4, CodecId::Int8};
    const auto refused = tail->forward_tail(leg);
    ASSERT_TRUE(refused.has_error());
    EXPECT_EQ(refused.error().code, ErrorCode::Mismatch);
}

TEST(StageWorker, CodesNothingOfHeldOutText) {
    auto config = test::small_run(2);
    config.codec = swarm::run::CodecSetting::find("int4").value();
    auto head = test::make_worker(config, test::make_noise_compute, 0);
    auto tail = test::make_worker(config, test::make_noise_compute, 1);
    const auto tokens = test::leg_of(config, 3).tokens;
    const auto up = head->forward_held_out({}, tokens);
    ASSERT_TRUE(up.has_value());
    EXPECT_EQ(up->envelope().codec, CodecId::None);
    auto leg = test::leg_of(config, 3);
    leg.input = *head->forward(leg, Graph::Drop);
    EXPECT_EQ(*tail->tail_loss(*up, tokens), tail->forward_tail(leg)->loss);
    EXPECT_TRUE(tail->tail_loss(leg.input, tokens).has_error());
    EXPECT_TRUE(tail->tail_loss({}, tokens).has_error());
    EXPECT_TRUE(head->forward_held_out(*up, tokens).has_error());
    EXPECT_TRUE(head->forward_held_out({}, std::span(tokens).first(2)).has_error());
}

/// The rounding of gradients is drawn; its seed depends on step and microbatch, never on the
/// attempt.
TEST(StageWorker, DrawsTheSameRoundingForEveryAttempt) {
    auto config = test::small_run(2);
    config.codec = swarm::run::CodecSetting::find("int4").value();
    const auto gradient_of = [&](std::uint32_t microbatch, swarm::Epoch attempt) {
        auto head = test::make_worker(config, test::make_noise_compute, 0);
        auto tail = test::make_worker(config, test::make_noise_compute, 1);
        auto leg = test::leg_of(config, microbatch);
        leg.key.attempt = attempt;
        const auto up = head->forward(leg, Graph::Keep);
        leg.input = *up;
        return tail->forward_tail(leg)->gradient_below;
    };
    const auto once = gradient_of(3, swarm::make_epoch(1, 1));
    const auto again = gradient_of(3, swarm::make_epoch(2, 9));
    EXPECT_TRUE(std::ranges::equal(once.bytes(), again.bytes()));
    const auto other = gradient_of(4, swarm::make_epoch(1, 1));
    EXPECT_FALSE(std::ranges::equal(once.bytes(), other.bytes()));
}

}  // namespace
}  // namespace stages
