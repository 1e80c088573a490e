#include "stacking/kernels/packed_matrix.hpp"

#include "stacking/blocks/coding.hpp"
#include "stacking/kernels/block_layout.hpp"
#include "stacking/kernels/packed_layout.hpp"
#include "swarm/base/check.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <vector>

namespace stacking::kernels {

using blocks::WeightType;

namespace {

constexpr std::size_t kAlignment = 64;
constexpr float kLevels = 127;
constexpr float kRoundMagic = 0x1.8p+23F;  // adding and subtracting it rounds to an integer
constexpr WeightFormat kMade[] = {WeightFormat::Fp32, WeightFormat::Bf16, WeightFormat::Int8};

template <class T>
void put(std::byte* at, T value) {
    std::memcpy(at, &value, sizeof value);
}

template <class T>
T get(const std::byte* at) {
    T value{};
    std::memcpy(&value, at, sizeof value);
    return value;
}

/// Rounds to the nearest bf16, ties to even; NaN stays NaN.
std::uint16_t to_bf16(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if (std::isnan(value)) {
        return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
    }
    return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

float from_bf16(std::uint16_t half) {
    return std::bit_cast<float>(std::uint32_t{half} << 16);
}

float scale_of(std::span<const float> group) {
    float largest = 0;
    for (const float value : group) {
        if (!std::isfinite(value)) {
            return std::numeric_limits<float>::quiet_NaN();
        }
        largest = std::max(largest, std::fabs(value));
    }
    return largest / kLevels;
}

std::int8_t level_of(float value, float scale) {
    if (!(scale > 0)) {
        return 0;
    }
    const float level = std::clamp(value / scale, -kLevels, kLevels);
    return static_cast<std::int8_t>((level + kRoundMagic) - kRoundMagic);
}

}  // namespace

std::string_view name_of(WeightFormat format) {
    switch (format) {
        case WeightFormat::Fp32:
            return "fp32";
        case WeightFormat::Bf16:
            return "bf16";
        case WeightFormat::Int8:
            return "int8";
        case WeightFormat::Fp16:
            return "fp16";
        case WeightFormat::Blocks:
            return "blocks";
    }
    return "unknown";
}

std::optional<WeightFormat> parse_weight_format(std::string_view name) {
    for (const WeightFormat format : kMade) {
        if (name == name_of(format)) {
            return format;
        }
    }
    return std::nullopt;
}

namespace {

std::size_t bytes_per_panel(WeightFormat format, WeightType type, std::size_t inputs) {
    return format == WeightFormat::Blocks ? panel_bytes(type, inputs) : panel_bytes(format, inputs);
}

/// Returns the format in which weights of a stored type keep their bits.
WeightFormat format_of(WeightType type) {
    switch (type) {
        case WeightType::F32:
            return WeightFormat::Fp32;
        case WeightType::F16:
            return WeightFormat::Fp16;
        case WeightType::BF16:
            return WeightFormat::Bf16;
        default:
            return WeightFormat::Blocks;
    }
}

std::size_t panels_of(std::size_t outputs) {
    return (outputs + kPanelOutputs - 1) / kPanelOutputs;
}

}  // namespace

bool PackedMatrix::keeps(WeightType type) {
    return format_of(type) != WeightFormat::Blocks || blocks::is_quantised(type);
}

std::size_t PackedMatrix::bytes_of(WeightFormat format, std::size_t outputs, std::size_t inputs) {
    return panels_of(outputs) * bytes_per_panel(format, WeightType::F32, inputs);
}

std::size_t PackedMatrix::bytes_of(WeightType type, std::size_t outputs, std::size_t inputs) {
    return panels_of(outputs) * bytes_per_panel(format_of(type), type, inputs);
}

PackedMatrix::PackedMatrix(WeightFormat format, std::size_t outputs, std::size_t inputs)
    : PackedMatrix(format, WeightType::F32, outputs, inputs) {
    SWARM_ASSERT(format != WeightFormat::Blocks);
}

PackedMatrix::PackedMatrix(WeightType type, std::size_t outputs, std::size_t inputs)
    : PackedMatrix(format_of(type), type, outputs, inputs) {
    SWARM_ASSERT(keeps(type) && inputs % blocks::block_size(type).values == 0);
}

PackedMatrix::PackedMatrix(
    WeightFormat format, WeightType type, std::size_t outputs, std::size_t inputs
)
    : format_(format),
      type_(type),
      outputs_(outputs),
      inputs_(inputs),
      panel_bytes_(bytes_per_panel(format, type, inputs)),
      bytes_(panels_of(outputs) * panel_bytes_),
      panels_(static_cast<std::byte*>(
          std::aligned_alloc(kAlignment, (bytes_ + kAlignment - 1) / kAlignment * kAlignment)
      )) {
    if (panels_ == nullptr) {
        throw std::bad_alloc();
    }
    std::memset(panels_.get(), 0, bytes_);
}

MatrixView PackedMatrix::view() const {
    return {format_, panels_.get(), panel_bytes_, outputs_, inputs_, type_};
}

void PackedMatrix::pack_levels(std::byte* panel, std::size_t output, std::span<const float> row) {
    for (std::size_t first = 0; first < inputs_; first += kScaleGroup, panel += kInt8GroupBytes) {
        const auto group = row.subspan(first, std::min(kScaleGroup, inputs_ - first));
        const float scale = scale_of(group);
        put(panel + output * sizeof(float), scale);
        for (std::size_t k = 0; k < group.size(); ++k) {
            put(panel + kInt8ScaleBytes + k * kPanelOutputs + output, level_of(group[k], scale));
        }
    }
}

bool PackedMatrix::add_blocks(std::size_t first, std::span<const std::byte> rows) {
    const blocks::Coding coding = blocks::coding_of(type_);
    const std::size_t from_bytes = blocks::block_size(type_).bytes;
    const std::size_t to_bytes = layout_of(coding).block_bytes;
    const std::size_t per_row = inputs_ / coding.values;
    const std::size_t end = first + rows.size() / (per_row * from_bytes);
    bool finite = true;
    blocks::Block block;
    // By panels, then along the inputs: what is written stays in the first cache.
    for (std::size_t begin = first; begin < end;) {
        const std::size_t panel = begin / kPanelOutputs;
        const std::size_t stop = std::min(end, (panel + 1) * kPanelOutputs);
        std::byte* to = panels_.get() + panel * panel_bytes_;
        for (std::size_t i = 0; i < per_row; ++i, to += to_bytes) {
            for (std::size_t output = begin; output < stop; ++output) {
                const std::size_t at = ((output - first) * per_row + i) * from_bytes;
                take_apart(type_, rows.data() + at, block);
                finite = finite && is_finite(block);
                pack_block(coding, block, to, output % kPanelOutputs);
            }
        }
        begin = stop;
    }
    return finite;
}

bool PackedMatrix::add_stored(std::size_t first, std::span<const std::byte> rows) {
    const std::size_t bytes =
        inputs_ / blocks::block_size(type_).values * blocks::block_size(type_).bytes;
    const std::size_t count = rows.size() / bytes;
    SWARM_ASSERT(rows.size() == count * bytes && first + count <= outputs_);
    if (format_ == WeightFormat::Blocks) {
        return add_blocks(first, rows);
    }
    const std::size_t each = weight_bytes(format_);
    std::vector<float> values(inputs_);
    bool finite = true;
    for (std::size_t row = 0; row < count; ++row) {
        const auto stored = rows.subspan(row * bytes, bytes);
        std::byte* const panel = panels_.get() + (first + row) / kPanelOutputs * panel_bytes_;
        const std::size_t output = (first + row) % kPanelOutputs;
        decode_weights(type_, stored, values);
        for (std::size_t k = 0; k < inputs_; ++k) {
            finite = finite && std::isfinite(values[k]);
            std::memcpy(
                panel + (k * kPanelOutputs + output) * each, stored.data() + k * each, each
            );
        }
    }
    return finite;
}

void PackedMatrix::add_rows(std::size_t first, std::span<const float> rows) {
    SWARM_ASSERT(format_ != WeightFormat::Blocks && format_ != WeightFormat::Fp16);
    const std::size_t count = rows.size() / inputs_;
    SWARM_ASSERT(rows.size() == count * inputs_ && first + count <= outputs_);
    for (std::size_t row = 0; row < count; ++row) {
        const auto values = rows.subspan(row * inputs_, inputs_);
        std::byte* const panel = panels_.get() + (first + row) / kPanelOutputs * panel_bytes_;
        const std::size_t output = (first + row) % kPanelOutputs;
        if (format_ == WeightFormat::Int8) {
            pack_levels(panel, output, values);
            continue;
        }
        const std::size_t bytes = weight_bytes(format_);
        for (std::size_t k = 0; k < inputs_; ++k) {
            std::byte* const at = panel + (k * kPanelOutputs + output) * bytes;
            if (format_ == WeightFormat::Fp32) {
                put(at, values[k]);
            } else {
                put(at, to_bf16(values[k]));
            }
        }
    }
}

void PackedMatrix::read_row(std::size_t row, std::span<float> values) const {
    SWARM_ASSERT(row < outputs_ && values.size() == inputs_);
    const std::byte* const panel = panels_.get() + row / kPanelOutputs * panel_bytes_;
    const std::size_t output = row % kPanelOutputs;
    if (format_ == WeightFormat::Blocks) {
        return read_block_row(blocks::coding_of(type_), panel, output, values);
    }
    for (std::size_t k = 0; k < inputs_; ++k) {
        const std::size_t at = k * kPanelOutputs + output;
        if (format_ == WeightFormat::Fp32) {
            values[k] = get<float>(panel + at * sizeof(float));
        } else if (format_ == WeightFormat::Fp16) {
            values[k] = blocks::from_half(get<std::uint16_t>(panel + at * sizeof(std::uint16_t)));
        } else if (format_ == WeightFormat::Bf16) {
            values[k] = from_bf16(get<std::uint16_t>(panel + at * sizeof(std::uint16_t)));
        } else {
            const std::byte* const group = panel + k / kScaleGroup * kInt8GroupBytes;
            const auto level = get<std::int8_t>(
                group + kInt8ScaleBytes + k % kScaleGroup * kPanelOutputs + output
            );
            values[k] = static_cast<float>(level) * get<float>(group + output * sizeof(float));
        }
    }
}

}  // namespace stacking::kernels
