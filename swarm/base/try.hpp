// SWARM_TRY returns the error of a Result from the function around it, when there is an error:
//   SWARM_TRY(check(header));                       checks a Result<>, or drops a Result's value
//   SWARM_TRY(const auto header, read_header(in));  declares a variable that holds the value
//   SWARM_TRY(header, read_header(in));             assigns the value to a variable that exists
// The function around it returns a Result<U> of any U, an Error or a std::optional<Error>.
// The forms with two arguments are two statements: put them in a block of their own after an if.
// A comma in the first argument would end it: write auto where the type has one.
#pragma once

#include "swarm/base/result.hpp"

#include <utility>

#define SWARM_TRY(first, ...)                                           \
    SWARM_TRY_PICK_(__VA_OPT__(, ) SWARM_TRY_TAKE_, SWARM_TRY_CHECK_, ) \
    (return, SWARM_TRY_NAME_(swarm_try_, __LINE__), first __VA_OPT__(, ) __VA_ARGS__)

#define SWARM_TRY_PICK_(unused, picked, ...) picked
#define SWARM_TRY_NAME_(prefix, line) SWARM_TRY_JOIN_(prefix, line)
#define SWARM_TRY_JOIN_(prefix, line) prefix##line

/// `leave` is return, or co_return in a coroutine (swarm/net/co_try.hpp).
// NOLINTBEGIN(bugprone-macro-parentheses): names and declarations, no expressions
#define SWARM_TRY_CHECK_(leave, result, expression)       \
    do {                                                  \
        if (const auto& result = (expression); !result) { \
            leave result.error();                         \
        }                                                 \
    } while (false)

#define SWARM_TRY_TAKE_(leave, result, target, ...) \
    auto result = (__VA_ARGS__);                    \
    if (!result) {                                  \
        leave result.error();                       \
    }                                               \
    target = *std::move(result)
// NOLINTEND(bugprone-macro-parentheses)
