#include "stacking/composition/clusters/balanced_clusters.hpp"
#include "stacking/composition/clusters/cluster_file.hpp"
#include "swarm/base/rng.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

namespace stacking::composition {
namespace {

/// A document of 30 words, of which most are of one subject.
std::string document_about(std::size_t subject, swarm::Rng& draw) {
    std::string text;
    for (int i = 0; i < 30; ++i) {
        const std::size_t about = draw.chance(4, 5) ? subject : draw.below(4);
        text += "Word" + std::to_string(about) + "x" + std::to_string(draw.below(20)) + ", ";
    }
    return text;
}

struct Documents {
    std::vector<std::string> texts;
    TfIdf words;
    std::vector<TermVector> vectors;
};

/// 80 documents: number i is about subject i % 4.
Documents drawn_documents(std::uint64_t seed) {
    Documents documents;
    swarm::Rng draw(seed, 0);
    WordCounter counter;
    for (std::size_t i = 0; i < 80; ++i) {
        documents.texts.push_back(document_about(i % 4, draw));
        counter.add(documents.texts.back());
    }
    documents.words = counter.finish();
    for (const std::string& text : documents.texts) {
        documents.vectors.push_back(documents.words.vector_of(text));
    }
    return documents;
}

TEST(TfIdf, WeighsRareWordsMore) {
    WordCounter counter;
    counter.add("a CAT sat, the cat");
    counter.add("the dog sat");
    counter.add("the cat and the dog and the bird");
    counter.add("the sea");
    const TfIdf words = counter.finish();
    // "the" is in all documents, "bird" in one, and "a" has one letter.
    EXPECT_EQ(words.words(), (std::vector<std::string>{"cat", "dog", "sat"}));
    EXPECT_FLOAT_EQ(words.rarity()[0], static_cast<float>(std::log(2.0)));
    const TermVector vector = words.vector_of("Cat cat dog unknown");
    ASSERT_EQ(vector.size(), 2U);
    EXPECT_GT(vector[0].weight, vector[1].weight);
    EXPECT_NEAR(dot(vector, vector), 1, 1e-6);
    EXPECT_TRUE(words.vector_of("nothing known").empty());
    EXPECT_EQ(dot(words.vector_of("cat"), words.vector_of("dog")), 0);
}

TEST(TfIdf, TakesBytesOfOtherScriptsAsLetters) {
    WordCounter counter;
    counter.add("море");
    counter.add("Море море");
    counter.add("and");
    EXPECT_EQ(counter.finish().words(), std::vector<std::string>{"море"});
}

TEST(BalancedClusters, FindTheSubjects) {
    for (const std::uint64_t seed : {1, 2, 3}) {
        const Documents documents = drawn_documents(seed);
        const Clusters found =
            balanced_clusters(documents.vectors, documents.words.words().size(), 4, seed);
        ASSERT_EQ(found.cluster_of.size(), 80U);
        std::size_t right = 0;
        for (std::size_t i = 0; i < 80; ++i) {
            right += found.cluster_of[i] == found.cluster_of[i % 4] ? 1U : 0U;
        }
        EXPECT_GE(right, 76U) << seed;
    }
}

TEST(BalancedClusters, HaveOneSize) {
    const Documents documents = drawn_documents(5);
    for (const std::uint32_t clusters : {1U, 3U, 7U, 80U}) {
        const Clusters found =
            balanced_clusters(documents.vectors, documents.words.words().size(), clusters, 1);
        ASSERT_EQ(found.centers.size(), clusters);
        for (std::uint32_t k = 0; k < clusters; ++k) {
            EXPECT_LE(
                std::ranges::count(found.cluster_of, k),
                static_cast<std::ptrdiff_t>((80 + clusters - 1) / clusters)
            );
        }
    }
}

TEST(BalancedClusters, TakeDocumentsWithoutWords) {
    const std::vector<TermVector> documents(6);
    const Clusters found = balanced_clusters(documents, 0, 3, 1);
    for (std::uint32_t k = 0; k < 3; ++k) {
        EXPECT_EQ(std::ranges::count(found.cluster_of, k), 2);
    }
}

ClusterFile clusters_of(const Documents& documents) {
    Clusters found = balanced_clusters(documents.vectors, documents.words.words().size(), 4, 1);
    return {documents.words, std::move(found.centers)};
}

TEST(ClusterFile, IsReadAsItWasWritten) {
    const ClusterFile file = clusters_of(drawn_documents(1));
    const auto read = parse_clusters(to_json(file), "clusters.json");
    ASSERT_TRUE(read) << read.error().detail;
    EXPECT_EQ(read->words.words(), file.words.words());
    EXPECT_EQ(read->words.rarity(), file.words.rarity());
    EXPECT_EQ(to_json(*read), to_json(file));
}

TEST(ClusterFile, RefusesWhatIsNone) {
    const auto refused = [](const std::string& json) {
        const auto read = parse_clusters(json, "name");
        EXPECT_FALSE(read) << json;
        EXPECT_TRUE(!read && read.error().detail.starts_with("name ")) << json;
    };
    const std::string good =
        R"({"format":1,"words":["aa","bb"],"rarity":[1,2],"centers":[[[0,1.0]],[[1,1.0]]]})";
    EXPECT_TRUE(parse_clusters(good, "name"));
    const auto changed = [&](const std::string& from, const std::string& to) {
        std::string json = good;
        json.replace(json.find(from), from.size(), to);
        return json;
    };
    refused("");
    refused("[]");
    refused(good.substr(0, good.size() - 1));
    refused(changed("\"format\":1", "\"format\":2"));
    refused(changed("\"aa\",\"bb\"", "\"bb\",\"aa\""));
    refused(changed("[1,2]", "[1]"));
    refused(changed("[1,2]", "[1,-2]"));
    refused(changed("[[0,1.0]]", "[[2,1.0]]"));
    refused(changed("[[0,1.0]]", "[[0.5,1.0]]"));
    refused(changed("[[0,1.0]]", "[[0,1.0],[0,1.0]]"));
    refused(changed("[[0,1.0]]", "[[0]]"));
    refused(changed("[[[0,1.0]],[[1,1.0]]]", "[]"));
}

TEST(ClusterShares, AreHighestForTheSubjectOfTheText) {
    const Documents documents = drawn_documents(2);
    const ClusterFile file = clusters_of(documents);
    swarm::Rng draw(9, 9);
    for (std::size_t subject = 0; subject < 4; ++subject) {
        const auto shares = cluster_shares(file, document_about(subject, draw), 0);
        const auto best = std::ranges::max_element(shares) - shares.begin();
        const auto own = cluster_shares(file, documents.texts[subject], 1);
        EXPECT_EQ(own[static_cast<std::size_t>(best)], 1) << subject;
        EXPECT_EQ(std::ranges::count(own, 0.0), 3);
        EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 1, 1e-12);
    }
    const std::vector<double> equal(4, 0.25);
    EXPECT_EQ(cluster_shares(file, "nothing that is known", 2), equal);
}

}  // namespace
}  // namespace stacking::composition
