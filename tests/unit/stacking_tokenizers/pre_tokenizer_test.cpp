#include "stacking/tokenizers/chain/pre_tokenizer.hpp"

#include "stacking/tokenizers/chain/chain_parts.hpp"
#include "stacking/tokenizers/gguf_chains.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace stacking::tokenizers {
namespace {

using Pieces = std::vector<std::string>;

Pieces pieces_of(const Chain& chain, std::string_view text, TextPlace place) {
    Pieces pieces;
    SearchBudget budget(text.size());
    const auto take = [&](std::string_view piece) { pieces.emplace_back(piece); };
    const auto done = pre_tokenize(chain.pre_tokenizer, text, place, budget, take);
    EXPECT_TRUE(done.has_value()) << done.error().detail;
    return pieces;
}

Pieces split(std::string_view text) {
    static const Chain chain = *read_chain({});  // single digits, then GPT-2's words
    return pieces_of(chain, text, TextPlace::Beginning);
}

/// Cuts by one step, written as in a tokenizer.json.
Pieces split_by(
    const std::string& step, std::string_view text, TextPlace place = TextPlace::Beginning
) {
    const auto chain = read_chain(
        {.pre_tokenizer = step,
         .decoder = step.find("ByteLevel") != std::string::npos ? kByteLevelDecoder
                                                                : R"({"type": "Fuse"})"}
    );
    EXPECT_TRUE(chain.has_value()) << chain.error().detail;
    return chain ? pieces_of(*chain, text, place) : Pieces{};
}

TEST(PreTokenizer, SplitsAsGpt2Does) {
    EXPECT_EQ(split("Hello, world!"), (Pieces{"Hello", ",", " world", "!"}));
    EXPECT_EQ(split("it's they'll I'D"), (Pieces{"it", "'s", " they", "'ll", " I", "'", "D"}));
    EXPECT_EQ(split("a  b\n\n c"), (Pieces{"a", " ", " b", "\n\n", " c"}));
    EXPECT_EQ(split("end   "), (Pieces{"end", "   "}));
    EXPECT_EQ(split(""), Pieces{});
}

TEST(PreTokenizer, EachNumberCharacterIsAPieceOfItsOwn) {
    EXPECT_EQ(split("in 1984"), (Pieces{"in", " ", "1", "9", "8", "4"}));
    EXPECT_EQ(split("x²½Ⅷ①٣３"), (Pieces{"x", "²", "½", "Ⅷ", "①", "٣", "３"}));
}

TEST(PreTokenizer, TheLookAheadEndsAtANumber) {
    EXPECT_EQ(split("   7"), (Pieces{"   ", "7"}));
    EXPECT_EQ(split("   x"), (Pieces{"  ", " x"}));
}

TEST(PreTokenizer, WhiteSpaceIsThatOfUnicode) {
    // A run of White_Space stays together, and unlike " " its last character does not join the
    // word.
    for (const char* const space :
         {"\t",
          "\v",
          "\f",
          "\r",
          "\u0085",
          "\u00a0",
          "\u1680",
          "\u2003",
          "\u2028",
          "\u2029",
          "\u202f",
          "\u205f",
          "\u3000"}) {
        EXPECT_EQ(split(std::string("a") + space + space + "b"), (Pieces{"a", space, space, "b"}));
    }
    // Neither the zero width space nor the Mongolian vowel separator is white space.
    for (const char* const other : {"\u200b", "\u180e"}) {
        EXPECT_EQ(
            split(std::string("a") + other + other + "b"),
            (Pieces{"a", std::string(other) + other, "b"})
        );
    }
}

TEST(PreTokenizer, SplitsLongRuns) {
    for (const char* const run : {" ", "a", "!", "7", "\n", "'"}) {
        std::string text;
        for (std::size_t i = 0; i < 1'000'000; ++i) {
            text += run;
        }
        std::string joined;
        for (const std::string& piece : split(text + "x")) {
            joined += piece;
        }
        EXPECT_EQ(joined, text + "x");
    }
}

TEST(PreTokenizer, EachBehaviourOfASplit) {
    const std::pair<const char*, Pieces> cases[] = {
        {"Removed", {"the", "final", "countdown"}},
        {"Isolated", {"the", "-", "final", "-", "-", "countdown"}},
        {"MergedWithPrevious", {"the-", "final-", "-", "countdown"}},
        {"MergedWithNext", {"the", "-final", "-", "-countdown"}},
        {"Contiguous", {"the", "-", "final", "--", "countdown"}},
    };
    for (const auto& [behaviour, pieces] : cases) {
        const std::string begin = R"({"type": "Split", "pattern": {"String": "-"}, "behavior": ")";
        EXPECT_EQ(split_by(begin + behaviour + "\"}", "the-final--countdown"), pieces) << behaviour;
    }
    const char* const words =
        R"({"type": "Split", "invert": true, "pattern": {"Regex": "\\p{L}+"},
            "behavior": "Removed"})";
    EXPECT_EQ(split_by(words, "one, two3"), (Pieces{"one", "two"}));
}

TEST(PreTokenizer, AnEmptyMatchCutsToo) {
    const char* const step =
        R"({"type": "Split", "pattern": {"Regex": "x*"}, "behavior": "Isolated"})";
    EXPECT_EQ(split_by(step, "abxé"), (Pieces{"a", "b", "x", "é"}));
}

TEST(PreTokenizer, MetaspaceInItsOldAndNewForms) {
    const std::string m = "\u2581";
    const std::string old_form =
        R"({"type": "Metaspace", "replacement": "▁", "add_prefix_space": )";
    EXPECT_EQ(split_by(old_form + "true}", "a b"), (Pieces{m + "a", m + "b"}));
    EXPECT_EQ(split_by(old_form + "false}", "a b"), (Pieces{"a", m + "b"}));
    EXPECT_EQ(split_by(old_form + "true}", " a"), Pieces{m + "a"});
    EXPECT_EQ(
        split_by(old_form + R"(true, "split": false})", "a  b"), Pieces{m + "a" + m + m + "b"}
    );
    const std::string new_form = R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": ")";
    EXPECT_EQ(split_by(new_form + "first\"}", "a"), Pieces{m + "a"});
    EXPECT_EQ(split_by(new_form + "first\"}", "a", TextPlace::Later), Pieces{"a"});
    EXPECT_EQ(split_by(new_form + "always\"}", "a", TextPlace::Later), Pieces{m + "a"});
    EXPECT_EQ(split_by(new_form + "never\"}", "a"), Pieces{"a"});
}

TEST(PreTokenizer, ByteLevelMayPutASpaceBeforeAText) {
    const std::string step = R"({"type": "ByteLevel", "use_regex": false, "add_prefix_space": )";
    EXPECT_EQ(split_by(step + "true}", "a b"), Pieces{" a b"});
    EXPECT_EQ(split_by(step + "true}", " a b"), Pieces{" a b"});
    EXPECT_EQ(split_by(step + "false}", "a b"), Pieces{"a b"});
}

TEST(PreTokenizer, SmallSteps) {
    EXPECT_EQ(split_by(R"({"type": "Digits"})", "a12b3"), (Pieces{"a", "12", "b", "3"}));
    EXPECT_EQ(split_by(R"({"type": "WhitespaceSplit"})", " a,\u3000b "), (Pieces{"a,", "b"}));
    EXPECT_EQ(split_by(R"({"type": "Punctuation"})", "a+b«"), (Pieces{"a", "+", "b", "«"}));
}

TEST(ReadChain, TakesTheChainsOfNamesInGguf) {
    for (const char* const name :
         {"a.x-4.0",
          "deepseek-coder",
          "deepseek-llm",
          "deepseek-v3",
          "exaone4",
          "falcon",
          "glm4",
          "glm5",
          "granite-docling",
          "hunyuan-dense",
          "joyai-llm",
          "mellum",
          "mellum2",
          "minicpm5",
          "seed-coder",
          "trillion"}) {
        const auto known = find_gguf_chain(name);
        ASSERT_TRUE(known) << name;
        const auto chain = read_chain(known->parts);
        EXPECT_TRUE(chain) << name << ": " << chain.error().detail;
    }
}

TEST(ReadChain, RefusesStepsThatAreNotKnownByTheirNames) {
    const std::pair<ChainParts, const char*> cases[] = {
        {{.normalizer = R"({"type": "NFKC"})"}, "normalizer NFKC"},
        {{.normalizer = R"({"type": "Sequence", "normalizers": [{"type": "Lowercase"}]})"},
         "normalizer Lowercase"},
        {{.pre_tokenizer = R"({"type": "BertPreTokenizer"})"}, "pre_tokenizer BertPreTokenizer"},
        {{.pre_tokenizer = R"({"type": "Sequence", "pretokenizers": [{"type": "ByteLevel"},
            {"type": "Digits"}]})"},
         "a step after ByteLevel"},
        {{.post_processor = R"({"type": "BertProcessing"})"}, "post_processor BertProcessing"},
        {{.decoder = R"({"type": "WordPiece"})"}, "decoder WordPiece"},
        {{.decoder = R"({"type": "Fuse"})"}, "another kind of pre_tokenizer"},
        {{.decoder = "null"}, "decoder is missing"},
        {{.pre_tokenizer = R"({"type": "Digits"})", .decoder = R"({"type": "Sequence", "decoders":
            [{"type": "Fuse"}, {"type": "ByteFallback"}]})"},
         "in an order"},
    };
    for (const auto& [parts, why] : cases) {
        const auto chain = read_chain(parts);
        ASSERT_TRUE(chain.has_error()) << why;
        EXPECT_EQ(chain.error().code, swarm::ErrorCode::Unsupported) << why;
        EXPECT_NE(chain.error().detail.find(why), std::string::npos) << chain.error().detail;
    }
}

}  // namespace
}  // namespace stacking::tokenizers
