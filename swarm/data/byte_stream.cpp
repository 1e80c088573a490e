#include "swarm/data/byte_stream.hpp"

#include "swarm/base/durable_file.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <string>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>
#include <zlib.h>
#include <zstd.h>

namespace swarm::data {
namespace {

namespace fs = std::filesystem;

Error cannot_read(const fs::path& path, int code) {
    return {
        code == ENOENT ? ErrorCode::NotFound : ErrorCode::StorageFailed,
        Reaction::Reject,
        "cannot read " + path.string() + ": " + std::generic_category().message(code)};
}

Error damaged(const std::string& why) {
    return {ErrorCode::Malformed, Reaction::Reject, why};
}

class PlainStream : public ByteStream {
 public:
    PlainStream(fs::path path, FileDescriptor file, std::uint64_t offset)
        : path_(std::move(path)), file_(std::move(file)), consumed_(offset) {}

    Result<std::size_t> read(std::span<char> bytes) override {
        while (true) {
            const ssize_t count = ::read(file_.get(), bytes.data(), bytes.size());
            if (count >= 0) {
                consumed_ += static_cast<std::uint64_t>(count);
                return static_cast<std::size_t>(count);
            }
            if (errno != EINTR) {
                return cannot_read(path_, errno);
            }
        }
    }

    [[nodiscard]] std::uint64_t consumed() const override { return consumed_; }

 private:
    fs::path path_;
    FileDescriptor file_;
    std::uint64_t consumed_;
};

/// The packed bytes that the unpackers below have not taken yet.
class PackedBytes {
 public:
    explicit PackedBytes(std::unique_ptr<ByteStream> file)
        : file_(std::move(file)), bytes_(kReadBytes) {}

    /// Returns the bytes that are left, reading more when there are none; empty at the end.
    Result<std::span<char>> left() {
        if (left_.empty()) {
            SWARM_TRY(const std::size_t count, file_->read(bytes_));
            left_ = std::span(bytes_).first(count);
        }
        return left_;
    }

    void take(std::size_t count) { left_ = left_.subspan(count); }

    [[nodiscard]] std::uint64_t consumed() const { return file_->consumed() - left_.size(); }

 private:
    std::unique_ptr<ByteStream> file_;
    std::vector<char> bytes_;
    std::span<char> left_;
};

class GzipStream : public ByteStream {
 public:
    explicit GzipStream(std::unique_ptr<ByteStream> file) : packed_(std::move(file)) {
        constexpr int kGzipAlone = 16 + MAX_WBITS;
        ready_ = ::inflateInit2(&inflate_, kGzipAlone) == Z_OK;
    }

    ~GzipStream() override {
        if (ready_) {
            ::inflateEnd(&inflate_);
        }
    }

    GzipStream(const GzipStream&) = delete;
    GzipStream& operator=(const GzipStream&) = delete;

    Result<std::size_t> read(std::span<char> bytes) override {
        if (!ready_) {
            return damaged("zlib cannot begin");
        }
        while (true) {
            SWARM_TRY(const std::span<char> left, packed_.left());
            if (left.empty() && !within_) {
                return 0U;
            }
            within_ = true;
            SWARM_TRY(const std::size_t count, unpack(left, bytes));
            if (count > 0) {
                return count;
            }
            if (left.empty() && within_) {
                return damaged("the gzip file ends early");
            }
        }
    }

    [[nodiscard]] std::uint64_t consumed() const override { return packed_.consumed(); }

 private:
    Result<std::size_t> unpack(std::span<char> from, std::span<char> to) {
        inflate_.next_in = reinterpret_cast<Bytef*>(from.data());
        inflate_.avail_in = static_cast<uInt>(from.size());
        inflate_.next_out = reinterpret_cast<Bytef*>(to.data());
        inflate_.avail_out = static_cast<uInt>(std::min<std::size_t>(to.size(), kReadBytes));
        const uInt room = inflate_.avail_out;
        const int code = ::inflate(&inflate_, Z_NO_FLUSH);
        if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) {
            return damaged("the gzip file is damaged");
        }
        packed_.take(from.size() - inflate_.avail_in);
        if (code == Z_STREAM_END) {
            within_ = false;  // another member may follow
            ::inflateReset(&inflate_);
        }
        return std::size_t{room - inflate_.avail_out};
    }

    PackedBytes packed_;
    z_stream inflate_{};
    bool ready_ = false;
    bool within_ = true;  // a member has begun and not ended; an empty file is no gzip file
};

class ZstdStream : public ByteStream {
 public:
    explicit ZstdStream(std::unique_ptr<ByteStream> file)
        : packed_(std::move(file)), context_(::ZSTD_createDStream()) {
        if (context_ != nullptr) {
            // A frame names its window; a longer one than zstd's own default is not unpacked.
            constexpr int kWindowLogMax = 27;
            ::ZSTD_DCtx_setParameter(context_, ZSTD_d_windowLogMax, kWindowLogMax);
        }
    }

    ~ZstdStream() override { ::ZSTD_freeDStream(context_); }

    ZstdStream(const ZstdStream&) = delete;
    ZstdStream& operator=(const ZstdStream&) = delete;

    Result<std::size_t> read(std::span<char> bytes) override {
        if (context_ == nullptr) {
            return damaged("zstd cannot begin");
        }
        while (true) {
            SWARM_TRY(const std::span<char> left, packed_.left());
            if (left.empty() && !within_) {
                return 0U;
            }
            ZSTD_inBuffer from{left.data(), left.size(), 0};
            ZSTD_outBuffer to{bytes.data(), bytes.size(), 0};
            const std::size_t code = ::ZSTD_decompressStream(context_, &to, &from);
            if (::ZSTD_isError(code) != 0) {
                return damaged(
                    std::string("the zstd file is damaged: ") + ::ZSTD_getErrorName(code)
                );
            }
            packed_.take(from.pos);
            within_ = code != 0;  // 0: a frame has ended, and all of it came out
            if (to.pos > 0) {
                return to.pos;
            }
            if (left.empty()) {
                return damaged("the zstd file ends early");
            }
        }
    }

    [[nodiscard]] std::uint64_t consumed() const override { return packed_.consumed(); }

 private:
    PackedBytes packed_;
    ZSTD_DStream* context_;
    bool within_ = true;  // an empty file is no zstd file
};

/// Reads up to a place; the file may have become shorter.
Result<> skip_bytes(ByteStream& stream, std::uint64_t offset) {
    std::vector<char> dropped(kReadBytes);
    while (offset > 0) {
        const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(offset, kReadBytes));
        SWARM_TRY(const std::size_t count, stream.read(std::span(dropped).first(most)));
        if (count == 0) {
            return damaged("the file is shorter than it was");
        }
        offset -= count;
    }
    return {};
}

}  // namespace

Result<std::unique_ptr<ByteStream>> open_stream(const InputFile& file, std::uint64_t offset) {
    FileDescriptor opened(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!opened.is_open()) {
        return cannot_read(file.path, errno);
    }
    const bool is_plain = file.format == InputFormat::Text || file.format == InputFormat::Lines;
    if (is_plain && ::lseek(opened.get(), static_cast<off_t>(offset), SEEK_SET) < 0) {
        return cannot_read(file.path, errno);
    }
    std::unique_ptr<ByteStream> stream =
        std::make_unique<PlainStream>(file.path, std::move(opened), is_plain ? offset : 0);
    if (file.format == InputFormat::LinesGzip) {
        stream = std::make_unique<GzipStream>(std::move(stream));
    } else if (file.format == InputFormat::LinesZstd) {
        stream = std::make_unique<ZstdStream>(std::move(stream));
    }
    if (!is_plain) {
        SWARM_TRY(skip_bytes(*stream, offset));
    }
    return stream;
}

}  // namespace swarm::data
