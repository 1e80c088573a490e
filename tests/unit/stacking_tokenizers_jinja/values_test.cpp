// Numbers, keys and dates of templates, with Python's results.
#include "stacking/tokenizers/jinja/template.hpp"
#include "tests/unit/stacking_tokenizers_jinja/rendered.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace stacking::tokenizers::jinja {
namespace {

using test::kNow_s;
using test::text_of;

/// Each value of the list is printed; what it must print is Python's.
void expect_prints(std::initializer_list<std::pair<const char*, const char*>> cases) {
    for (const auto& [value, printed] : cases) {
        EXPECT_EQ(text_of("{{ " + std::string(value) + " }}"), printed) << value;
    }
}

void expect_failure(const char* value, const char* what) {
    const std::string text = text_of("\n{{ " + std::string(value) + " }}");
    EXPECT_EQ(text.find("error: the chat template, line 2: "), 0U) << value << ": " << text;
    EXPECT_NE(text.find(what), std::string::npos) << text;
}

TEST(Values, RoundIsPythons) {
    expect_prints({
        {"2.5|round", "2.0"},
        {"3.5|round", "4.0"},
        {"2.675|round(2)", "2.67"},
        {"1e300|round(300)", "1e+300"},
        {"0.1|round(25)", "0.1"},
        {"0.1|round(9223372036854775807)", "0.1"},
        {"5|round(9223372036854775807)", "5"},
        {"5|round(-9223372036854775807 - 1)", "0"},
        {"5.5|round(-9223372036854775807 - 1)", "0.0"},
        {"15|round(-1)", "20"},
        {"25|round(-1)", "20"},
        {"-25|round(-1)", "-20"},
        {"1234|round(-2)", "1200"},
        {"15.0|round(-1)", "20.0"},
        {"25.0|round(-1)", "20.0"},
        {"25.5|round(-1)", "30.0"},
        {"999.0|round(-1)", "1000.0"},
        {"7.0|round(-1)", "10.0"},
        {"1e22|round(-22)", "1e+22"},
        {"9223372036854775807|round", "9223372036854775807"},
        {"(-9223372036854775807 - 1)|round", "-9223372036854775808"},
        {"9223372036854775807|round(-18)", "9000000000000000000"},
        {"(-9223372036854775807 - 1)|round(-20)", "0"},
        {"2.1|round(0, 'ceil')", "3.0"},
        {"2.15|round(1, 'floor')", "2.1"},
        {"7|round(30, 'ceil')", "7.0"},
        {"123|round(-2, 'ceil')", "200.0"},
        {"true|round", "1"},
    });
    expect_failure("(-9223372036854775807 - 1)|round(-1)", "over 64 bits");
    expect_failure("9223372036854775807|round(-19)", "over 64 bits");
    expect_failure("1.7e308|round(-308)", "too large");
    expect_failure("1e300|round(20, 'ceil')", "too large");
    expect_failure("1.5|round(-9223372036854775807 - 1, 'floor')", "too small");
    expect_failure("'a'|round", "wants a number");
}

TEST(Values, IntIsPythonsOrAnError) {
    expect_prints({
        {"'-9223372036854775808'|int", "-9223372036854775808"},
        {"'9223372036854775807'|int", "9223372036854775807"},
        {"'1.9'|int", "1"},
        {"'-1.9'|int", "-1"},
        {"'x'|int(7)", "7"},
        {"'--1'|int", "0"},
        {"'0x1F'|int(0, 16)", "31"},
        {"'z'|int(0, 36)", "35"},
        {"'nan'|int(3)", "3"},
        {"'inf'|int(3)", "3"},
    });
    expect_failure("'9223372036854775808'|int", "over 64 bits");
    expect_failure("1e19|int", "over 64 bits");
}

TEST(Values, NumbersAreComparedExactly) {
    expect_prints({
        {"9007199254740993 == 9007199254740992.0", "False"},
        {"9007199254740993 > 9007199254740992.0", "True"},
        {"9223372036854775807 < 9223372036854775808.0", "True"},
        {"1 == 1.0 and true == 1", "True"},
        {"[1, 2] < [1, 3] and [1] < [1, 0] and not [2] <= [1]", "True"},
        {"[none, 1] < [none, 2]", "True"},
        {"('nan'|float) <= 1", "False"},
    });
    expect_failure("none < none", "not supported");
    expect_failure("[1, none] < [1, 2]", "not supported");
}

TEST(Values, KeysOfADictAreThoseOfPython) {
    expect_prints({
        {"{'b': 1, 'a': 2, 'b': 3}", "{'b': 3, 'a': 2}"},
        {"{1: 'a', 1.0: 'b', true: 'c'}", "{1: 'c'}"},
        {"{(1, 'x'): 5, none: 6}[(1, 'x')]", "5"},
        {"{(1, 'x'): 5, none: 6}[none]", "6"},
        {"{'a': 1, 'b': 2} == {'b': 2, 'a': 1}", "True"},
        {"{'a': 1, 'b': 2} == {'b': 2, 'a': 3}", "False"},
        {"{'a': 1} == {'b': 1}", "False"},
        {"1 in {'1': 1}", "False"},
        {"{'z': 1, 'y': 2, 3: 4}.get('y')", "2"},
        {"{'z': 1, 'y': 2}|tojson(sort_keys=true)", R"({"y": 2, "z": 1})"},
        {"[2, 1, 2.0, 'B', 'b', none, none]|unique|list", "[2, 1, 'B', None]"},
    });
    expect_failure("{(1, []): 2}", "unhashable");
    expect_failure("{range: 2}", "unhashable");
}

TEST(Values, SearchesAreThoseOfPython) {
    expect_prints({
        {"'abcabcab'.split('ab')", "['', 'c', 'c', '']"},
        {"'aaaaa'.split('aa')", "['', '', 'a']"},
        {"'aaaaa'.rsplit('aa')", "['a', '', '']"},
        {"'aaaaa'.rsplit('aa', 1)", "['aaa', '']"},
        {"'aaaaa'.count('aa')", "2"},
        {"'ababa'.find('ba')", "1"},
        {"'ababa'.rfind('ba')", "3"},
        {"'añañ'.rfind('ñ')", "3"},
        {"'abc'.find('')", "0"},
        {"'abc'.rfind('')", "3"},
        {"'abc'.count('')", "4"},
        {"'' in 'abc' and '' in ''", "True"},
        {"'abababac'.replace('abac', 'X')", "ababX"},
        {"'aaaa'.replace('aa', 'b', 1)", "baa"},
        {"'abc'.replace('', '-', 2)", "-a-bc"},
        {"'éaé'.strip('é')", "a"},
        {"'xyaxy'.strip('yx')", "a"},
    });
}

TEST(Values, ArgumentsOfAMacroAreBoundOnce) {
    const std::string macro = "{% macro m(a, b=2) %}{{ a }}{{ b }}{{ kwargs }}{% endmacro %}";
    EXPECT_EQ(text_of(macro + "{{ m(1, b=3, c=4) }}"), "13{'c': 4}");
    EXPECT_EQ(text_of(macro + "{{ m(1, a=3) }}"), "12{'a': 3}");
    EXPECT_NE(
        text_of("{% macro m(a) %}{% endmacro %}{{ m(1, a=3) }}").find("error"), std::string::npos
    );
}

TEST(Values, DatesKeepWhatIsNoConversion) {
    EXPECT_EQ(
        text_of("{{ strftime_now('%-d. März %Y — %H:%M %é %Q %z%% %') }}"),
        "1. März 2026 — 10:55 %é %Q % %"
    );
    expect_failure("strftime_now('%d' * 999)", "at most");
    // A format of the data stays data, but for the numbers that stand in it.
    const auto compiled = Template::compile("{{ strftime_now(s) }}");
    ASSERT_TRUE(compiled.has_value());
    const auto date = compiled->render({{"s", Text("<|%Y|>", Origin::Data)}}, kNow_s);
    ASSERT_TRUE(date.has_value());
    EXPECT_EQ(date->bytes(), "<|2026|>");
    EXPECT_EQ(date->runs().size(), 1U);
    EXPECT_EQ(date->origin_at(0), Origin::Data);
}

TEST(Values, AnErrorIsOneShortLine) {
    for (const char* const value :
         {"('a'|attr('b\\nc')).x",
          "'{a\\nb}'.format()",
          "[1][('a' * 9999)].x",
          "[1]|attr('a' * 9999) + 1"}) {
        const std::string text = text_of("{{ " + std::string(value) + " }}");
        EXPECT_EQ(text.find("error: the chat template, line 1: "), 0U) << text;
        EXPECT_EQ(text.find('\n'), std::string::npos) << text;
        EXPECT_LT(text.size(), 600U);
    }
    EXPECT_NE(text_of("{{ 1 }}\xff").find("UTF-8"), std::string::npos);
    EXPECT_NE(text_of("\xf0\x9f").find("UTF-8"), std::string::npos);
    EXPECT_NE(
        text_of("{{ " + std::string(300, 'a') + " }}").find("line 1: a name"), std::string::npos
    );
    EXPECT_LT(text_of("{{ 0" + std::string(9999, '1') + " }}").size(), 600U);
}

}  // namespace
}  // namespace stacking::tokenizers::jinja
