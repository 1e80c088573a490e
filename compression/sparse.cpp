#include "compression/sparse.hpp"

#include "compression/simd/group_scale.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>

namespace compression {
namespace {

/// Values per kept value. The ratio of a whole chunk holds for the last one too.
constexpr std::size_t kValuesPerKept = kSparseChunk / kSparseKept;
constexpr std::size_t kHeaderBytes = 4;
constexpr std::size_t kLevelsBytes = 4;
constexpr unsigned kPlaceBits = 12;
static_assert(kSparseChunk == std::size_t{1} << kPlaceBits);

/// bf16 of 2^-126, the smallest normal number, and of the largest one.
constexpr std::uint16_t kLevelMin = 0x0080;
constexpr std::uint16_t kLevelMax = 0x7f7f;

constexpr unsigned kHighBit = 1;
constexpr unsigned kNegativeBit = 2;

std::size_t kept_of(std::size_t values) {
    return (values + kValuesPerKept - 1) / kValuesPerKept;
}

std::size_t places_bytes(std::size_t kept) {
    return (kept * kPlaceBits + 7) / 8;
}

std::size_t chunk_bytes(std::size_t values) {
    const std::size_t kept = kept_of(values);
    return kLevelsBytes + places_bytes(kept) + (kept + 3) / 4;
}

void put_u16(std::byte* to, std::uint16_t value) {
    to[0] = static_cast<std::byte>(value & 0xff);
    to[1] = static_cast<std::byte>(value >> 8);
}

std::uint16_t u16_at(const std::byte* from) {
    return static_cast<std::uint16_t>(
        std::to_integer<unsigned>(from[0]) | std::to_integer<unsigned>(from[1]) << 8
    );
}

/// REQUIRES: `places` are zeros.
void put_place(std::byte* places, std::size_t entry, unsigned place) {
    std::byte* const at = places + entry / 2 * 3;
    if (entry % 2 == 0) {
        at[0] = static_cast<std::byte>(place & 0xff);
        at[1] |= static_cast<std::byte>(place >> 8);
    } else {
        at[1] |= static_cast<std::byte>((place & 0xf) << 4);
        at[2] = static_cast<std::byte>(place >> 4);
    }
}

unsigned place_at(const std::byte* places, std::size_t entry) {
    const std::byte* const at = places + entry / 2 * 3;
    const auto middle = std::to_integer<unsigned>(at[1]);
    return entry % 2 == 0 ? std::to_integer<unsigned>(at[0]) | (middle & 0xf) << 8
                          : middle >> 4 | std::to_integer<unsigned>(at[2]) << 4;
}

unsigned code_at(const std::byte* codes, std::size_t entry) {
    return std::to_integer<unsigned>(codes[entry / 4]) >> (2 * (entry % 4)) & 3U;
}

std::uint16_t to_bf16(double magnitude) {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(magnitude));
    const std::uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1U)) >> 16;
    return static_cast<std::uint16_t>(std::min<std::uint32_t>(rounded, kLevelMax));
}

float from_bf16(std::uint16_t bits) {
    return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

/// The places of the kept values, ascending.
struct Kept {
    std::array<std::uint16_t, kSparseKept> places;
    std::size_t count = 0;  // fewer than may be kept where the others are 0
};

Kept choose(std::span<const float> chunk) {
    // Larger keys are better: magnitude first, then the smaller place. All keys differ, so the best
    // form one set, however they are found.
    std::array<std::uint64_t, kSparseChunk> keys;
    std::size_t found = 0;
    for (std::size_t i = 0; i < chunk.size(); ++i) {
        const std::uint64_t bits = std::bit_cast<std::uint32_t>(chunk[i]) & simd::kMagnitudeMask;
        keys[found] = bits << kPlaceBits | (kSparseChunk - 1 - i);
        found += bits >= std::uint64_t{kLevelMin} << 16 ? 1U : 0U;
    }
    Kept kept;
    kept.count = std::min(found, kept_of(chunk.size()));
    const auto begin = keys.begin();
    const auto end = begin + static_cast<std::ptrdiff_t>(kept.count);
    if (kept.count < found) {
        std::nth_element(begin, end, begin + static_cast<std::ptrdiff_t>(found), std::greater<>());
    }
    std::transform(begin, end, kept.places.begin(), [](std::uint64_t key) {
        return static_cast<std::uint16_t>(kSparseChunk - 1 - key % kSparseChunk);
    });
    std::sort(kept.places.begin(), kept.places.begin() + static_cast<std::ptrdiff_t>(kept.count));
    return kept;
}

/// The magnitudes that the codes of a chunk stand for, and which of them are high.
struct Levels {
    std::uint16_t low = 0;
    std::uint16_t high = 0;
    double split = 0;
};

/// The levels come from sums of at most 64 floats in double, in the order of their places.
Levels levels_of(std::span<const float> chunk, const Kept& kept) {
    const std::span<const std::uint16_t> places(kept.places.data(), kept.count);
    if (places.empty()) {
        return {};
    }
    double sum = 0;
    for (const std::uint16_t place : places) {
        sum += std::fabs(double{chunk[place]});
    }
    Levels levels;
    levels.split = sum / static_cast<double>(places.size());
    double low_sum = 0;
    double high_sum = 0;
    std::size_t low_count = 0;
    for (const std::uint16_t place : places) {
        const double magnitude = std::fabs(double{chunk[place]});
        if (magnitude < levels.split) {
            low_sum += magnitude;
            ++low_count;
        } else {
            high_sum += magnitude;
        }
    }
    levels.high = to_bf16(high_sum / static_cast<double>(places.size() - low_count));
    levels.low = low_count == 0 ? levels.high : to_bf16(low_sum / static_cast<double>(low_count));
    if (levels.low == levels.high) {
        levels.split = 0;  // one code for one value
    }
    return levels;
}

void write_chunk(std::span<const float> chunk, std::byte* out) {
    const std::size_t entries = kept_of(chunk.size());
    std::fill_n(out, chunk_bytes(chunk.size()), std::byte{0});
    const Kept kept = choose(chunk);
    const Levels levels = levels_of(chunk, kept);
    put_u16(out, levels.low);
    put_u16(out + 2, levels.high);
    std::byte* const places = out + kLevelsBytes;
    std::byte* const codes = places + places_bytes(entries);
    for (std::size_t i = 0; i < kept.count; ++i) {
        const float value = chunk[kept.places[i]];
        put_place(places, i, kept.places[i]);
        const unsigned code = (std::fabs(double{value}) >= levels.split ? kHighBit : 0U) |
                              (value < 0 ? kNegativeBit : 0U);
        codes[i / 4] |= static_cast<std::byte>(code << (2 * (i % 4)));
    }
    // Entries for which there is no value repeat the last place, with code 0.
    const unsigned last = kept.count == 0 ? 0U : kept.places[kept.count - 1];
    for (std::size_t i = kept.count; i < entries; ++i) {
        put_place(places, i, last);
    }
}

/// Calls visit(place, value) for each entry of a chunk of so many values; false for bytes that
/// write_chunk() does not give. Entries before the fault have been visited.
template <class Visit>
bool visit_chunk(const std::byte* bytes, std::size_t values, Visit visit) {
    const std::size_t entries = kept_of(values);
    const std::byte* const places = bytes + kLevelsBytes;
    const std::byte* const codes = places + places_bytes(entries);
    const std::uint16_t low = u16_at(bytes);
    const std::uint16_t high = u16_at(bytes + 2);
    if (high == 0) {
        return std::all_of(bytes, bytes + chunk_bytes(values), [](std::byte byte) {
            return byte == std::byte{0};
        });
    }
    if (low < kLevelMin || high > kLevelMax || low > high) {
        return false;
    }
    bool ended = false;
    unsigned last = 0;
    for (std::size_t i = 0; i < entries; ++i) {
        const unsigned place = place_at(places, i);
        const unsigned code = code_at(codes, i);
        ended = ended || (i > 0 && place == last);
        const bool follows = ended ? place == last && code == 0 : i == 0 || place > last;
        if (!follows || place >= values) {
            return false;
        }
        if (!ended) {
            const float magnitude = from_bf16((code & kHighBit) != 0 ? high : low);
            visit(place, (code & kNegativeBit) != 0 ? -magnitude : magnitude);
        }
        last = place;
    }
    const bool place_left = entries % 2 != 0 && std::to_integer<unsigned>(codes[-1]) >> 4 != 0;
    const bool code_left =
        entries % 4 != 0 && std::to_integer<unsigned>(codes[entries / 4]) >> (2 * (entries % 4));
    return !place_left && !code_left;
}

class Sparse final : public Codec {
 public:
    explicit Sparse(const simd::Kernels& kernels) : kernels_(kernels) {}

    [[nodiscard]] CodecId id() const override { return CodecId::Sparse; }

    [[nodiscard]] std::string_view name() const override { return "sparse"; }

    [[nodiscard]] std::uint64_t encoded_bytes(std::uint64_t elements) const override {
        const std::uint64_t tail = elements % kSparseChunk;
        return (elements > 0 ? kHeaderBytes : 0) +
               elements / kSparseChunk * chunk_bytes(kSparseChunk) +
               (tail > 0 ? chunk_bytes(tail) : 0);
    }

    [[nodiscard]] std::string_view refusal_of(TensorRole role) const override {
        return role == TensorRole::PseudoGradient
                   ? std::string_view()
                   : "it drops 63 of 64 values, which only an error buffer makes good";
    }

 protected:
    [[nodiscard]] std::string_view malformed() const override {
        return "another chunk size or number of kept values, or a place, a level or a code that no "
               "encoder writes";
    }

    Outcome add(std::span<const std::byte> bytes, std::span<float> sum) const override {
        return visit(bytes, sum, [](float& to, float value) { to += value; });
    }

 private:
    Outcome write(
        std::span<const float> values,
        TensorRole /*role*/,
        std::uint64_t /*seed*/,
        std::span<std::byte> out
    ) const override {
        if (values.empty()) {
            return Outcome::Done;
        }
        put_u16(out.data(), static_cast<std::uint16_t>(kSparseChunk));
        put_u16(out.data() + 2, static_cast<std::uint16_t>(kSparseKept));
        std::byte* to = out.data() + kHeaderBytes;
        for (std::size_t i = 0; i < values.size(); i += kSparseChunk) {
            const auto chunk = values.subspan(i, std::min(kSparseChunk, values.size() - i));
            if (kernels_.largest_magnitude(chunk.data(), chunk.size()) >= simd::kInfinityBits) {
                return Outcome::NotFinite;
            }
            write_chunk(chunk, to);
            to += chunk_bytes(chunk.size());
        }
        return Outcome::Done;
    }

    Outcome read(std::span<const std::byte> bytes, std::span<float> out) const override {
        std::ranges::fill(out, 0.0F);
        return visit(bytes, out, [](float& to, float value) { to = value; });
    }

    template <class Apply>
    Outcome visit(std::span<const std::byte> bytes, std::span<float> values, Apply apply) const {
        if (values.empty()) {
            return Outcome::Done;
        }
        if (u16_at(bytes.data()) != kSparseChunk || u16_at(bytes.data() + 2) != kSparseKept) {
            return Outcome::Malformed;
        }
        const std::byte* from = bytes.data() + kHeaderBytes;
        for (std::size_t i = 0; i < values.size(); i += kSparseChunk) {
            const auto chunk = values.subspan(i, std::min(kSparseChunk, values.size() - i));
            const auto apply_at = [&](unsigned place, float value) { apply(chunk[place], value); };
            if (!visit_chunk(from, chunk.size(), apply_at)) {
                return Outcome::Malformed;
            }
            from += chunk_bytes(chunk.size());
        }
        return Outcome::Done;
    }

    const simd::Kernels& kernels_;
};

}  // namespace

std::unique_ptr<const Codec> make_sparse(const simd::Kernels& kernels) {
    return std::make_unique<Sparse>(kernels);
}

float sparse_error_bound(float smallest, float largest) {
    // A mean lies within its values; bf16 moves it by half of its last bit, and at the top, where
    // the next one would be infinity, by all of it.
    return largest - smallest + 0x1p-8F * largest;
}

}  // namespace compression
