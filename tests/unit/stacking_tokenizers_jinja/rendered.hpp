// A chat template's text, compiled and rendered at a fixed moment.
#pragma once

#include "stacking/tokenizers/jinja/template.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace stacking::tokenizers::jinja::test {

inline constexpr std::int64_t kNow_s = 1'767'264'909;  // 2026-01-01 10:55:09

inline Result<Text> render(std::string_view text, const Variables& variables = {}) {
    const auto compiled = Template::compile(text);
    return compiled ? compiled->render(variables, kNow_s) : compiled.error();
}

/// Returns the text, or "error: " and what was wrong.
inline std::string text_of(std::string_view text, const Variables& variables = {}) {
    const auto rendered = render(text, variables);
    return rendered ? rendered->bytes() : "error: " + rendered.error().detail;
}

}  // namespace stacking::tokenizers::jinja::test
