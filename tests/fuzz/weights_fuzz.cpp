// Fuzzes the blocks of stored weights of every type: the first byte picks the type, whole blocks
// follow. What a stage keeps must be what a reader decodes, also for infinities and NaN.
#include "stacking/kernels/packed_matrix.hpp"
#include "swarm/base/check.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

using namespace stacking;

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    const auto type = static_cast<blocks::WeightType>(data[0] % blocks::kWeightTypes);
    const blocks::BlockSize block = block_size(type);
    const std::size_t count = (size - 1) / block.bytes;
    const auto bytes = std::as_bytes(std::span(data, size)).subspan(1, count * block.bytes);
    if (count == 0) {
        return 0;
    }
    std::vector<float> values(count * block.values);
    decode_weights(type, bytes, values);
    if (!kernels::PackedMatrix::keeps(type)) {
        return 0;
    }
    const auto is_number = [](float value) { return std::isfinite(value); };
    kernels::PackedMatrix matrix(type, count, block.values);
    const bool finite = matrix.add_stored(0, bytes);
    SWARM_ASSERT(finite == std::all_of(values.begin(), values.end(), is_number));
    std::vector<float> row(block.values);
    for (std::size_t output = 0; output < count; ++output) {
        matrix.read_row(output, row);
        const float* const wanted = values.data() + output * block.values;
        SWARM_ASSERT(std::memcmp(row.data(), wanted, row.size() * sizeof(float)) == 0);
    }
    return 0;
}
