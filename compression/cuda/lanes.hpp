// How sixteen lanes share a group of 64 values: lane i has the values 4 i to 4 i + 3, so that a
// load is 16 bytes and a warp reads 512 bytes in a row.
// The codecs' bodies are templates over a Team, which owns the lanes: on a GPU half a warp, each
// thread one lane, exchanging by shuffles; in tests a loop over sixteen places of an array. A Team:
//   Own<T>                 what each lane keeps, own[lane]
//   each(f)                f(lane) for every lane
//   spread_largest(own)    each lane gets the largest of all
//   of_partner(own, mask)  each lane gets what lane ^ mask has
//   refuse()               the result is not to be used
// Invariant: fp32 as in compression/simd: no FMA, no flushed denormals (flags of library.cu).
// Addresses: values at multiples of 16 bytes, coded bytes too; what lies behind them is untouched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define SWARM_LANES __device__ __forceinline__
#else
#define SWARM_LANES inline
#endif

namespace compression::cuda {

inline constexpr std::uint32_t kLanes = 16;
inline constexpr std::uint32_t kPerLane = 4;
inline constexpr std::uint32_t kGroup = kLanes * kPerLane;

enum class Format : std::uint32_t { Bf16, Fp16, Int8, Int4, HadamardInt4 };
enum class Direction : std::uint32_t { Encode, Decode, DecodeAdd };

/// The coding of one tensor in the GPU's memory.
struct Job {
    Format format;
    Direction direction;
    bool drawn;  // 4-bit formats: up or down by draws of the seed
    std::uint64_t seed;
    std::uint64_t count;  // values
    float* values;        // read by Encode
    std::byte* bytes;     // written by Encode
};

struct alignas(16) Four {
    float at[kPerLane];
};

/// Moves a T that lies at a multiple of its size: one instruction on a GPU.
template <class T>
SWARM_LANES T load_aligned(const void* from) {
#ifdef __CUDACC__  // memcpy would move byte by byte
    return *static_cast<const T*>(from);
#else
    T value;
    std::memcpy(&value, __builtin_assume_aligned(from, sizeof value), sizeof value);
    return value;
#endif
}

template <class T>
SWARM_LANES void store_aligned(void* to, T value) {
#ifdef __CUDACC__
    *static_cast<T*>(to) = value;
#else
    std::memcpy(__builtin_assume_aligned(to, sizeof value), &value, sizeof value);
#endif
}

/// The part of a tensor that one lane works on.
struct Place {
    std::uint64_t first;  // its first value
    std::uint32_t count;  // number of values that are there, 0 to 4
};

SWARM_LANES Place place_of(const Job& job, std::uint64_t group, std::uint32_t lane) {
    const std::uint64_t first = group * kGroup + lane * kPerLane;
    const std::uint64_t left = first < job.count ? job.count - first : 0;
    return {first, static_cast<std::uint32_t>(left < kPerLane ? left : kPerLane)};
}

/// Loads the place's values, with zeros where the tensor has ended.
SWARM_LANES Four load_values(const Job& job, Place place) {
    const float* const from = job.values + place.first;
    if (place.count == kPerLane) {
        return load_aligned<Four>(from);
    }
    Four four{};
    for (std::uint32_t i = 0; i < place.count; ++i) {
        four.at[i] = from[i];
    }
    return four;
}

/// Stores values: Decode writes them, DecodeAdd adds them to the values that are there.
SWARM_LANES void store_values(const Job& job, Place place, Four four) {
    float* const to = job.values + place.first;
    if (job.direction == Direction::DecodeAdd) {
        const Four sum = load_values(job, place);
        for (std::uint32_t i = 0; i < kPerLane; ++i) {
            four.at[i] = sum.at[i] + four.at[i];
        }
    }
    if (place.count == kPerLane) {
        return store_aligned(to, four);
    }
    for (std::uint32_t i = 0; i < place.count; ++i) {
        to[i] = four.at[i];
    }
}

/// The first `count` bytes of a word, the others 0; a whole word lies at a multiple of its size.
template <class Word>
SWARM_LANES Word load_bytes(const std::byte* from, std::uint32_t count = sizeof(Word)) {
    if (count == sizeof(Word)) {
        return load_aligned<Word>(from);
    }
    Word word = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
        word = static_cast<Word>(word | static_cast<Word>(from[i]) << (8 * i));
    }
    return word;
}

template <class Word>
SWARM_LANES void store_bytes(std::byte* to, Word word, std::uint32_t count = sizeof(Word)) {
    if (count == sizeof word) {
        return store_aligned(to, word);
    }
    for (std::uint32_t i = 0; i < count; ++i) {
        to[i] = static_cast<std::byte>(word >> (8 * i));
    }
}

}  // namespace compression::cuda
