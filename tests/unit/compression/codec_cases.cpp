#include "codec_cases.hpp"

#include "compression/half.hpp"
#include "compression/int4.hpp"
#include "compression/int8.hpp"
#include "compression/sparse.hpp"
#include "swarm/base/rng.hpp"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>

namespace compression::test {
namespace {

/// The values from `begin` on, with zeros up to 64.
Values group_at(const Values& values, std::size_t begin) {
    const std::size_t count = std::min(simd::kGroup, values.size() - begin);
    Values group(simd::kGroup, 0.0F);
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(begin), count, group.begin());
    return group;
}

float largest_of(const Values& values) {
    float largest = 0;
    for (const float value : values) {
        largest = std::max(largest, std::fabs(value));
    }
    return largest;
}

/// The largest coefficient of the orthonormal transform, straight from its definition.
float largest_coefficient(const Values& group) {
    double largest = 0;
    for (unsigned row = 0; row < simd::kGroup; ++row) {
        double sum = 0;
        for (unsigned column = 0; column < simd::kGroup; ++column) {
            sum += std::popcount(row & column) % 2 == 0 ? group[column] : -double{group[column]};
        }
        largest = std::max(largest, std::fabs(sum) / 8);
    }
    return static_cast<float>(largest * (1 + 0x1p-20));
}

double half_error(double magnitude, double relative, double smallest_normal, double denormal) {
    return magnitude < smallest_normal ? denormal : magnitude * relative;
}

}  // namespace

std::uint64_t documented_size(CodecId id, std::uint64_t n) {
    switch (id) {
        case CodecId::None:
            return 4 * n;
        case CodecId::Int8:
            return n + 4 * ((n + 63) / 64);
        case CodecId::Bf16:
        case CodecId::Fp16:
            return 2 * n;
        case CodecId::Int4:
            return (n + 1) / 2 + 2 * ((n + 63) / 64);
        case CodecId::HadamardInt4:
            return 34 * ((n + 63) / 64);
        case CodecId::Sparse: {
            const std::uint64_t kept = (n % 4096 + 63) / 64;  // in the last chunk
            const std::uint64_t last = 4 + (3 * kept + 1) / 2 + (kept + 3) / 4;
            return n == 0 ? 0 : 4 + n / 4096 * 116 + (kept > 0 ? last : 0);
        }
        case CodecId::BytePlanes:
            break;  // no codec of legs
    }
    ADD_FAILURE() << "state the size formula of codec " << static_cast<int>(id);
    return 0;
}

namespace {

/// The documented error of a value of this magnitude in this group.
double documented_error(CodecId id, double magnitude, double group_error) {
    switch (id) {
        case CodecId::None:
            return 0;
        case CodecId::Bf16:
            return half_error(magnitude, 0x1p-8, 0x1p-126, 0x1p-134);
        case CodecId::Fp16:
            return std::max(magnitude - 65504, half_error(magnitude, 0x1p-11, 0x1p-14, 0x1p-25));
        case CodecId::Int8:
        case CodecId::Int4:
        case CodecId::HadamardInt4:
            return group_error;
        case CodecId::Sparse:  // sparse_errors()
        case CodecId::BytePlanes:
            break;
    }
    ADD_FAILURE() << "state the error bound of codec " << static_cast<int>(id);
    return 0;
}

double group_error(CodecId id, const Values& group, TensorRole role) {
    switch (id) {
        case CodecId::Int8:
            return int8_error_bound(largest_of(group));
        case CodecId::Int4:
            return int4_error_bound(largest_of(group), role);
        case CodecId::HadamardInt4:
            return hadamard_int4_error_bound(largest_coefficient(group), role);
        default:
            return 0;  // a codec without groups
    }
}

/// A value that is kept errs as documented, any other loses itself; among equal values either may
/// be kept.
std::vector<double> sparse_errors(const Values& values) {
    std::vector<double> errors;
    for (std::size_t begin = 0; begin < values.size(); begin += kSparseChunk) {
        const std::size_t count = std::min(kSparseChunk, values.size() - begin);
        std::vector<float> magnitudes;
        for (std::size_t i = begin; i < begin + count; ++i) {
            magnitudes.push_back(std::fabs(values[i]));
        }
        std::vector<float> kept = magnitudes;
        std::sort(kept.rbegin(), kept.rend());
        kept.resize((count + 63) / 64);
        while (!kept.empty() && kept.back() < 0x1p-126F) {
            kept.pop_back();
        }
        const float least = kept.empty() ? FLT_MAX : kept.back();
        const float bound = kept.empty() ? 0 : sparse_error_bound(least, kept.front());
        for (const float magnitude : magnitudes) {
            const bool stays = magnitude > least;
            const bool tie = magnitude == least;
            errors.push_back(stays ? bound : tie ? std::max(bound, magnitude) : magnitude);
        }
    }
    return errors;
}

}  // namespace

std::vector<double> documented_errors(CodecId id, const Values& values, TensorRole role) {
    if (id == CodecId::Sparse) {
        return sparse_errors(values);
    }
    std::vector<double> errors;
    double of_group = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (i % simd::kGroup == 0) {
            of_group = group_error(id, group_at(values, i), role);
        }
        errors.push_back(documented_error(id, std::fabs(values[i]), of_group));
    }
    return errors;
}

bool serves_legs(CodecId id) {
    return id != CodecId::Sparse;
}

float largest_taken(CodecId id) {
    return id == CodecId::HadamardInt4 ? 0x1p+112F : FLT_MAX;
}

bool draws(CodecId id, TensorRole role) {
    return (id == CodecId::Int4 || id == CodecId::HadamardInt4) && is_gradient(role);
}

bool repeats_itself(CodecId id, TensorRole role, std::size_t elements) {
    // The zeros that fill up the last group come back as something else, and are cut off.
    const bool cut = id == CodecId::HadamardInt4 && elements % simd::kGroup != 0;
    return !draws(id, role) && !cut;
}

Values noise(std::size_t elements, double magnitude, std::uint64_t seed) {
    swarm::Rng rng(seed, elements);
    Values values(elements);
    for (float& value : values) {
        value = static_cast<float>((2 * rng.unit() - 1) * magnitude);
    }
    return values;
}

const std::vector<std::size_t>& adversarial_sizes() {
    static const std::vector<std::size_t> sizes{0,   1,   2,   3,    15,   16,   17,   31,  33,
                                                63,  64,  65,  127,  128,  129,  511,  512, 513,
                                                575, 640, 999, 1023, 1024, 1025, 2049, 4097};
    return sizes;
}

std::vector<Case> every_case() {
    std::vector<Case> cases;
    for (const simd::Path path : swarm::kCpuPaths) {
        for (const auto& codec : codecs_on(path)) {
            cases.push_back({path, codec.get()});
        }
    }
    return cases;
}

void PrintTo(const Case& one, std::ostream* out) {
    *out << one.codec->name() << " on " << to_text(one.path);
}

std::string name_of(const testing::TestParamInfo<Case>& info) {
    std::string name =
        std::string(info.param.codec->name()) + "_" + std::string(to_text(info.param.path));
    std::ranges::replace(name, '-', '_');
    return name;
}

std::vector<TensorRole> CodecSuite::roles() const {
    std::vector<TensorRole> served;
    for (const TensorRole role : kTensorRoles) {
        if (codec().refusal_of(role).empty()) {
            served.push_back(role);
        }
    }
    return served;
}

Bytes CodecSuite::encode(const Values& values, TensorRole role) const {
    Bytes bytes(codec().encoded_bytes(values.size()));
    const auto encoded = codec().encode(values, role, kSeed, bytes);
    EXPECT_TRUE(encoded.has_value()) << encoded.error().detail;
    return bytes;
}

Values CodecSuite::decode(const Bytes& bytes, std::size_t elements) const {
    Values values(elements);
    const auto decoded = codec().decode(bytes, values);
    EXPECT_TRUE(decoded.has_value()) << decoded.error().detail;
    return values;
}

}  // namespace compression::test
