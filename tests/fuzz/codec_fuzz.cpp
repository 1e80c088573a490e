// The decoders of everything in compression: codecs by number, then byte planes by width.
// Input: which decoder, the number of elements (2 bytes), the bytes.
#include "compression/byte_planes.hpp"
#include "compression/codec.hpp"
#include "swarm/base/check.hpp"

#include <cmath>
#include <cstring>
#include <vector>

using namespace compression;

namespace {

/// All paths agree: to refuse, or on the same finite values.
void decode_on_every_path(std::size_t number, std::span<const std::byte> bytes, std::size_t count) {
    std::vector<float> values(count);
    std::vector<float> other(count);
    const bool decoded = codecs_on(simd::Path::Scalar)[number]->decode(bytes, values).has_value();
    for (const simd::Path path : {simd::Path::Avx2, simd::Path::Avx512}) {
        const auto codecs = codecs_on(path);
        if (codecs.empty()) {
            continue;
        }
        SWARM_ASSERT(codecs[number]->decode(bytes, other).has_value() == decoded);
        const bool same = count == 0 || std::memcmp(values.data(), other.data(), 4 * count) == 0;
        SWARM_ASSERT(!decoded || same);
    }
    if (decoded) {
        for (const float value : values) {
            SWARM_ASSERT(std::isfinite(value));
        }
    }
}

/// What was unpacked and is packed again is the same.
void unpack(ElementBytes width, std::span<const std::byte> bytes, std::size_t count) {
    std::vector<std::byte> raw(count * static_cast<std::size_t>(width));
    if (unpack_planes(bytes, width, raw)) {
        const auto packed = pack_planes(raw, width);
        std::vector<std::byte> again(raw.size());
        SWARM_ASSERT(packed && unpack_planes(*packed, width, again) && again == raw);
    }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 3) {
        return 0;
    }
    const std::size_t count = data[1] | std::size_t{data[2]} << 8;
    const auto bytes = std::as_bytes(std::span(data, size)).subspan(3);
    const std::size_t codecs = codecs_on(simd::Path::Scalar).size();
    const std::size_t decoder = data[0] % (codecs + 3);
    if (decoder < codecs) {
        decode_on_every_path(decoder, bytes, count);
    } else {
        constexpr ElementBytes kWidths[] = {
            ElementBytes::Two, ElementBytes::Four, ElementBytes::Eight};
        unpack(kWidths[decoder - codecs], bytes, count);
    }
    return 0;
}
