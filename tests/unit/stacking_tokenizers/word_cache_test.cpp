#include "stacking/tokenizers/merges/word_cache.hpp"

#include "stacking/tokenizers/bpe.hpp"
#include "swarm/base/rng.hpp"
#include "tests/unit/stacking_tokenizers/small_vocabulary.hpp"

#include <gtest/gtest.h>

#include <string>

namespace stacking::tokenizers {
namespace {

using Ids = std::vector<std::uint32_t>;

TEST(WordCache, GivesBackWhatItKeeps) {
    WordCache words;
    Ids ids{9};
    EXPECT_FALSE(words.add("word", ids));
    words.keep("word", Ids{1, 2});
    EXPECT_TRUE(words.add("word", ids));
    EXPECT_EQ(ids, (Ids{9, 1, 2}));
    EXPECT_FALSE(words.add("wore", ids));
    EXPECT_FALSE(words.add("wor", ids));
    EXPECT_FALSE(words.add(std::string_view("word\0", 5), ids));
    words.keep("nothing", Ids{});
    EXPECT_TRUE(words.add("nothing", ids));
    EXPECT_EQ(ids.size(), 3U);
}

TEST(WordCache, KeepsNoLongWordsAndNoLongLists) {
    WordCache words;
    Ids ids;
    words.keep("", Ids{1});
    EXPECT_FALSE(words.add("", ids));
    const std::string longest(WordCache::kWordBytesMax, 'a');
    words.keep(longest, Ids(WordCache::kIdsMax, 7));
    EXPECT_TRUE(words.add(longest, ids));
    EXPECT_EQ(ids, Ids(WordCache::kIdsMax, 7));
    words.keep(longest + "a", Ids{1});
    EXPECT_FALSE(words.add(longest + "a", ids));
    words.keep("many", Ids(WordCache::kIdsMax + 1, 7));
    EXPECT_FALSE(words.add("many", ids));
}

/// So many words that most slots have had several.
TEST(WordCache, ChangesNoIds) {
    const auto bpe = Bpe::make(test::small_vocabulary());
    ASSERT_TRUE(bpe);
    swarm::Rng rng(3, 0);
    WordCache words;
    for (int i = 0; i < 3000; ++i) {
        std::string text;
        while (text.size() < 300) {
            const std::string_view letters = "aaabbccxyz \xC3\xA9";
            for (std::uint64_t n = rng.below(rng.chance(1, 9) ? 60 : 7); n > 0; --n) {
                text += letters[rng.below(11)];
            }
            text += rng.chance(1, 5) ? "\xC3\xA9<s> " : " ";
        }
        const auto special = rng.chance(1, 2) ? SpecialTokens::Recognised : SpecialTokens::AsText;
        ASSERT_EQ(*bpe->encode(text, special, &words), *bpe->encode(text, special)) << text;
    }
}

}  // namespace
}  // namespace stacking::tokenizers
