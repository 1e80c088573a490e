#include "stacking/sessions/experts/expert_rows.hpp"

#include "stacking/row_coding.hpp"

namespace stacking::sessions {

using swarm::protocol::CodecId;
using swarm::protocol::Dtype;

std::optional<swarm::node::Payload> to_payload(std::span<const float> rows, std::uint32_t width) {
    auto bytes = encode_rows(*find_row_codec(CodecId::None), width, rows);
    if (!bytes) {
        return std::nullopt;
    }
    const auto count = static_cast<std::uint32_t>(rows.size() / width);
    return swarm::node::Payload({Dtype::Float32, CodecId::None, {count, width}}, std::move(*bytes));
}

std::optional<std::vector<float>> from_payload(
    const swarm::node::Payload& payload, std::uint32_t rows, std::uint32_t width
) {
    const swarm::protocol::TensorEnvelope& envelope = payload.envelope();
    const std::vector<std::uint32_t> shape{rows, width};
    if (envelope.codec != CodecId::None || envelope.dtype != Dtype::Float32 ||
        envelope.shape != shape ||
        payload.bytes().size() != std::size_t{rows} * width * sizeof(float)) {
        return std::nullopt;
    }
    std::vector<float> values(std::size_t{rows} * width);
    const compression::Codec& none = *find_row_codec(CodecId::None);
    const bool good = !decode_rows(none, width, payload.bytes(), values).has_error();
    return good ? std::optional(std::move(values)) : std::nullopt;
}

}  // namespace stacking::sessions
