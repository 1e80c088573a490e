#include "stages/files/strict_json.hpp"

#include <gtest/gtest.h>

#include <string>

namespace stages {
namespace {

TEST(StrictJson, ReadsWhatTheLibraryReads) {
    const auto parsed = parse_strict_json(R"({"a": [1, -2, 1.5, null, true], "b": {"a": "x\n"}})");
    ASSERT_TRUE(parsed.has_value());
    EXPECT_EQ(parsed->at("a").at(1).as_int64(), -2);
    EXPECT_EQ(parsed->at("b").at("a").as_string(), "x\n");
}

TEST(StrictJson, RefusesAKeyTwiceInOneObject) {
    for (const char* const text :
         {R"({"a": 1, "a": 2})",
          R"({"x": [{"k": 1, "j": 2, "k": 1}]})",
          R"({"a": 1, "\u0061": 1})"}) {
        const auto parsed = parse_strict_json(text);
        ASSERT_TRUE(parsed.has_error()) << text;
        EXPECT_EQ(parsed.error().code, swarm::ErrorCode::Malformed);
    }
}

TEST(StrictJson, AllowsAKeyAgainInAnotherObject) {
    EXPECT_TRUE(parse_strict_json(R"({"a": {"a": 1}, "b": {"a": 2}})"));
}

TEST(StrictJson, RefusesTextThatIsNoJsonOrNestsTooDeep) {
    for (const std::string& text :
         {std::string(),
          std::string("{"),
          std::string("{} x"),
          std::string(17, '['),
          std::string(1'000'000, '['),
          std::string(17, '[') + std::string(17, ']')}) {
        EXPECT_TRUE(parse_strict_json(text).has_error()) << text.substr(0, 40);
    }
}

}  // namespace
}  // namespace stages
