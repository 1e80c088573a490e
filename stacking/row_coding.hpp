// The bytes of activations between two hops. Rows are coded one after the other, each for itself,
// so a row has the same bytes in every call and batch.
// Invariant: the bytes are a function of (row, codec), and the decoded row is a function of the
// bytes; nothing is random. Threading: any. Shapes: (R, C) fp32 to R x row_bytes(C) bytes.
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

/// Null for a codec that rows may not have.
const compression::Codec* find_row_codec(compression::CodecId id);
const compression::Codec* find_row_codec(std::string_view name);
/// "none, int8, ...", without "auto": for error texts and --help.
std::string row_codec_names();
/// Reads "int8", or "none,int8" link by link; "auto" becomes a RowCodec without a value. Returns
/// nothing when one of the names is no row codec.
std::optional<std::vector<RowCodec>> parse_row_codecs(std::string_view names);
/// Writes the names of codecs as parse_row_codecs() reads them.
std::string to_text(std::span<const compression::CodecId> codecs);

/// Codec of a link of a path, counted from the link behind the first hop. The last codec of the
/// list holds for all further links; an empty list means `none`.
RowCodec codec_of_link(std::span<const RowCodec> codecs, std::size_t link);

std::size_t row_bytes(const compression::Codec& codec, std::size_t width);

swarm::Result<std::vector<std::byte>> encode_rows(
    const compression::Codec& codec, std::size_t width, std::span<const float> rows
);

/// REQUIRES: `bytes` has as many rows of row_bytes() as `rows` has rows of `width`.
swarm::Result<> decode_rows(
    const compression::Codec& codec,
    std::size_t width,
    std::span<const std::byte> bytes,
    std::span<float> rows
);

/// Replaces the rows by the values that the next hop would read.
swarm::Result<> send_through(
    const compression::Codec& codec, std::size_t width, std::span<float> rows
);

}  // namespace stacking
