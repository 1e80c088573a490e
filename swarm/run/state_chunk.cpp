#include "swarm/run/state_chunk.hpp"

#include "compression/byte_planes.hpp"
#include "swarm/base/check.hpp"
#include "swarm/base/try.hpp"
#include "swarm/protocol/limits.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace swarm::run {
namespace {

using compression::ElementBytes;
using protocol::CodecId;
using protocol::Dtype;
using protocol::kChunkBytes;
using protocol::TensorEnvelope;

constexpr auto kWidth = ElementBytes::Four;
/// Smaller chunks fit into one packet either way. Only a last chunk is so small, and those of a
/// simulation.
constexpr std::size_t kWorthPacking = 1024;

TensorEnvelope packed_envelope(std::uint64_t raw_bytes) {
    const auto values = static_cast<std::uint32_t>(raw_bytes / sizeof(float));
    return {Dtype::Float32, CodecId::BytePlanes, {values}};
}

}  // namespace

std::uint32_t chunk_count(std::uint64_t state_bytes, std::uint64_t most) {
    return static_cast<std::uint32_t>((state_bytes + most - 1) / most);
}

std::uint64_t chunk_bytes(std::uint64_t state_bytes, std::uint32_t chunk, std::uint64_t most) {
    SWARM_ASSERT(chunk < chunk_count(state_bytes, most));
    return std::min(most, state_bytes - chunk * most);
}

node::Payload pack_chunk(node::Payload raw) {
    const std::size_t raw_bytes = raw.bytes().size();
    SWARM_ASSERT(raw_bytes <= kChunkBytes && raw_bytes % sizeof(float) == 0);
    if (raw_bytes < kWorthPacking) {
        return raw;
    }
    auto packed = compression::pack_planes(raw.bytes(), kWidth);
    if (!packed || packed->size() >= raw_bytes) {
        return raw;
    }
    return {packed_envelope(raw_bytes), std::move(*packed)};
}

Result<node::Payload> unpack_chunk(node::Payload sent, std::uint64_t raw_bytes) {
    SWARM_ASSERT(raw_bytes <= kChunkBytes);
    const std::size_t sent_bytes = sent.bytes().size();
    if (sent.envelope().codec == CodecId::None && sent_bytes == raw_bytes) {
        return sent;
    }
    if (sent.envelope() != packed_envelope(raw_bytes) || sent_bytes >= raw_bytes) {
        return Error{
            ErrorCode::Mismatch,
            Reaction::Reject,
            "a chunk of " + std::to_string(sent_bytes) + " bytes where " +
                std::to_string(raw_bytes) + " belong, or fewer as byte planes; use another donor"};
    }
    std::vector<std::byte> raw(raw_bytes);
    SWARM_TRY(compression::unpack_planes(sent.bytes(), kWidth, raw));
    const TensorEnvelope envelope{
        Dtype::Bytes, CodecId::None, {static_cast<std::uint32_t>(raw_bytes)}};
    return node::Payload(envelope, std::move(raw));
}

}  // namespace swarm::run
