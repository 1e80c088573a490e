// Fuzzes the decoder of one codec, SWARM_FUZZED_CODEC, on every path of this processor.
// Input: the number of elements (2 bytes), the bytes.
#include "compression/codec.hpp"
#include "swarm/base/check.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>
#include <vector>

using namespace compression;

namespace {

/// Returns null where the processor lacks the path.
const Codec* fuzzed_codec_on(simd::Path path) {
    const auto codecs = codecs_on(path);
    const auto found =
        std::ranges::find(codecs, std::string_view(SWARM_FUZZED_CODEC), [](const auto& codec) {
            return codec->name();
        });
    SWARM_ASSERT(codecs.empty() || found != codecs.end());
    return codecs.empty() ? nullptr : found->get();
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) {
        return 0;
    }
    static const Codec* const scalar = fuzzed_codec_on(simd::Path::Scalar);
    static const Codec* const vectors[] = {
        fuzzed_codec_on(simd::Path::Avx2), fuzzed_codec_on(simd::Path::Avx512)};
    const std::size_t count = data[0] | std::size_t{data[1]} << 8;
    const auto bytes = std::as_bytes(std::span(data, size)).subspan(2);
    std::vector<float> values(count);
    const bool decoded = scalar->decode(bytes, values).has_value();
    if (decoded) {
        for (const float value : values) {
            SWARM_ASSERT(std::isfinite(value));
        }
    }
    // The other paths refuse, too, or give the same bits.
    std::vector<float> other(count);
    for (const Codec* const codec : vectors) {
        if (codec != nullptr) {
            SWARM_ASSERT(codec->decode(bytes, other).has_value() == decoded);
            const bool same =
                count == 0 || std::memcmp(values.data(), other.data(), 4 * count) == 0;
            SWARM_ASSERT(!decoded || same);
        }
    }
    return 0;
}
