// How the bytes of a page are packed, and their unpacking: plain, Snappy, gzip (zlib) or zstd.
// Invariant: a page is unpacked to exactly as many bytes as its header says, or not at all. The
// packed bytes are read kReadBytes at a time, since a page may have many.
// Threading: one thread. Errors: Malformed (Reject): damaged bytes, another size, or a codec that
// is not read, by its name; those of FileBytes.
// Memory: for zstd the window of the frame, at most kParquetPageBytesMax, and usually 2 to 8 MiB.
// Cost: Snappy about 1 GB/s, zstd 800 MB/s, zlib 300 MB/s.
#pragma once

#include "swarm/base/result.hpp"
#include "swarm/data/parquet/file_bytes.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace swarm::data::parquet {

/// The numbers are those of parquet.thrift.
enum class PageCodec { Plain = 0, Snappy = 1, Gzip = 2, Zstd = 6 };

Result<PageCodec> codec_of(std::int32_t number);

/// The packed bytes of a page, from front to back.
class PackedPage {
 public:
    /// Requires that the bytes lie within the file. `buffer` is used while the object lives.
    PackedPage(
        const FileBytes& file, std::uint64_t offset, std::uint64_t bytes, std::vector<char>& buffer
    );

    /// Returns the next bytes, reading more where none are left; empty at the end, and after an
    /// error of the disk.
    std::string_view peek();

    /// Goes behind so many of the bytes that peek() has returned.
    void take(std::size_t bytes);

    /// Bytes that are not taken.
    [[nodiscard]] std::uint64_t left() const { return left_; }

    /// Returns the checksum of the bytes that were read.
    [[nodiscard]] std::uint32_t crc() const { return crc_; }

    [[nodiscard]] const std::optional<Error>& disk_error() const { return disk_error_; }

 private:
    const FileBytes& file_;
    std::uint64_t offset_;  // behind what was read
    std::uint64_t left_;
    std::vector<char>& buffer_;
    std::string_view read_;  // and not taken
    std::uint32_t crc_ = 0;
    std::optional<Error> disk_error_;
};

/// Whether the bytes can be a page of so many bytes, as far as their head tells. A page that cannot
/// is refused before there is room for it. Requires that none is taken.
bool may_unpack_to(PageCodec codec, PackedPage& packed, std::size_t bytes);

/// Fills `to`. Requires may_unpack_to().
Result<> unpack_page(PageCodec codec, PackedPage& packed, std::span<char> to);

}  // namespace swarm::data::parquet
