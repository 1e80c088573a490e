#include "swarm/data/parquet/page_codec.hpp"

#include "swarm/base/check.hpp"
#include "swarm/data/limits.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <snappy-sinksource.h>
#include <snappy.h>
#include <string>
#include <zlib.h>
#include <zstd.h>

namespace swarm::data::parquet {
namespace {

constexpr std::array<const char*, 8> kCodecNames = {
    "UNCOMPRESSED", "SNAPPY", "GZIP", "LZO", "BROTLI", "LZ4", "ZSTD", "LZ4_RAW"};

/// A byte of a deflate stream stands for at most so many; the head and tail of gzip come on top.
constexpr std::size_t kDeflateRatioMax = 1032;

bool unpack_plain(PackedPage& packed, std::span<char> to) {
    while (!to.empty()) {
        const std::string_view part = packed.peek().substr(0, to.size());
        if (part.empty()) {
            return false;
        }
        std::memcpy(to.data(), part.data(), part.size());
        to = to.subspan(part.size());
        packed.take(part.size());
    }
    return packed.left() == 0;
}

/// The page for the library.
class SnappySource : public snappy::Source {
 public:
    explicit SnappySource(PackedPage& packed) : packed_(packed) {}

    [[nodiscard]] std::size_t Available() const override { return packed_.left(); }

    const char* Peek(std::size_t* bytes) override {
        const std::string_view part = packed_.peek();
        *bytes = part.size();
        return part.data();
    }

    void Skip(std::size_t bytes) override {
        while (bytes > 0) {
            const std::size_t part = std::min(bytes, packed_.peek().size());
            if (part == 0) {
                return;
            }
            packed_.take(part);
            bytes -= part;
        }
    }

 private:
    PackedPage& packed_;
};

/// Requires may_unpack_to(), which compares the sizes: the library trusts them.
bool unpack_snappy(PackedPage& packed, std::span<char> to) {
    SnappySource source(packed);
    return snappy::RawUncompress(&source, to.data()) && packed.left() == 0;
}

bool inflate_all(z_stream& stream, PackedPage& packed) {
    while (true) {
        const std::string_view part = packed.peek();
        // zlib does not write to its input.
        stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(part.data()));
        stream.avail_in = static_cast<uInt>(part.size());
        const int code = ::inflate(&stream, Z_NO_FLUSH);
        packed.take(part.size() - stream.avail_in);
        if (code == Z_STREAM_END) {
            if (packed.left() == 0) {
                return stream.avail_out == 0;
            }
            ::inflateReset(&stream);  // another member follows
        } else if (code != Z_OK) {
            return false;  // damaged, or it does not go on
        }
    }
}

bool unpack_gzip(PackedPage& packed, std::span<char> to) {
    constexpr int kGzipOrZlib = 32 + MAX_WBITS;
    z_stream stream{};
    if (::inflateInit2(&stream, kGzipOrZlib) != Z_OK) {
        return false;
    }
    stream.next_out = reinterpret_cast<Bytef*>(to.data());
    stream.avail_out = static_cast<uInt>(to.size());  // at most kParquetPageBytesMax
    const bool is_whole = inflate_all(stream, packed);
    ::inflateEnd(&stream);
    return is_whole;
}

bool unpack_zstd(PackedPage& packed, std::span<char> to) {
    constexpr int kWindowLogMax = 26;
    static_assert(kParquetPageBytesMax == 1U << kWindowLogMax);
    const std::unique_ptr<ZSTD_DStream, decltype(&::ZSTD_freeDStream)> stream(
        ::ZSTD_createDStream(), &::ZSTD_freeDStream
    );
    if (stream == nullptr) {
        return false;
    }
    ::ZSTD_DCtx_setParameter(stream.get(), ZSTD_d_windowLogMax, kWindowLogMax);
    ZSTD_outBuffer out{to.data(), to.size(), 0};
    while (true) {
        const std::string_view part = packed.peek();
        ZSTD_inBuffer in{part.data(), part.size(), 0};
        const std::size_t before = out.pos;
        const std::size_t code = ::ZSTD_decompressStream(stream.get(), &out, &in);
        packed.take(in.pos);
        if (::ZSTD_isError(code) != 0) {
            return false;
        }
        if (code == 0 && packed.left() == 0) {
            return out.pos == out.size;
        }
        if (in.pos == 0 && out.pos == before) {
            return false;  // it does not go on
        }
    }
}

bool unpack(PageCodec codec, PackedPage& packed, std::span<char> to) {
    switch (codec) {
        case PageCodec::Plain:
            return unpack_plain(packed, to);
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

PackedPage::PackedPage(
    const FileBytes& file, std::uint64_t offset, std::uint64_t bytes, std::vector<char>& buffer
)
    : file_(file), offset_(offset), left_(bytes), buffer_(buffer) {}

std::string_view PackedPage::peek() {
    if (!read_.empty() || left_ == 0 || disk_error_) {
        return read_;
    }
    buffer_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(left_, kReadBytes)));
    if (const auto came = file_.read(offset_, buffer_); came.has_error()) {
        disk_error_ = came.error();
        return {};
    }
    offset_ += buffer_.size();
    read_ = {buffer_.data(), buffer_.size()};
    crc_ = static_cast<std::uint32_t>(::crc32(
        crc_, reinterpret_cast<const Bytef*>(buffer_.data()), static_cast<uInt>(buffer_.size())
    ));
    return read_;
}

void PackedPage::take(std::size_t bytes) {
    SWARM_ASSERT(bytes <= read_.size());
    read_.remove_prefix(bytes);
    left_ -= bytes;
}

bool may_unpack_to(PageCodec codec, PackedPage& packed, std::size_t bytes) {
    const std::string_view head = packed.peek();
    switch (codec) {
        case PageCodec::Plain:
            return packed.left() == bytes;
        case PageCodec::Snappy: {
            std::size_t length = 0;
            return snappy::GetUncompressedLength(head.data(), head.size(), &length) &&
                   length == bytes;
        }
        case PageCodec::Gzip:
            return bytes / kDeflateRatioMax <= packed.left();
        case PageCodec::Zstd: {
            // A frame need not tell its size, and another may follow.
            const auto first = ::ZSTD_getFrameContentSize(head.data(), head.size());
            return first == ZSTD_CONTENTSIZE_UNKNOWN ||
                   (first != ZSTD_CONTENTSIZE_ERROR && first <= bytes);
        }
    }
    return false;
}

Result<> unpack_page(PageCodec codec, PackedPage& packed, std::span<char> to) {
    const bool is_whole = unpack(codec, packed, to);
    if (packed.disk_error()) {
        return *packed.disk_error();
    }
    return is_whole ? Result<>() : damaged("a page does not unpack to the size in its header");
}

}  // namespace swarm::data::parquet
