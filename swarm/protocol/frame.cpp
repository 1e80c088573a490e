#include "swarm/protocol/frame.hpp"

#include "swarm/base/try.hpp"
#include "swarm/protocol/limits.hpp"
#include "swarm/protocol/wire.hpp"

#include <algorithm>
#include <google/protobuf/arena.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <string>
#include <type_traits>
#include <utility>

namespace swarm::protocol {

namespace {

constexpr std::uint32_t kMagic = 0x6d727773;  // "swrm" on the wire
constexpr std::size_t kKinds = kMessageKinds;

static_assert(
    static_cast<std::size_t>(wire::Message::kSessionShare - kFirstBodyField) == kKinds - 1 &&
        std::is_same_v<BodyOfKind<kKinds - 1>, SessionShare>,
    "the oneof of messages.proto has the alternatives of Body, in its order"
);

Error refusal(ErrorCode code, std::string detail) {
    return {code, Reaction::Reject, std::move(detail)};
}

/// Returns the place of a message in Body; there is no second list of kinds.
template <class Kind>
constexpr std::uint16_t kind_of() {
    return []<std::size_t... I>(std::index_sequence<I...> /*kinds*/) {
        return static_cast<std::uint16_t>(((std::is_same_v<BodyOfKind<I>, Kind> ? I : 0) + ...));
    }
    (std::make_index_sequence<kKinds>());
}

std::uint32_t control_bytes_max(std::uint16_t kind) {
    return kind == kHelloKind           ? kHelloBytesMax
           : kind == kind_of<Roster>()  ? kRosterBytesMax
           : kind == kind_of<Located>() ? kLocatedBytesMax
                                        : kControlBytesMax;
}

// ---- header fields ----

template <class Value>
void put(HeaderBytes& bytes, std::size_t offset, Value value) {
    for (std::size_t i = 0; i < sizeof(Value); ++i) {
        bytes[offset + i] = static_cast<std::byte>((value >> (8 * i)) & 0xffU);
    }
}

template <class Value>
Value get(const HeaderBytes& bytes, std::size_t offset) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(Value); ++i) {
        value |= std::to_integer<std::uint64_t>(bytes[offset + i]) << (8 * i);
    }
    return static_cast<Value>(value);
}

Result<> check_sizes(const FrameHeader& header) {
    const auto too_large = [&](const char* part, std::uint64_t size, std::uint64_t max) {
        return refusal(
            ErrorCode::TooLarge,
            "frame of kind " + std::to_string(header.kind) + ": " + part + " of " +
                std::to_string(size) + " bytes, at most " + std::to_string(max) + "; link refused"
        );
    };
    if (header.control_bytes > control_bytes_max(header.kind)) {
        return too_large("control part", header.control_bytes, control_bytes_max(header.kind));
    }
    if (header.envelope_bytes > kEnvelopeBytesMax) {
        return too_large("envelope", header.envelope_bytes, kEnvelopeBytesMax);
    }
    if (header.tensor_bytes > kTensorBytesMax) {
        return too_large("tensor", header.tensor_bytes, kTensorBytesMax);
    }
    return {};
}

// ---- control part ----

/// Holds a generated object. A small one lives on the stack, so a decode allocates nothing beside
/// the lists and texts of its result.
struct WireArena {
    alignas(8) char block[4096];
    google::protobuf::Arena arena{block, sizeof block};

    template <class Wire>
    Wire* create() {
        return google::protobuf::Arena::CreateMessage<Wire>(&arena);
    }
};

template <class Wire>
std::vector<std::byte> serialize(const Wire& wire) {
    std::vector<std::byte> bytes(wire.ByteSizeLong());
    wire.SerializeWithCachedSizesToArray(reinterpret_cast<std::uint8_t*>(bytes.data()));
    return bytes;
}

template <class Struct, class Wire>
std::vector<std::byte> encode(const Struct& value) {
    WireArena memory;
    Wire* wire = memory.create<Wire>();
    to_wire(value, wire);
    return serialize(*wire);
}

/// Counts the fields of a message and of its parts. Two bytes on the wire can become a SlotInfo of
/// a hundred bytes, so fields are counted before Protobuf makes objects of them. Returns true for
/// broken bytes, too, which the parser refuses.
bool has_few_fields(std::span<const std::byte> bytes) {
    using google::protobuf::internal::WireFormatLite;
    constexpr std::size_t kFieldsMax = kRosterMax + 16;
    google::protobuf::io::CodedInputStream in(
        reinterpret_cast<const std::uint8_t*>(bytes.data()), static_cast<int>(bytes.size())
    );
    std::size_t fields = 0;
    while (const std::uint32_t outer = in.ReadTag()) {
        int size = 0;
        const bool nested =
            WireFormatLite::GetTagWireType(outer) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
        if (nested ? !in.ReadVarintSizeAsInt(&size) : !WireFormatLite::SkipField(&in, outer)) {
            return true;
        }
        const auto limit = in.PushLimit(nested ? size : 0);
        while (const std::uint32_t inner = in.ReadTag()) {
            if (!WireFormatLite::SkipField(&in, inner)) {
                return true;
            }
            if (++fields > kFieldsMax) {
                return false;
            }
        }
        in.PopLimit(limit);
        if (++fields > kFieldsMax) {
            return false;
        }
    }
    return true;
}

/// Decodes a message. A message has one byte form: the bytes that encoding makes of it. All other
/// bytes are refused, also where Protobuf would take them: unknown fields, repeated fields, and
/// numbers written too long.
template <class Struct, class Wire>
Result<Struct> decode(std::span<const std::byte> bytes, std::size_t bytes_max, const char* what) {
    const std::string name = what;
    if (bytes.size() > bytes_max || !has_few_fields(bytes)) {
        return refusal(
            ErrorCode::TooLarge,
            name + ": " + std::to_string(bytes.size()) + " bytes or too many fields; frame refused"
        );
    }
    WireArena memory;
    Wire* wire = memory.create<Wire>();
    if (!wire->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
        return refusal(ErrorCode::Malformed, name + ": not Protobuf; frame refused");
    }
    SWARM_TRY(auto value, from_wire(*wire));
    const std::vector<std::byte> canonical = encode<Struct, Wire>(value);
    if (!std::equal(bytes.begin(), bytes.end(), canonical.begin(), canonical.end())) {
        return refusal(ErrorCode::Malformed, name + ": unknown or repeated fields; frame refused");
    }
    return value;
}

}  // namespace

HeaderBytes encode_header(const FrameHeader& header) {
    HeaderBytes bytes{};
    put(bytes, 0, kMagic);
    put(bytes, 4, kProtocolVersion);
    put(bytes, 6, header.kind);
    put(bytes, 8, header.control_bytes);
    put(bytes, 12, header.envelope_bytes);
    put(bytes, 16, header.tensor_bytes);
    return bytes;
}

Result<FrameHeader> decode_header(const HeaderBytes& bytes, Lane lane) {
    if (get<std::uint32_t>(bytes, 0) != kMagic) {
        return refusal(ErrorCode::Malformed, "frame: no magic; not a swarm peer, or out of step");
    }
    const auto version = get<std::uint16_t>(bytes, 4);
    if (version != kProtocolVersion) {
        return refusal(
            ErrorCode::Mismatch,
            "frame: protocol version " + std::to_string(version) + ", here " +
                std::to_string(kProtocolVersion) + "; run the same release on both sides"
        );
    }
    const FrameHeader header{
        .kind = get<std::uint16_t>(bytes, 6),
        .control_bytes = get<std::uint32_t>(bytes, 8),
        .envelope_bytes = get<std::uint32_t>(bytes, 12),
        .tensor_bytes = get<std::uint64_t>(bytes, 16)};
    const std::string what = "frame of kind " + std::to_string(header.kind);
    if (get<std::uint64_t>(bytes, 24) != 0) {
        return refusal(ErrorCode::Malformed, what + ": reserved bytes are not 0; link refused");
    }
    if (header.kind >= kKinds && header.kind != kHelloKind) {
        return refusal(ErrorCode::Malformed, what + ": no such kind; link refused");
    }
    SWARM_TRY(check_sizes(header));
    const bool has_tensor = header.envelope_bytes != 0 || header.tensor_bytes != 0;
    if (has_tensor && !(carries_tensor(header.kind) && lane == Lane::Bulk)) {
        return refusal(ErrorCode::Malformed, what + ": no tensor belongs here; link refused");
    }
    if (header.tensor_bytes != 0 && header.envelope_bytes == 0) {
        return refusal(ErrorCode::Malformed, what + ": tensor without envelope; link refused");
    }
    return header;
}

std::vector<std::byte> encode_control(const Message& message) {
    return encode<Message, wire::Message>(message);
}

Result<Message> decode_control(std::uint16_t kind, std::span<const std::byte> bytes) {
    const std::size_t bytes_max = control_bytes_max(kind);
    SWARM_TRY(auto message, decode<Message, wire::Message>(bytes, bytes_max, "message"));
    if (message.body.index() != kind) {
        return refusal(
            ErrorCode::Malformed,
            "message: header says kind " + std::to_string(kind) + ", body is of kind " +
                std::to_string(message.body.index()) + "; frame refused"
        );
    }
    return message;
}

std::vector<std::byte> encode_hello(const Hello& hello) {
    return encode<Hello, wire::Hello>(hello);
}

Result<Hello> decode_hello(std::span<const std::byte> bytes) {
    return decode<Hello, wire::Hello>(bytes, kHelloBytesMax, "hello");
}

Lane lane_of(const Body& body) {
    const auto kind = static_cast<std::uint16_t>(body.index());
    // These answer a tensor between peers that may have no control lane.
    const bool bulk =
        carries_tensor(kind) || kind == kind_of<SessionTaken>() || kind == kind_of<ExpertRefused>();
    return bulk ? Lane::Bulk : Lane::Control;
}

bool carries_tensor(std::uint16_t kind) {
    return kind == kind_of<Forward>() || kind == kind_of<Backward>() || kind == kind_of<Part>() ||
           kind == kind_of<Chunk>() || kind == kind_of<Infer>() || kind == kind_of<SessionRows>() ||
           kind == kind_of<FileChunk>() || kind == kind_of<Evaluate>() ||
           kind == kind_of<ExpertRows>() || kind == kind_of<ExpertOutputs>();
}

}  // namespace swarm::protocol
