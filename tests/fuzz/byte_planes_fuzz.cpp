// Fuzzes the unpacking of byte planes: bytes that were unpacked and packed again are the same.
// Input: the choice of the width, the number of elements (2 bytes), the bytes.
#include "compression/byte_planes.hpp"
#include "swarm/base/check.hpp"

#include <vector>

using namespace compression;

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 3) {
        return 0;
    }
    constexpr ElementBytes kWidths[] = {ElementBytes::Two, ElementBytes::Four, ElementBytes::Eight};
    const ElementBytes width = kWidths[data[0] % std::size(kWidths)];
    const std::size_t count = data[1] | std::size_t{data[2]} << 8;
    std::vector<std::byte> raw(count * static_cast<std::size_t>(width));
    if (unpack_planes(std::as_bytes(std::span(data, size)).subspan(3), width, raw)) {
        const auto packed = pack_planes(raw, width);
        std::vector<std::byte> again(raw.size());
        SWARM_ASSERT(packed && unpack_planes(*packed, width, again) && again == raw);
    }
    return 0;
}
