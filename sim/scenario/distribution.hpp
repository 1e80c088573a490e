// Random numbers of a given distribution, from integer draws: the standard library's distributions
// differ between libraries, and libm's logarithm in its last bit.
// Invariant: the same bits from every compiler at every optimisation level. The arithmetic is on
// integers: fixed point with 24 fractional bits for the values of a Draw, whole nanoseconds for
// durations. A double is multiplied once and cut, or comes from an integer: there is no sum to
// fuse. Each function takes exactly one number from the stream, so that a change of distribution
// shifts nothing.
// Units: those of the values. Threading: the Rng's. Cost: below 1 us; the logarithm is 48 products.
// Source: the logarithm one bit at a time, by squaring (Knuth, TAOCP 1, section 1.2.2, ex. 25).
#pragma once

#include "sim/scenario/scenario.hpp"
#include "swarm/base/rng.hpp"
#include "swarm/base/units.hpp"

#include <cstdint>

namespace sim {

/// Largest magnitude of a value of a Draw: 80 Gbit/s in bytes per second, and 300 years in seconds.
inline constexpr double kDrawMax = 1e10;
inline constexpr int kDrawFractionBits = 24;

/// Returns -ln(u) for u uniform in (0, 1]: mean 1, at most 44.4, with 40 fractional bits.
std::uint64_t standard_exponential(swarm::Rng& rng);

/// Draws from an exponential distribution of this mean, >= 0. The result is at least 1 ns, so that
/// the next event is later, and at most kDurationMax.
Duration exponential(swarm::Rng& rng, Duration mean);

/// Draws a number from `draw`. A constant comes back as it is; the others in steps of 2^-24.
double sample(swarm::Rng& rng, const Draw& draw);

/// Seconds as a Duration, cut to whole nanoseconds and to [0, kDurationMax].
Duration to_duration(double seconds);

/// The place, of `count` >= 1 places, on which `key` falls. One place more moves only 1 / (count +
/// 1) of the keys, all to the new place. Source: jump consistent hash (Lamping, Veach 2014).
std::uint32_t place_of(std::uint64_t key, std::uint32_t count);

}  // namespace sim
