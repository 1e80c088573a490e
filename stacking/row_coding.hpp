// How activations look between two hops: each row coded for itself, one after the other, so that a
// row's bytes are the same in whatever call or batch it was computed.
// Invariant: the bytes are a function of (row, codec), the decoded row one of the bytes; nothing is
// drawn. Threading: any. Shapes: (R, C) fp32 to R x row_bytes(C).
// Errors: those of the codec (NotFinite, Malformed); Reject. Cost: O(bytes), one allocation.
#pragma once

#include "compression/codec.hpp"
#include "swarm/protocol/session_messages.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stacking {

using swarm::protocol::RowCodec;

/// Null unless rows may be coded so.
const compression::Codec* find_row_codec(compression::CodecId id);
const compression::Codec* find_row_codec(std::string_view name);
/// "none, int8, ...": for error texts and --help. Without "auto".
std::string row_codec_names();
/// "int8", or link by link "none,int8"; "auto" is a codec that nobody has named. Nothing where one
/// of them is no row codec.
std::optional<std::vector<RowCodec>> parse_row_codecs(std::string_view names);
/// The same backwards, of codecs that are known.
std::string to_text(std::span<const compression::CodecId> codecs);

/// Of a path's links, counted from the first hop's: the last one named is that of all further
/// links, and `none` where none is named.
RowCodec codec_of_link(std::span<const RowCodec> codecs, std::size_t link);

std::size_t row_bytes(const compression::Codec& codec, std::size_t width);

swarm::Result<std::vector<std::byte>> encode_rows(
    const compression::Codec& codec, std::size_t width, std::span<const float> rows
);

/// `bytes`: as many rows of row_bytes() as `rows` has of `width`; the caller has checked that.
swarm::Result<> decode_rows(
    const compression::Codec& codec,
    std::size_t width,
    std::span<const std::byte> bytes,
    std::span<float> rows
);

/// In place: what the next hop reads.
swarm::Result<> send_through(
    const compression::Codec& codec, std::size_t width, std::span<float> rows
);

}  // namespace stacking
