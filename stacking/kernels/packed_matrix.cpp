#include "stacking/kernels/packed_matrix.hpp"

#include "stacking/blocks/coding.hpp"
#include "stacking/kernels/block_layout.hpp"
#include "stacking/kernels/packed_layout.hpp"
#include "stacking/kernels/packing.hpp"
#include "swarm/base/check.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

namespace stacking::kernels {

using blocks::WeightType;

namespace {

constexpr WeightFormat kMade[] = {WeightFormat::Fp32, WeightFormat::Bf16, WeightFormat::Int8};

template <class T>
T get(const std::byte* at) {
    T value{};
    std::memcpy(&value, at, sizeof value);
    return value;
}

float from_bf16(std::uint16_t half) {
    return std::bit_cast<float>(std::uint32_t{half} << 16);
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
        case WeightFormat::F8:
            return "fp8";
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
        case WeightType::F8_E4M3:
            return WeightFormat::F8;
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
      panels_(allocate_panels(bytes_)) {
    // All other bytes are written when the rows are added.
    const bool has_gaps = format == WeightFormat::Int8 && inputs % kScaleGroup != 0;
    const bool is_whole = outputs % kPanelOutputs == 0;
    const std::size_t zeros = has_gaps ? bytes_ : is_whole ? 0 : panel_bytes_;
    std::memset(panels_.get() + (bytes_ - zeros), 0, zeros);
}

MatrixView PackedMatrix::view() const {
    return {format_, panels_.get(), panel_bytes_, outputs_, inputs_, type_};
}

template <class Pack>
bool PackedMatrix::pack(
    std::size_t first,
    std::span<const std::byte> rows,
    std::size_t row_bytes,
    const Pack& into_panel
) {
    const std::size_t end = first + rows.size() / row_bytes;
    SWARM_ASSERT(rows.size() % row_bytes == 0 && end <= outputs_);
    bool good = true;
    for (std::size_t begin = first; begin < end;) {
        const std::size_t panel = begin / kPanelOutputs;
        const std::size_t stop = std::min(end, (panel + 1) * kPanelOutputs);
        const PanelRows part{
            .from = rows.data() + (begin - first) * row_bytes,
            .row_bytes = row_bytes,
            .count = stop - begin,
            .inputs = inputs_,
            .panel = panels_.get() + panel * panel_bytes_,
            .output = begin % kPanelOutputs};
        good = into_panel(part) && good;
        begin = stop;
    }
    return good;
}

bool PackedMatrix::add_stored(std::size_t first, std::span<const std::byte> rows) {
    if (format_ == WeightFormat::F8) {
        const std::size_t groups = rows.size() / inputs_ * f8_groups(inputs_);
        return add_scaled(first, rows, std::vector<float>(groups, 1.0F));
    }
    const blocks::BlockSize block = blocks::block_size(type_);
    const std::size_t row_bytes = inputs_ / block.values * block.bytes;
    return pack(first, rows, row_bytes, [this](const PanelRows& part) {
        return format_ == WeightFormat::Blocks ? pack_blocks(type_, part) : pack_plain(type_, part);
    });
}

bool PackedMatrix::add_scaled(
    std::size_t first, std::span<const std::byte> rows, std::span<const float> scales
) {
    const std::size_t groups = f8_groups(inputs_);
    SWARM_ASSERT(format_ == WeightFormat::F8 && scales.size() == rows.size() / inputs_ * groups);
    return pack(first, rows, inputs_, [&](const PanelRows& part) {
        const auto skipped = static_cast<std::size_t>(part.from - rows.data()) / inputs_;
        return pack_f8(part, scales.subspan(skipped * groups, part.count * groups));
    });
}

void PackedMatrix::add_rows(std::size_t first, std::span<const float> rows) {
    SWARM_ASSERT(
        format_ == WeightFormat::Fp32 || format_ == WeightFormat::Bf16 ||
        format_ == WeightFormat::Int8
    );
    pack(first, std::as_bytes(rows), inputs_ * sizeof(float), [this](const PanelRows& part) {
        pack_values(format_, part);
        return true;
    });
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
        } else if (format_ == WeightFormat::F8) {
            const std::byte* const group = panel + k / kF8Group * kF8GroupBytes;
            const auto byte =
                get<std::uint8_t>(group + kF8ScaleBytes + k % kF8Group * kPanelOutputs + output);
            values[k] = blocks::from_e4m3(byte) * get<float>(group + output * sizeof(float));
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
