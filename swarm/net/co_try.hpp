// SWARM_CO_TRY is the SWARM_TRY of coroutines: it leaves by co_return.
//   SWARM_CO_TRY(co_await stream.handshake());
//   SWARM_CO_TRY(const auto header, protocol::decode_header(bytes, lane));
// The Result is kept by value, as gcc 12 destroys some temporaries of a co_await too early.
#pragma once

#include "swarm/base/try.hpp"

#define SWARM_CO_TRY(first, ...)                                           \
    SWARM_TRY_PICK_(__VA_OPT__(, ) SWARM_TRY_TAKE_, SWARM_CO_TRY_CHECK_, ) \
    (co_return, SWARM_TRY_NAME_(swarm_try_, __LINE__), first __VA_OPT__(, ) __VA_ARGS__)

// NOLINTBEGIN(bugprone-macro-parentheses): names, no expressions
#define SWARM_CO_TRY_CHECK_(leave, result, expression)   \
    do {                                                 \
        if (const auto result = (expression); !result) { \
            leave result.error();                        \
        }                                                \
    } while (false)
// NOLINTEND(bugprone-macro-parentheses)
