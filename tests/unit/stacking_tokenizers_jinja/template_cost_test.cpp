// Work that a template can ask for by few steps: each is paid for by its size, or is quick.
#include "stacking/tokenizers/jinja/limits.hpp"
#include "stacking/tokenizers/jinja/template.hpp"
#include "tests/unit/stacking_tokenizers_jinja/rendered.hpp"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include <ctime>
#include <functional>
#include <string>

namespace stacking::tokenizers::jinja {
namespace {

using test::render;
using test::text_of;

#if defined(__has_feature)
#define SWARM_UNDER_SANITIZERS __has_feature(address_sanitizer)
#else
#define SWARM_UNDER_SANITIZERS 0
#endif

/// Processor time that a test may take. Each takes less than half of it, and several times as much
/// where its work grows by the square. Sanitizers make it four times as long.
constexpr double kSeconds = SWARM_UNDER_SANITIZERS ? 24 : 6;

/// Joins what `part` makes of each number below `count`.
std::string numbered(
    std::size_t count, const std::function<std::string(const std::string&)>& part
) {
    std::string all;
    for (std::size_t i = 0; i < count; ++i) {
        all += part(std::to_string(i));
    }
    return all;
}

class TemplateCost : public testing::Test {
 protected:
    ~TemplateCost() override { EXPECT_LT(seconds(), kSeconds); }

    [[nodiscard]] double seconds() const {
        return static_cast<double>(std::clock() - begin_) / CLOCKS_PER_SEC;
    }

    static void expect_too_large(const std::string& text) {
        const auto rendered = render(text);
        ASSERT_TRUE(rendered.has_error()) << text.substr(0, 120);
        EXPECT_EQ(rendered.error().code, ErrorCode::TooLarge) << rendered.error().detail;
    }

    /// Does `statement` 2,000 times; x is a text of 10 MB, and l two dicts that hold it as k.
    static void expect_paid(const std::string& statement) {
        expect_too_large(
            "{% set x = 'a' * 9999999 %}{% set l = [{'k': x}, {'k': x}] %}{% for i in range(2000) "
            "%}" +
            statement + "{% endfor %}"
        );
    }

 private:
    std::clock_t begin_ = std::clock();
};

TEST_F(TemplateCost, LongTextsArePaidForWhereverTheyGo) {
    expect_paid("{% set y = x % () %}");
    expect_paid("{% set y = 'a'.find(x) %}");
    expect_paid("{% set y = 'a'.startswith((x, x)) %}");
    expect_paid("{% set y = x.strip('b') %}");
    expect_paid("{% set y = l|max(true, 'k') %}");
    expect_paid("{% set y = l|min(false, 'k') %}");
    expect_paid("{% set y = [1]|attr(x) %}");
    expect_paid("{% set y = [1][x] %}");
    expect_paid("{% set y = x in {'b': 1, 'c': 2, 'd': 3, 'e': 4} %}");
    expect_paid("{% set y = [1]|join(x) %}");
}

TEST_F(TemplateCost, APathIsPaidForByItemAndPart) {
    expect_too_large(
        "{% set p = '0.' * 9999 ~ '0' %}"
        "{{ range(999)|map(attribute=p, default=[0])|list|length }}"
    );
}

TEST_F(TemplateCost, ALongTupleOfPrefixesIsPaidFor) {
    expect_too_large(
        "{% set t = ('b',) * 99999 %}{% for i in range(999) %}"
        "{% if 'a'.startswith(t) %}{% endif %}{% endfor %}"
    );
}

TEST_F(TemplateCost, DigitsOfANumberArePaidFor) {
    expect_too_large("{% for i in range(99999) %}{% set y = '%.1000f' % 1e308 %}{% endfor %}");
}

TEST_F(TemplateCost, ATextThatChangesItsOriginOftenIsPaidFor) {
    // Each change takes memory, too: a text of 16 MB would have 16 million of them.
    const Variables variables{{"s", Text("s", Origin::Data)}};
    const auto rendered = render(
        "{% set ns = namespace(x='a' ~ s) %}{% for i in range(23) %}"
        "{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
        variables
    );
    ASSERT_TRUE(rendered.has_error());
    EXPECT_EQ(rendered.error().code, ErrorCode::TooLarge);
    EXPECT_NE(rendered.error().detail.find("steps"), std::string::npos) << rendered.error().detail;
}

TEST_F(TemplateCost, ASearchIsLinear) {
    const std::string texts =
        "{% set x = 'a' * 400000 %}{% set r = 'a' * 200000 ~ 'b' %}{% set l = 'b' ~ 'a' * 200000 "
        "%}";
    EXPECT_EQ(
        text_of(
            texts +
            "{{ r in x }} {{ x.find(r) }} {{ x.rfind(l) }} {{ x.count(r) }} "
            "{{ x.split(r)|length }} {{ x.rsplit(l)|length }} {{ (x|replace(r, '')) == x }} "
            "{{ x.replace(r, '') == x }}"
        ),
        "False -1 -1 0 1 1 True True"
    );
}

TEST_F(TemplateCost, StrippingIsLinear) {
    EXPECT_EQ(text_of("{{ ('a' * 70000).strip('b' * 70000 ~ 'a') }}"), "");
    EXPECT_EQ(text_of("{{ ('é' * 40000)|trim('ü' * 40000 ~ 'é') }}"), "");
}

TEST_F(TemplateCost, ManyNamesAreFoundSoon) {
    const std::string sets =
        numbered(30'000, [](const std::string& number) { return "{% set a" + number + " = 1 %}"; });
    expect_too_large(
        sets +
        "{% for i in range(99999) %}{% for j in range(99999) %}{% if no %}{% endif %}"
        "{% endfor %}{% endfor %}"
    );
    // The parser keeps the names that a template uses.
    const std::string names =
        numbered(90'000, [](const std::string& number) { return "a" + number + ","; });
    EXPECT_EQ(text_of("{{ [" + names + "]|length }}"), "90000");
}

TEST_F(TemplateCost, ManyKeysAreFoundSoon) {
    boost::json::object many;
    for (int i = 0; i < 20'000; ++i) {
        many[std::to_string(i)] = i;
    }
    const Variables variables{{"d", *from_json(many, Origin::Data)}};
    EXPECT_EQ(
        text_of("{% for i in range(20) %}{{ d == dict(d.items()) }}{% endfor %}", variables).size(),
        80U
    );
    EXPECT_EQ(
        text_of("{% for k in d %}{% if d[k] != k|int %}{{ k }}{% endif %}{% endfor %}", variables),
        ""
    );
    EXPECT_EQ(text_of("{{ d.items()|map('last')|unique|list|length }}", variables), "20000");
}

TEST_F(TemplateCost, ManyArgumentsAreBoundSoon) {
    const auto name = [](const std::string& number) { return "p" + number + ","; };
    const auto argument = [](const std::string& number) { return "p" + number + "=1,"; };
    EXPECT_EQ(
        text_of(
            "{% macro m(" + numbered(10'000, name) + ") %}{{ p9999 }}{% endmacro %}" +
            "{% for i in range(20) %}{{ m(" + numbered(10'000, argument) + ") }}{% endfor %}"
        ),
        std::string(20, '1')
    );
}

TEST_F(TemplateCost, ComparingNestedListsGoesThroughThemOnce) {
    // A comparison that asked for == first and for < then would go through them at each level.
    expect_too_large(
        "{% set ns = namespace(l=['ab'] * 30000 + [1], r=['ab'] * 30000 + [2]) %}"
        "{% for i in range(60) %}{% set ns.l = [ns.l] %}{% set ns.r = [ns.r] %}{% endfor %}"
        "{% for i in range(9999) %}{% if ns.l < ns.r %}{% endif %}{% endfor %}"
    );
    EXPECT_LT(seconds(), kSeconds / 4);
}

}  // namespace
}  // namespace stacking::tokenizers::jinja
