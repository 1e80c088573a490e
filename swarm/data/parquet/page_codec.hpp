// How the bytes of a page are packed, and their unpacking: plain, Snappy, gzip (zlib) or zstd.
// Invariant: a page is unpacked to exactly as many bytes as its header says, or not at all.
// Threading: pure functions. Errors: Malformed (Reject): damaged bytes, another size, or a codec
// that is not read, by its name. Cost: Snappy about 1 GB/s, zstd 800 MB/s, zlib 300 MB/s.
#pragma once

#include "swarm/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace swarm::data::parquet {

/// The numbers are those of parquet.thrift.
enum class PageCodec { Plain = 0, Snappy = 1, Gzip = 2, Zstd = 6 };

Result<PageCodec> codec_of(std::int32_t number);

/// Whether the packed bytes can be a page of so many bytes, as far as their head tells. A page that
/// cannot is refused before there is room for it.
bool may_unpack_to(PageCodec codec, std::string_view packed, std::size_t bytes);

/// Fills `to`.
Result<> unpack_page(PageCodec codec, std::string_view packed, std::span<char> to);

}  // namespace swarm::data::parquet
