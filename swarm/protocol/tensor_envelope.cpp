#include "swarm/protocol/tensor_envelope.hpp"

#include "swarm/base/try.hpp"

#include <algorithm>
#include <msgpack.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace swarm::protocol {

namespace {

// Keys of the map in the order in which they are written: dtype, codec and shape.
constexpr std::array<std::string_view, 3> kKeys{"d", "c", "s"};

/// Takes the bytes that msgpack::packer writes.
struct ByteSink {
    std::vector<std::byte> bytes;

    void write(const char* data, std::size_t size) {
        const auto* const from = reinterpret_cast<const std::byte*>(data);
        bytes.insert(bytes.end(), from, from + size);
    }
};

Error refused(ErrorCode code, std::string_view what) {
    return {code, Reaction::Reject, "tensor envelope: " + std::string(what) + "; frame refused"};
}

Result<std::uint64_t> number(const msgpack::object& object, std::uint64_t max) {
    if (object.type != msgpack::type::POSITIVE_INTEGER || object.via.u64 > max) {
        return refused(ErrorCode::Malformed, "a number is missing or out of range");
    }
    return object.via.u64;
}

Result<std::vector<std::uint32_t>> shape_of(const msgpack::object& object) {
    if (object.type != msgpack::type::ARRAY || object.via.array.size > kDimensionsMax) {
        return refused(ErrorCode::Malformed, "the shape is no array of at most 8 dimensions");
    }
    std::vector<std::uint32_t> shape;
    for (const msgpack::object& item : std::span(object.via.array.ptr, object.via.array.size)) {
        SWARM_TRY(const auto dimension, number(item, 0xffff'ffffU));
        shape.push_back(static_cast<std::uint32_t>(dimension));
    }
    return shape;
}

/// Tells whether the tensor stays within kTensorBytesMax. Each product is formed only if it stays
/// below the limit, so elements() cannot overflow.
bool fits(const TensorEnvelope& envelope) {
    const std::uint64_t elements_max = kTensorBytesMax / bytes_of(envelope.dtype);
    std::uint64_t elements = 1;
    for (const std::uint32_t dimension : envelope.shape) {
        if (dimension != 0 && elements > elements_max / dimension) {
            return false;
        }
        elements *= dimension;
    }
    return true;
}

/// Returns the value of the key at this place, or null when another key is there: the entries come
/// in the order in which encode_envelope() writes them.
const msgpack::object* value_at(const msgpack::object& map, std::uint32_t place) {
    const msgpack::object_kv& entry = map.via.map.ptr[place];
    const bool is_text = entry.key.type == msgpack::type::STR;
    const bool is_ours =
        is_text && std::string_view(entry.key.via.str.ptr, entry.key.via.str.size) == kKeys[place];
    return is_ours ? &entry.val : nullptr;
}

Result<TensorEnvelope> read_map(const msgpack::object& map) {
    if (map.type != msgpack::type::MAP || map.via.map.size != kKeys.size()) {
        return refused(ErrorCode::Malformed, "not a map of three entries");
    }
    const msgpack::object* const dtype = value_at(map, 0);
    const msgpack::object* const codec = value_at(map, 1);
    const msgpack::object* const dimensions = value_at(map, 2);
    if (dtype == nullptr || codec == nullptr || dimensions == nullptr) {
        return refused(ErrorCode::Malformed, "the keys are not d, c and s in this order");
    }
    SWARM_TRY(const auto dtype_number, number(*dtype, static_cast<std::uint64_t>(Dtype::Bytes)));
    SWARM_TRY(const auto codec_number, number(*codec, static_cast<std::uint64_t>(kLastCodecId)));
    SWARM_TRY(auto shape, shape_of(*dimensions));
    return TensorEnvelope{
        .dtype = static_cast<Dtype>(dtype_number),
        .codec = static_cast<CodecId>(codec_number),
        .shape = std::move(shape)};
}

/// Decodes the map. msgpack-cxx reports errors by exceptions, which end here.
Result<TensorEnvelope> unpack(std::span<const std::byte> bytes) {
    const msgpack::unpack_limit limit(
        kDimensionsMax,        // array
        kKeys.size(),          // map
        kKeys.front().size(),  // str
        0,                     // bin
        0,                     // ext
        2                      // depth: an array in a map
    );
    try {
        const msgpack::object_handle handle = msgpack::unpack(
            reinterpret_cast<const char*>(bytes.data()), bytes.size(), nullptr, nullptr, limit
        );
        return read_map(handle.get());
    } catch (const msgpack::unpack_error& error) {
        return refused(ErrorCode::Malformed, error.what());
    }
}

}  // namespace

std::vector<std::byte> encode_envelope(const TensorEnvelope& envelope) {
    ByteSink sink;
    msgpack::packer<ByteSink> packer(sink);
    packer.pack_map(static_cast<std::uint32_t>(kKeys.size()));
    packer.pack(kKeys[0]).pack(static_cast<std::uint32_t>(envelope.dtype));
    packer.pack(kKeys[1]).pack(static_cast<std::uint32_t>(envelope.codec));
    packer.pack(kKeys[2]).pack(envelope.shape);
    return std::move(sink.bytes);
}

Result<TensorEnvelope> decode_envelope(std::span<const std::byte> bytes) {
    if (bytes.size() > kEnvelopeBytesMax) {
        return refused(ErrorCode::TooLarge, std::to_string(bytes.size()) + " bytes");
    }
    SWARM_TRY(auto envelope, unpack(bytes));
    if (!fits(envelope)) {
        return refused(ErrorCode::TooLarge, "the shape is above the largest tensor");
    }
    // An envelope has one byte form, as a control part has. The comparison refuses trailing bytes
    // and numbers written too long.
    const std::vector<std::byte> canonical = encode_envelope(envelope);
    if (!std::equal(bytes.begin(), bytes.end(), canonical.begin(), canonical.end())) {
        return refused(ErrorCode::Malformed, "not in the one form that encoding gives");
    }
    return envelope;
}

}  // namespace swarm::protocol
