// The exponential, the gates and the soft cap of kernels.hpp on vectors, written once.
// vector_kernels.hpp, whose head says what must be declared before, includes this file.
// Invariant: each lane does the operations of the scalar path, in its order.
// Threading, errors, cost: those of kernels.hpp.
#pragma once

#include "stacking/kernels/exponential.hpp"
#include "stacking/kernels/formulas.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace stacking::kernels {
namespace {

SWARM_TARGET inline Vec exponential_of(Vec x) {
    x = min(spread(kExpMax), max(spread(kExpMin), x));
    const Vec shifted = fma(x, spread(kLog2E), spread(kRoundMagic));
    const Vec minus_n = sub(spread(kRoundMagic), shifted);
    const Vec r = fma(minus_n, spread(kLn2Low), fma(minus_n, spread(kLn2High), x));
    Vec sum = spread(kExpTerms[0]);
    for (std::size_t term = 1; term < std::size(kExpTerms); ++term) {
        sum = fma(sum, r, spread(kExpTerms[term]));
    }
    return mul(sum, exponent_of(shifted));
}

SWARM_TARGET inline Vec gated(Vec gate, Vec up) {
    const Vec one = spread(1.0F);
    return mul(div(gate, add(one, exponential_of(mul(gate, spread(-1.0F))))), up);
}

SWARM_TARGET inline Vec gated_gelu(Vec gate, Vec up) {
    const Vec one = spread(1.0F);
    const Vec inner = mul(gate, fma(mul(gate, gate), spread(kGeluCubic), one));
    return mul(div(gate, add(one, exponential_of(mul(inner, spread(kGeluScale))))), up);
}

/// Replaces each gate by kGated(gate, up).
template <Vec (*kGated)(Vec gate, Vec up)>
SWARM_TARGET void gate_row(float* gate, const float* up, std::size_t count) {
    std::size_t i = 0;
    for (; i + kWidth <= count; i += kWidth) {
        store(gate + i, kGated(load(gate + i), load(up + i)));
    }
    alignas(64) float rest[2][kWidth] = {};
    std::copy(gate + i, gate + count, rest[0]);
    std::copy(up + i, up + count, rest[1]);
    store(rest[0], kGated(load(rest[0]), load(rest[1])));
    std::copy_n(rest[0], count - i, gate + i);
}

SWARM_TARGET inline Vec capped(Vec value, float cap) {
    const Vec above = add(exponential_of(mul(value, spread(2.0F / cap))), spread(1.0F));
    return sub(spread(cap), div(spread(2.0F * cap), above));
}

SWARM_TARGET void soft_cap(float* values, std::size_t count, float cap) {
    std::size_t i = 0;
    for (; i + kWidth <= count; i += kWidth) {
        store(values + i, capped(load(values + i), cap));
    }
    alignas(64) float rest[kWidth] = {};
    std::copy(values + i, values + count, rest);
    store(rest, capped(load(rest), cap));
    std::copy_n(rest, count - i, values + i);
}

}  // namespace
}  // namespace stacking::kernels
