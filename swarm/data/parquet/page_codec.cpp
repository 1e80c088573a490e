#include "swarm/data/parquet/page_codec.hpp"

#include "swarm/data/parquet/file_bytes.hpp"

#include <array>
#include <cstddef>
#include <cstring>
#include <snappy-c.h>
#include <string>
#include <zlib.h>
#include <zstd.h>

namespace swarm::data::parquet {
namespace {

constexpr std::array<const char*, 8> kCodecNames = {
    "UNCOMPRESSED", "SNAPPY", "GZIP", "LZO", "BROTLI", "LZ4", "ZSTD", "LZ4_RAW"};

/// A byte of a deflate stream stands for at most so many; the head and tail of gzip come on top.
constexpr std::size_t kDeflateRatioMax = 1032;

/// Requires may_unpack_to(), which compares the sizes.
bool unpack_snappy(std::string_view packed, std::span<char> to) {
    std::size_t bytes = to.size();
    return ::snappy_uncompress(packed.data(), packed.size(), to.data(), &bytes) == SNAPPY_OK;
}

bool unpack_gzip(std::string_view packed, std::span<char> to) {
    constexpr int kGzipOrZlib = 32 + MAX_WBITS;
    z_stream inflate{};
    if (::inflateInit2(&inflate, kGzipOrZlib) != Z_OK) {
        return false;
    }
    // Sizes are at most kParquetPageBytesMax, so they fit. zlib does not write to its input.
    inflate.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    inflate.avail_in = static_cast<uInt>(packed.size());
    inflate.next_out = reinterpret_cast<Bytef*>(to.data());
    inflate.avail_out = static_cast<uInt>(to.size());
    int code = ::inflate(&inflate, Z_FINISH);
    while (code == Z_STREAM_END && inflate.avail_in > 0) {  // another member follows
        ::inflateReset(&inflate);
        code = ::inflate(&inflate, Z_FINISH);
    }
    const bool is_whole = code == Z_STREAM_END && inflate.avail_out == 0;
    ::inflateEnd(&inflate);
    return is_whole;
}

bool unpack_zstd(std::string_view packed, std::span<char> to) {
    return ::ZSTD_decompress(to.data(), to.size(), packed.data(), packed.size()) == to.size();
}

bool unpack(PageCodec codec, std::string_view packed, std::span<char> to) {
    switch (codec) {
        case PageCodec::Plain:
            if (!to.empty()) {
                std::memcpy(to.data(), packed.data(), to.size());
            }
            return true;
        case PageCodec::Snappy:
            return unpack_snappy(packed, to);
        case PageCodec::Gzip:
            return unpack_gzip(packed, to);
        case PageCodec::Zstd:
            return unpack_zstd(packed, to);
    }
    return false;
}

}  // namespace

Result<PageCodec> codec_of(std::int32_t number) {
    switch (number) {
        case 0:
            return PageCodec::Plain;
        case 1:
            return PageCodec::Snappy;
        case 2:
            return PageCodec::Gzip;
        case 6:
            return PageCodec::Zstd;
        default:
            break;
    }
    const bool is_known = number >= 0 && static_cast<std::size_t>(number) < kCodecNames.size();
    const std::string name = is_known ? kCodecNames[static_cast<std::size_t>(number)]
                                      : "codec " + std::to_string(number);
    return damaged(
        "is packed with " + name + ", which is not read; read are UNCOMPRESSED, SNAPPY, GZIP, ZSTD"
    );
}

bool may_unpack_to(PageCodec codec, std::string_view packed, std::size_t bytes) {
    switch (codec) {
        case PageCodec::Plain:
            return packed.size() == bytes;
        case PageCodec::Snappy: {
            std::size_t length = 0;
            return ::snappy_uncompressed_length(packed.data(), packed.size(), &length) ==
                       SNAPPY_OK &&
                   length == bytes;
        }
        case PageCodec::Gzip:
            return bytes / kDeflateRatioMax <= packed.size();
        case PageCodec::Zstd: {
            // A frame need not tell its size, and another may follow.
            const auto first = ::ZSTD_getFrameContentSize(packed.data(), packed.size());
            return first == ZSTD_CONTENTSIZE_UNKNOWN ||
                   (first != ZSTD_CONTENTSIZE_ERROR && first <= bytes);
        }
    }
    return false;
}

Result<> unpack_page(PageCodec codec, std::string_view packed, std::span<char> to) {
    if (!may_unpack_to(codec, packed, to.size()) || !unpack(codec, packed, to)) {
        return damaged("a page does not unpack to the size in its header");
    }
    return {};
}

}  // namespace swarm::data::parquet
