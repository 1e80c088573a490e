#include "stages/compute/top_tokens.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <emmintrin.h>
#include <limits>

namespace stages {

using swarm::protocol::TokenScore;

namespace {

constexpr std::size_t kWidth = 4;  // values of a vector

__m128 load(const float* at) {
    return _mm_loadu_ps(at);
}

/// Returns e^x for x from -87 to 0, with an error of some 1e-7 of it. Products and sums are not
/// fused, so the bits are the same on every processor.
__m128 exponential(__m128 x) {
    // x = n log(2) + rest, where n is an integer and the rest is at most log(2) / 2.
    const __m128 magic = _mm_set1_ps(0x1.8p+23F);  // adding it rounds to an integer
    const __m128 shifted = _mm_add_ps(_mm_mul_ps(x, _mm_set1_ps(0x1.715476p+0F)), magic);
    const __m128 n = _mm_sub_ps(shifted, magic);
    __m128 rest = _mm_sub_ps(x, _mm_mul_ps(n, _mm_set1_ps(0x1.62e4p-1F)));
    rest = _mm_sub_ps(rest, _mm_mul_ps(n, _mm_set1_ps(0x1.7f7d1cp-20F)));
    // The series of e^rest to the seventh power.
    constexpr std::array kTerms{
        1.0F / 5040, 1.0F / 720, 1.0F / 120, 1.0F / 24, 1.0F / 6, 0.5F, 1.0F};
    __m128 sum = _mm_set1_ps(kTerms[0]);
    for (std::size_t i = 1; i < kTerms.size(); ++i) {
        sum = _mm_add_ps(_mm_mul_ps(sum, rest), _mm_set1_ps(kTerms[i]));
    }
    sum = _mm_add_ps(_mm_mul_ps(sum, rest), _mm_set1_ps(1));
    constexpr int kMantissaBits = 23;
    const __m128i power = _mm_slli_epi32(_mm_castps_si128(shifted), kMantissaBits);
    return _mm_castsi128_ps(_mm_add_epi32(_mm_castps_si128(sum), power));
}

/// Returns the largest logit; NaN or infinity when some logit is not finite.
float highest_of(std::span<const float> logits) {
    __m128 highest = _mm_set1_ps(-std::numeric_limits<float>::infinity());
    __m128 spoiled = _mm_setzero_ps();  // 0 until a value minus itself is NaN
    std::size_t i = 0;
    for (; i + kWidth <= logits.size(); i += kWidth) {
        const __m128 values = load(logits.data() + i);
        highest = _mm_max_ps(highest, values);
        spoiled = _mm_add_ps(spoiled, _mm_sub_ps(values, values));
    }
    std::array<float, kWidth> each{};
    std::array<float, kWidth> zeros{};
    _mm_storeu_ps(each.data(), highest);
    _mm_storeu_ps(zeros.data(), spoiled);
    float most = *std::max_element(each.begin(), each.end());
    float zero = zeros[0] + zeros[1] + zeros[2] + zeros[3];
    for (; i < logits.size(); ++i) {
        most = std::max(most, logits[i]);
        zero += logits[i] - logits[i];
    }
    return most + zero;
}

/// The number to subtract from a logit to get its log-probability.
double normaliser_of(std::span<const float> logits, float highest) {
    const __m128 most = _mm_set1_ps(highest);
    const __m128 lowest = _mm_set1_ps(-87);  // e^-87 is nothing beside the highest's 1
    __m128d sums = _mm_setzero_pd();
    const auto add = [&](__m128 values) {
        const __m128 each = exponential(_mm_max_ps(_mm_sub_ps(values, most), lowest));
        sums = _mm_add_pd(sums, _mm_cvtps_pd(each));
        sums = _mm_add_pd(sums, _mm_cvtps_pd(_mm_movehl_ps(each, each)));
    };
    std::size_t i = 0;
    for (; i + kWidth <= logits.size(); i += kWidth) {
        add(load(logits.data() + i));
    }
    if (i < logits.size()) {
        std::array<float, kWidth> last{};
        last.fill(-std::numeric_limits<float>::infinity());
        std::copy(logits.begin() + static_cast<std::ptrdiff_t>(i), logits.end(), last.begin());
        add(load(last.data()));
    }
    std::array<double, 2> halves{};
    _mm_storeu_pd(halves.data(), sums);
    return double{highest} + std::log(halves[0] + halves[1]);
}

struct Candidate {
    float logit;
    std::uint32_t token;
};

bool is_better(const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
}

/// Returns the best candidates in any order. `count` is 1 to the number of logits.
std::vector<Candidate> best_of(std::span<const float> logits, std::size_t count) {
    // Candidates are collected until there are some more than needed; then the worst that is needed
    // is a threshold which few of the rest pass.
    const std::size_t most = 2 * count + 64;
    std::vector<Candidate> found;
    found.reserve(most);
    float threshold = -std::numeric_limits<float>::infinity();
    const auto keep_best = [&] {
        const auto end = found.begin() + static_cast<std::ptrdiff_t>(count);
        std::nth_element(found.begin(), end - 1, found.end(), is_better);
        found.erase(end, found.end());
        threshold = found.back().logit;
    };
    const auto look_at = [&](std::size_t i) {
        if (logits[i] > threshold) {
            found.push_back({logits[i], static_cast<std::uint32_t>(i)});
            if (found.size() == most) {
                keep_best();
            }
        }
    };
    std::size_t i = 0;
    for (; i + kWidth <= logits.size(); i += kWidth) {
        const __m128 above = _mm_cmpgt_ps(load(logits.data() + i), _mm_set1_ps(threshold));
        if (_mm_movemask_ps(above) != 0) {
            for (std::size_t k = i; k < i + kWidth; ++k) {
                look_at(k);
            }
        }
    }
    for (; i < logits.size(); ++i) {
        look_at(i);
    }
    if (found.size() > count) {
        keep_best();
    }
    return found;
}

}  // namespace

std::vector<TokenScore> top_tokens(std::span<const float> logits, std::uint32_t count) {
    std::vector<TokenScore> scores;
    const float highest = logits.empty() ? 0 : highest_of(logits);
    if (logits.empty() || !std::isfinite(highest)) {
        return scores;
    }
    const double normaliser = normaliser_of(logits, highest);
    const std::size_t kept = std::min<std::size_t>(std::max(count, 1U), logits.size());
    for (const Candidate& one : best_of(logits, kept)) {
        scores.push_back({one.token, one.logit - normaliser});
    }
    std::ranges::sort(scores, [](const TokenScore& a, const TokenScore& b) {
        return a.log_probability != b.log_probability ? a.log_probability > b.log_probability
                                                      : a.token < b.token;
    });
    return scores;
}

double log_probability(std::span<const float> logits, std::uint32_t token) {
    const float highest = highest_of(logits);
    return std::isfinite(highest) ? logits[token] - normaliser_of(logits, highest)
                                  : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace stages
