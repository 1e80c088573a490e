#include "stacking/tokenizers/chain/pattern.hpp"

#include "stacking/tokenizers/chain/pattern_syntax.hpp"
#include "stacking/tokenizers/chain/stand_ins.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace stacking::tokenizers {
namespace {

using swarm::ErrorCode;
using Found = std::vector<std::string>;

Found matches_of(const std::string& expression, const std::string& text) {
    const auto pattern = Pattern::expression(expression);
    EXPECT_TRUE(pattern.has_value()) << pattern.error().detail;
    SearchBudget budget(text.size());
    const auto ranges = pattern->find_all(text, budget);
    EXPECT_TRUE(ranges.has_value()) << ranges.error().detail;
    Found found;
    for (const Range& range : *ranges) {
        found.push_back(text.substr(range.begin, range.end - range.begin));
    }
    return found;
}

TEST(Pattern, FindsTextsAndExpressions) {
    const auto text = Pattern::text("aa");
    ASSERT_TRUE(text.has_value());
    SearchBudget budget(5);
    EXPECT_EQ(text->find_all("aaaab", budget)->size(), 2U);
    EXPECT_EQ(matches_of("\\p{N}{1,3}", "12345"), (Found{"123", "45"}));
    EXPECT_EQ(matches_of("(?i:'s|'t)", "'S 't \\'"), (Found{"'S", "'t"}));
    EXPECT_EQ(matches_of("\\s+(?!\\S)", "a   b  "), (Found{"  ", "  "}));
    EXPECT_EQ(matches_of("a+$", "aa\nab\ra\n"), (Found{"aa", "a"}));  // the end of any line
    EXPECT_EQ(matches_of("[\\s\\d]", "a\u3000٣\u180e"), (Found{"\u3000", "٣"}));
    EXPECT_EQ(matches_of("[^\\r\\n\\p{L}]?[a-z\\u00e9]+", "-é(x"), (Found{"-é", "(x"}));
    EXPECT_TRUE(Pattern::text("").has_error());
}

TEST(Pattern, CharactersThatAreYoungerThanPcre2MatchAsTheirKind) {
    // Each is the first or last of a block that Unicode 15 or 16 has added.
    EXPECT_EQ(
        matches_of("\\p{L}+", "a\U00031350\U000323AF!\U0002EBF0"),
        (Found{"a\U00031350\U000323AF", "\U0002EBF0"})
    );
    EXPECT_EQ(matches_of("\\p{Nd}", "\U00011F50"), Found{"\U00011F50"});
    EXPECT_EQ(matches_of("\\p{Lu}", "\U00010D50\u1C89"), (Found{"\U00010D50", "\u1C89"}));
    EXPECT_EQ(matches_of("[^\\s\\p{L}\\p{N}]+", "\U0001CC00 \U00010D70"), Found{"\U0001CC00"});
}

TEST(Pattern, AHostileExpressionEndsWithAnError) {
    const std::string text(200'000, 'a');
    for (const char* const hostile :
         {"(a*)*\\p{N}", "(?:a+)+\\p{N}", "(?:a|a)*\\p{N}", "(?:a?){60}[^a]"}) {
        const auto pattern = Pattern::expression(hostile);
        ASSERT_TRUE(pattern.has_value()) << pattern.error().detail;
        SearchBudget budget(text.size());
        const auto found = pattern->find_all(text, budget);
        ASSERT_TRUE(found.has_error()) << hostile;
        EXPECT_EQ(found.error().code, ErrorCode::TooLarge) << hostile;
    }
}

TEST(Pattern, AHostileExpressionMayNotBeginAnewInEachPiece) {
    const auto pattern = Pattern::expression("(?:a+)+\\p{N}");
    ASSERT_TRUE(pattern.has_value()) << pattern.error().detail;
    const std::string piece(18, 'a');
    SearchBudget budget(piece.size());
    bool refused = false;
    for (int i = 0; i < 1000 && !refused; ++i) {
        refused = pattern->find_all(piece, budget).has_error();
    }
    EXPECT_TRUE(refused);
}

TEST(Pattern, ALongRunIsNoHostileText) {
    const std::string spaces(1'000'000, ' ');
    EXPECT_EQ(matches_of("\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+", spaces).size(), 1U);
}

TEST(PatternSyntax, TakesWhatBothLibrariesReadAlike) {
    EXPECT_EQ(
        *to_pcre2("(?i:'s)|\\p{L}{2,}?[a-z\\p{N}]+ \\."), "(?i:'s)|\\p{L}{2,}?[a-z\\p{N}]+ \\."
    );
    EXPECT_EQ(*to_pcre2("\\d\\u4e00"), "\\p{Nd}\\x{4e00}");
    for (const char* const unknown : {"\\w",        "\\b",
                                      "\\h",        "^a",
                                      "(?i)a",      "(?m:a)",
                                      "[[a]",       "[a&&b]",
                                      "[",          "[]",
                                      "\\",         "\\p{Greek}",
                                      "\\p{^L}",    "a{2}+",
                                      "a{2}?",      "a{,3}",
                                      "a{",         "a}",
                                      "]",          "[\\S]",
                                      "(*F)",       "(?<name>a)",
                                      "\\xff",      "[[:alpha:]]",
                                      "\\K",        "\\x{110000000}",
                                      "[\\s-.]",    "[a-\\d]",
                                      "[\\p{L}-z]", "\\x{41"}) {
        const auto translated = to_pcre2(unknown);
        ASSERT_TRUE(translated.has_error()) << unknown;
        EXPECT_EQ(translated.error().code, ErrorCode::Unsupported) << unknown;
    }
    EXPECT_EQ(to_pcre2(std::string(kPatternBytesMax + 1, 'a')).error().code, ErrorCode::TooLarge);
    EXPECT_EQ(Pattern::expression("(a").error().code, ErrorCode::Malformed);
    EXPECT_EQ(Pattern::expression("*a").error().code, ErrorCode::Malformed);
}

TEST(StandIns, KeepTheLengthOfATextAndAllOtherCharacters) {
    EXPECT_FALSE(with_stand_ins("plain é 漢 😀 \U0010FFFF").has_value());
    const std::string text = "a\U00031350é";
    const auto changed = with_stand_ins(text);
    ASSERT_TRUE(changed.has_value());
    EXPECT_EQ(changed->size(), text.size());
    EXPECT_NE(*changed, text);
    EXPECT_EQ(changed->front(), 'a');
    EXPECT_TRUE(changed->ends_with("é"));
}

}  // namespace
}  // namespace stacking::tokenizers
