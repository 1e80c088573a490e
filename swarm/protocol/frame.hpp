// The byte form of a message: a 32-byte little-endian header, a Protobuf control part, and at most
// one tensor (msgpack envelope, raw bytes). PROTOCOL.md has the byte grammar with worked hex.
//   magic u32 "swrm" | version u16 | kind u16 | control bytes u32 | envelope bytes u32
//   | tensor bytes u64 | reserved u64 = 0
// The decode functions are the one validator, in release builds too: they check sizes before
// anything is allocated, and fields before a role sees them.
// Errors: Malformed, TooLarge, Mismatch (another protocol version); the reaction is always Reject.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/protocol/message.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace swarm::protocol {

inline constexpr std::uint16_t kProtocolVersion = 4;
inline constexpr std::size_t kHeaderBytes = 32;

enum class Lane : std::uint8_t { Control, Bulk };

using HeaderBytes = std::array<std::byte, kHeaderBytes>;

struct FrameHeader {
    std::uint16_t kind = 0;  // position in Body; kHelloKind for a Hello
    std::uint32_t control_bytes = 0;
    std::uint32_t envelope_bytes = 0;
    std::uint64_t tensor_bytes = 0;
};

inline constexpr std::uint16_t kHelloKind = 0xffff;

HeaderBytes encode_header(const FrameHeader& header);
/// Refuses unknown kinds and every size above its limit. A tensor is accepted only where the kind
/// allows one and only on the bulk lane.
Result<FrameHeader> decode_header(const HeaderBytes& bytes, Lane lane);

std::vector<std::byte> encode_control(const Message& message);
/// Refuses a message whose kind is not `kind`, which the frame's header named.
Result<Message> decode_control(std::uint16_t kind, std::span<const std::byte> bytes);

std::vector<std::byte> encode_hello(const Hello& hello);
Result<Hello> decode_hello(std::span<const std::byte> bytes);

/// Returns the lane on which a message of this kind travels.
Lane lane_of(const Body& body);
/// Tells whether a message of this kind may carry a tensor.
bool carries_tensor(std::uint16_t kind);

}  // namespace swarm::protocol
