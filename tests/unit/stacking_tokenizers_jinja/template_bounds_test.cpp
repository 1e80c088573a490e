// Templates that would run, recurse or grow for ever: each ends with one line, and soon.
#include "stacking/tokenizers/jinja/limits.hpp"
#include "stacking/tokenizers/jinja/template.hpp"
#include "tests/unit/stacking_tokenizers_jinja/rendered.hpp"

#include <gtest/gtest.h>

#include <string>

namespace stacking::tokenizers::jinja {
namespace {

using test::render;

std::string repeated(const std::string& text, std::size_t times) {
    std::string all;
    for (std::size_t i = 0; i < times; ++i) {
        all += text;
    }
    return all;
}

void expect_too_large(const std::string& text) {
    const auto rendered = render(text);
    ASSERT_TRUE(rendered.has_error()) << text.substr(0, 80);
    EXPECT_EQ(rendered.error().code, ErrorCode::TooLarge) << rendered.error().detail;
    EXPECT_EQ(rendered.error().detail.find('\n'), std::string::npos);
    EXPECT_LT(rendered.error().detail.size(), 200U);
}

const std::string kLoops = "{% for a in range(99999) %}{% for b in range(99999) %}";
const std::string kEnds = "{% endfor %}{% endfor %}";

TEST(TemplateBounds, AnEndlessLoopEnds) {
    expect_too_large(kLoops + kEnds);
    expect_too_large("{% set x = 'a' * 999999 %}" + kLoops + "{% set y = x|upper %}" + kEnds);
    expect_too_large(
        "{% set x = 'a' * 999999 %}" + kLoops + "{% if x == x ~ 'b' %}{% endif %}" + kEnds
    );
}

TEST(TemplateBounds, AMethodOfAListOfMethodsIsAsDeepAsThey) {
    expect_too_large(
        "{% set ns = namespace(v=[]) %}{% for i in range(99999) %}"
        "{% set ns.v = [ns.v.copy] %}{% endfor %}"
    );
}

TEST(TemplateBounds, ARecursionEnds) {
    expect_too_large("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}");
    expect_too_large(
        "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}{{ a() }}"
    );
}

TEST(TemplateBounds, AGigabyteIsNotBuilt) {
    expect_too_large("{{ 'a' * 1000000000 }}");
    expect_too_large(
        "{% set ns = namespace(x='ab') %}{% for i in range(40) %}"
        "{% set ns.x = ns.x + ns.x %}{% endfor %}"
    );
    expect_too_large("{% set x = 'a' * 99999 %}{% for i in range(99999) %}{{ x }}{% endfor %}");
    expect_too_large("{{ [0] * 1000000000 }}");
    expect_too_large(
        "{% set ns = namespace(x=[0]) %}{% for i in range(60) %}"
        "{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}"
    );
    expect_too_large(
        "{% set ns = namespace(x=[0]) %}{% for i in range(99) %}"
        "{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x }}"
    );
    expect_too_large("{{ range(999999999) }}");
    expect_too_large("{{ ('a' * 9999)|replace('a', 'b' * 9999) }}");
    expect_too_large("{{ ('a' * 99999)|replace('', 'b' * 9999) }}");
    expect_too_large("{{ '%99999999d' % 5 }}");
    expect_too_large("{{ [1]|batch(99999, 'x' * 999999)|list|tojson }}");
}

TEST(TemplateBounds, NestingHasABound) {
    expect_too_large("{{ " + repeated("(", 5000) + "1" + repeated(")", 5000) + " }}");
    expect_too_large("{{ " + repeated("[", 5000) + repeated("]", 5000) + " }}");
    expect_too_large("{{ " + repeated("not ", 5000) + "1 }}");
    expect_too_large("{{ " + repeated("-", 1) + repeated(" - ", 5000) + "1 }}");
    expect_too_large("{{ 1" + repeated(" + 1", 5000) + " }}");
    expect_too_large("{{ x" + repeated(".x", 5000) + " }}");
    expect_too_large("{{ x" + repeated("|upper", 5000) + " }}");
    expect_too_large("{{ 1" + repeated(" if 1 else 1", 5000) + " }}");
    expect_too_large(repeated("{% if 1 %}", 5000));
    expect_too_large("{{ " + repeated("f(x|g(", 1000) + repeated("))", 1000) + " }}");
}

TEST(TemplateBounds, ATemplateHasALargestSize) {
    expect_too_large(std::string(kTemplateBytesMax + 1, 'a'));
    expect_too_large("{{ [" + repeated("1,", kTokensMax) + "] }}");
}

TEST(TemplateBounds, IntegersHave64Bits) {
    for (const char* const text :
         {"{{ 9223372036854775807 + 1 }}",
          "{{ -9223372036854775807 - 2 }}",
          "{{ 9223372036854775807 * 2 }}",
          "{{ 2 ** 63 }}",
          "{{ (-9223372036854775807 - 1) // -1 }}",
          "{{ -(-9223372036854775807 - 1) }}",
          "{{ 9223372036854775808 }}"}) {
        const auto rendered = render(text);
        ASSERT_TRUE(rendered.has_error()) << text << rendered->bytes();
        EXPECT_NE(rendered.error().detail.find("line 1"), std::string::npos);
    }
    EXPECT_EQ(render("{{ (-9223372036854775807 - 1) % -1 }}")->bytes(), "0");
}

}  // namespace
}  // namespace stacking::tokenizers::jinja
