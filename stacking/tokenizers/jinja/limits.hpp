// Bounds of a template and of one rendering. A template comes with a model from anybody.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stacking::tokenizers::jinja {

inline constexpr std::size_t kTemplateBytesMax = 1U << 20;
inline constexpr std::size_t kTokensMax = 200'000;  // tokens of a template's statements
inline constexpr std::size_t kNameBytesMax = 256;   // Length of a name in a template

/// Depth of the syntax tree; a chain such as a + b + c is as deep as it is long.
inline constexpr std::uint32_t kNestingMax = 200;

/// Expressions, statements and macros that are under way at once, one within the other.
inline constexpr std::uint32_t kEvaluationDepthMax = 600;
inline constexpr std::uint32_t kMacroDepthMax = 64;  // calls of macros, one within the other

/// Steps of a rendering: nodes that were evaluated, and work on values by their size.
inline constexpr std::uint64_t kStepsMax = 4'000'000;
inline constexpr std::size_t kBytesPerStep = 64;  // bytes of a text that cost one step
inline constexpr std::size_t kRunsPerStep = 4;    // changes of origin in a text
inline constexpr std::size_t kScopesPerStep = 8;  // scopes in which a name is looked up

inline constexpr std::size_t kCharactersPerStep = 8;  // where each character is looked at
inline constexpr std::uint64_t kStepsPerTurn = 8;     // Cost of one turn of a loop, beside its body
inline constexpr std::uint64_t kStepsPerElement = 4;  // Cost of a small text or pair in a new list

inline constexpr std::size_t kTextBytesMax = 16U << 20;  // Length of a text and of the output
inline constexpr std::size_t kElementsMax = 1'000'000;   // Length of a list or dict
inline constexpr std::size_t kRangeMax = 100'000;        // numbers of a range(); Jinja's own bound
inline constexpr std::uint32_t kValueDepthMax = 64;      // lists and dicts within each other
inline constexpr std::size_t kFieldWidthMax = 1'000;     // width and precision of "%10.3f"
inline constexpr std::size_t kMessageBytesMax = 500;     // Length of an error's text
inline constexpr std::size_t kDateBytesMax = 1'000;      // Length of the format of a date

}  // namespace stacking::tokenizers::jinja
