// A policy's seed for tests that name the slot that they expect where only the policy's own order
// decides.
#pragma once

#include <cstdint>

namespace router {

/// A sender whose own order (router/policy.hpp) of the slots 1 to 8 is 1 to 8.
constexpr std::uint64_t kInSlotOrder = 101607;

}  // namespace router
