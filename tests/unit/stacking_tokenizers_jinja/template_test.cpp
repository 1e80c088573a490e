#include "stacking/tokenizers/jinja/template.hpp"

#include "tests/unit/stacking_tokenizers_jinja/rendered.hpp"

#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include <string>

namespace stacking::tokenizers::jinja {
namespace {

using test::render;
using test::text_of;

Variables variables_of(const char* json_text) {
    Variables all;
    const boost::json::value given = boost::json::parse(json_text);
    for (const auto& [name, json] : given.as_object()) {
        all.emplace_back(std::string(name), *from_json(json, Origin::Data));
    }
    return all;
}

std::string text_of(std::string_view text, const char* variables) {
    return text_of(text, variables_of(variables));
}

TEST(Template, ErrorsNameTheLine) {
    EXPECT_EQ(text_of("a\nb\n{{ x.y }}"), "error: the chat template, line 3: 'x' is undefined");
    EXPECT_EQ(
        text_of("{% if true %}\n{% unknown %}"),
        "error: the chat template: line 2: unknown tag 'unknown'"
    );
    EXPECT_NE(text_of("{{ 1 }}\n{{ 'a'|nothing }}").find("line 2: the filter"), std::string::npos);
}

TEST(Template, WhatItRaisesIsToldInItsOwnWords) {
    const auto refused = render("{{ raise_exception('roles must\nalternate') }}");
    ASSERT_TRUE(refused.has_error());
    EXPECT_EQ(refused.error().code, ErrorCode::Mismatch);
    EXPECT_EQ(refused.error().detail, "roles must alternate");
}

TEST(Template, DatesAreThoseOfTheCaller) {
    EXPECT_EQ(
        text_of("{{ strftime_now('%d %b %Y, %H:%M:%S %A %j %-d %%') }}"),
        "01 Jan 2026, 10:55:09 Thursday 001 1 %"
    );
}

TEST(Template, NothingButItsDataIsReached) {
    for (const char* const text :
         {"{{ ''.__class__.__mro__ }}",
          "{{ messages.__init__.__globals__ }}",
          "{{ messages.append(1) }}",
          "{{ d.update({'a': 2}) }}",
          "{{ range.__self__.x }}",
          "{% include 'etc/passwd' %}",
          "{% import 'os' as os %}",
          "{{ namespace(_x=1) }}",
          "{{ self._TemplateReference__context }}"}) {
        EXPECT_TRUE(render(text, variables_of(R"({"messages": [1], "d": {"a": 1}})")).has_error())
            << text;
    }
}

TEST(Template, TextsCountInCharacters) {
    const char* const data = R"({"s": "añ中😀z"})";
    EXPECT_EQ(text_of("{{ s|length }}{{ s[1] }}{{ s[-2:] }}{{ s[::-1] }}", data), "5ñ😀zz😀中ña");
    EXPECT_EQ(text_of("{% for c in s %}{{ c }}.{% endfor %}", data), "a.ñ.中.😀.z.");
    EXPECT_EQ(text_of("{{ 'straße ΑΣ ñ'|upper }}"), "STRASSE ΑΣ Ñ");
}

TEST(Template, BytesOfDataStayBytesOfData) {
    const char* const data = R"({"s": "  <|END|>  ", "l": ["<|", "x"]})";
    for (const char* const text :
         {"{{ s }}",
          "{{ s|trim|lower }}",
          "{{ s.strip()[::-1][::-1]|upper }}",
          "{{ 'a' ~ s ~ 'b' }}",
          "{{ 'a' + s|replace('E', 'e') }}",
          "{{ [s]|join('-') }}",
          "{{ [s] }}",
          "{{ {'k': s}|tojson }}",
          "{{ s.split('D')|join('D') }}",
          "{{ '%s!' % s }}",
          "{{ '{}'.format(s) }}",
          "{% set x %}{{ s|indent }}{% endset %}{{ x|capitalize }}",
          "{% filter title %}{{ s }}{% endfilter %}",
          "{% macro m(x) %}{{ caller() }}{{ x }}{% endmacro %}{% call m(s) %}{{ s }}{% endcall %}",
          "{% for c in s %}{{ c }}{% endfor %}",
          "{{ s|list|join }}",
          "{{ s|replace('D', 'DD')|string|safe|e }}"}) {
        const auto rendered = render(text, variables_of(data));
        ASSERT_TRUE(rendered.has_value()) << text << rendered.error().detail;
        const std::string& bytes = rendered->bytes();
        for (std::size_t at = 0; at < bytes.size(); ++at) {
            const bool is_letter = bytes[at] == '|' || (bytes[at] | 0x20) == 'n';
            EXPECT_TRUE(!is_letter || rendered->origin_at(at) == Origin::Data)
                << text << ": " << bytes << " at " << at;
        }
    }
}

TEST(Template, LiteralsAreTheTemplates) {
    const auto rendered =
        render("<a>{{ '<b>' ~ s ~ '<c>' }}{{ 5 }}", variables_of(R"({"s": "dat"})"));
    ASSERT_TRUE(rendered.has_value());
    EXPECT_EQ(rendered->bytes(), "<a><b>dat<c>5");
    EXPECT_FALSE(rendered->has_data(0, 6));
    EXPECT_TRUE(rendered->has_data(5, 2));
    EXPECT_FALSE(rendered->has_data(9, 4));
}

}  // namespace
}  // namespace stacking::tokenizers::jinja
