#include "swarm/data/samples.hpp"

#include "tests/unit/data/data_bed.hpp"

#include <cmath>
#include <set>

namespace swarm::data::test {
namespace {

class SamplesTest : public DataBed {
 protected:
    /// Builds sources of one document each, whose byte i is i modulo 251; the end token follows.
    void build_sources(
        const std::vector<std::size_t>& tokens, const std::vector<double>& weights = {}
    ) {
        DataFile data = data_of({"0.txt"});
        data.sources.clear();
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            const std::string name = std::to_string(i);
            std::string text;
            for (std::size_t at = 0; at + 1 < tokens[i]; ++at) {
                text.push_back(static_cast<char>(at % 127));
            }
            write(name + ".txt", text);
            data.sources.push_back({"s" + name, {name + ".txt"}});
            if (!weights.empty()) {
                data.sources.back().weight = weights[i];
            }
        }
        ASSERT_TRUE(build(data));
        auto opened = DataSet::open(output(), Check::Everything);
        ASSERT_TRUE(opened) << opened.error().detail;
        set.emplace(*std::move(opened));
    }

    [[nodiscard]] Samples make(std::uint32_t context, std::uint64_t seed = 1) const {
        auto samples = Samples::make(*set, context, seed);
        EXPECT_TRUE(samples) << samples.error().detail;
        return *std::move(samples);
    }

    std::optional<DataSet> set;
};

TEST_F(SamplesTest, EachTokenIsTheTargetOfOneSampleInEachEpoch) {
    build_sources({1000, 77, 33});
    constexpr std::uint32_t kContext = 16;
    const Samples samples = make(kContext);
    EXPECT_EQ(samples.per_epoch(0), 62U);  // 999 / 16
    EXPECT_EQ(samples.per_epoch(1), 4U);
    EXPECT_EQ(samples.per_epoch(2), 2U);
    EXPECT_EQ(samples.per_epoch(), 68U);
    std::vector<std::uint64_t> first_order;
    for (std::uint64_t epoch = 0; epoch < 20; ++epoch) {
        std::set<std::pair<std::size_t, std::uint64_t>> targets;
        std::vector<std::uint64_t> order;
        for (std::uint64_t n = 0; n < samples.per_epoch(); ++n) {
            const SamplePlace place = samples.place(epoch * samples.per_epoch() + n);
            EXPECT_EQ(place.epoch, epoch);
            order.push_back(place.source * 1000 + place.index);
            for (std::uint64_t t = 1; t <= kContext; ++t) {
                EXPECT_TRUE(targets.emplace(place.source, place.first_token + t).second);
            }
        }
        EXPECT_EQ(targets.size(), 68U * kContext);
        EXPECT_LT(targets.rbegin()->second, 33U);  // tokens of the last source
        EXPECT_NE(order, first_order) << epoch;
        first_order = first_order.empty() ? order : first_order;
    }
}

/// The tokens that are over in one epoch are in samples of others.
TEST_F(SamplesTest, NoTokenIsLeftOutForEver) {
    build_sources({100});
    const Samples samples = make(32);  // 3 samples and 3 tokens over
    std::set<std::uint64_t> targets;
    for (std::uint64_t n = 0; n < 3 * 40U; ++n) {
        for (std::uint64_t t = 1; t <= 32; ++t) {
            targets.insert(samples.place(n).first_token + t);
        }
    }
    EXPECT_EQ(targets.size(), 99U);
    EXPECT_EQ(*targets.begin(), 1U);
}

TEST_F(SamplesTest, RowsAreTheTokensOfTheirPlace) {
    build_sources({5000});
    const Samples samples = make(64);
    std::vector<std::uint32_t> row(65);
    for (std::uint64_t n = 0; n < 2 * samples.per_epoch(); ++n) {
        const SamplePlace place = samples.place(n);
        ASSERT_TRUE(samples.read(n, row));
        for (std::size_t t = 0; t < row.size(); ++t) {
            const std::uint64_t at = place.first_token + t;
            ASSERT_EQ(row[t], at == 4999 ? 256 : at % 127) << n << ' ' << t;
        }
    }
}

TEST_F(SamplesTest, AMixtureFollowsTheWeightsAndEachSourceHasEpochs) {
    build_sources({1601, 161}, {3, 1});
    const Samples samples = make(16);
    ASSERT_EQ(samples.per_epoch(0), 100U);
    ASSERT_EQ(samples.per_epoch(1), 10U);
    std::vector<std::uint64_t> counts(2, 0);
    std::map<std::pair<std::size_t, std::uint64_t>, std::set<std::uint64_t>> indices;
    for (std::uint64_t n = 0; n < 400; ++n) {
        const SamplePlace place = samples.place(n);
        ++counts[place.source];
        EXPECT_LE(
            std::abs(static_cast<double>(counts[0]) - 0.75 * static_cast<double>(n + 1)), 1.0
        );
        EXPECT_TRUE(indices[std::pair(place.source, place.epoch)].insert(place.index).second) << n;
    }
    EXPECT_EQ(counts[0], 300U);
    ASSERT_EQ(indices.size(), 3U + 10U);
    for (const auto& [place, seen] : indices) {
        EXPECT_EQ(seen.size(), samples.per_epoch(place.first));
    }
}

TEST_F(SamplesTest, SeedsDiffer) {
    build_sources({5000});
    const Samples samples = make(16, 1);
    const Samples same = make(16, 1);
    const Samples other = make(16, 2);
    int equal = 0;
    for (std::uint64_t n = 0; n < 300; ++n) {
        EXPECT_EQ(samples.place(n), same.place(n));
        equal += samples.place(n).index == other.place(n).index ? 1 : 0;
    }
    EXPECT_LT(equal, 12);
}

TEST_F(SamplesTest, ASourceThatIsTooShortIsNamed) {
    build_sources({5000, 16}, {1, 1});
    const auto refused = Samples::make(*set, 16, 1);
    ASSERT_TRUE(refused.has_error());
    EXPECT_EQ(refused.error().code, ErrorCode::Mismatch);
    EXPECT_EQ(refused.error().detail, "source s1 has 16 tokens; a context of 16 needs 17");
    EXPECT_TRUE(Samples::make(*set, 15, 1));
}

TEST_F(SamplesTest, ASourceOfWeightZeroIsNotRead) {
    build_sources({5000, 3}, {1, 0});
    const Samples samples = make(16);
    EXPECT_EQ(samples.per_epoch(1), 0U);
    for (std::uint64_t n = 0; n < 400; ++n) {
        EXPECT_EQ(samples.place(n).source, 0U);
    }
}

}  // namespace
}  // namespace swarm::data::test
