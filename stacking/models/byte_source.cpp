#include "stacking/models/byte_source.hpp"

#include "stacking/models/copies/partial_copy.hpp"
#include "swarm/base/file_map.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <mutex>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace stacking::models {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;
using swarm::Result;

namespace {

constexpr std::size_t kPrintedMax = 80;
constexpr const char* kShrank = "it became shorter while it was read";

Error unreadable(ErrorCode code, const std::string& path, const std::string& why) {
    return {code, Reaction::Reject, "cannot read " + path + ": " + why};
}

Result<> check_range(std::uint64_t size, std::uint64_t offset, std::size_t bytes) {
    if (offset > size || bytes > size - offset) {
        return Error{
            ErrorCode::Malformed,
            Reaction::Reject,
            "bytes " + std::to_string(offset) + " to " + std::to_string(offset) + "+" +
                std::to_string(bytes) + " lie outside a file of " + std::to_string(size)};
    }
    return {};
}

class FileBytes final : public ByteSource {
 public:
    /// Takes ownership of the descriptor.
    FileBytes(int descriptor, std::uint64_t size, std::string path)
        : descriptor_(descriptor), size_(size), path_(std::move(path)) {}

    FileBytes(const FileBytes&) = delete;
    FileBytes& operator=(const FileBytes&) = delete;

    ~FileBytes() override { ::close(descriptor_); }

    [[nodiscard]] std::uint64_t size() const override { return size_; }

    [[nodiscard]] Result<> read(std::uint64_t offset, std::span<std::byte> bytes) const override {
        if (auto within = check_range(size_, offset, bytes.size()); within.has_error()) {
            return unreadable(within.error().code, path_, within.error().detail);
        }
        while (!bytes.empty()) {
            const ssize_t count =
                ::pread(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
            if (count < 0 && errno == EINTR) {
                continue;
            }
            if (count <= 0) {
                const std::string why =
                    count == 0 ? kShrank : std::generic_category().message(errno);
                return unreadable(ErrorCode::StorageFailed, path_, why);
            }
            bytes = bytes.subspan(static_cast<std::size_t>(count));
            offset += static_cast<std::uint64_t>(count);
        }
        return {};
    }

    [[nodiscard]] Result<std::span<const std::byte>> view(
        std::uint64_t offset, std::size_t count, std::vector<std::byte>& room
    ) const override {
        const swarm::FileMap* const mapped = map();
        if (mapped == nullptr) {
            return ByteSource::view(offset, count, room);
        }
        if (auto within = check_range(size_, offset, count); within.has_error()) {
            return unreadable(within.error().code, path_, within.error().detail);
        }
        return mapped->bytes().subspan(offset, count);
    }

    [[nodiscard]] Result<> check_views() const override {
        if (const auto* const mapped = map(); mapped != nullptr && !mapped->is_whole()) {
            return unreadable(
                ErrorCode::StorageFailed, path_, std::string(kShrank) + ", or its disk fails"
            );
        }
        return {};
    }

    void fetch(std::uint64_t offset, std::uint64_t count) const override {
        if (const auto* const mapped = map()) {
            mapped->fetch(offset, count);
        }
    }

    void forget(std::uint64_t offset, std::uint64_t count) const override {
        if (const auto* const mapped = map()) {
            mapped->forget(offset, count);
        }
    }

 private:
    /// Returns null where the file cannot be mapped.
    [[nodiscard]] const swarm::FileMap* map() const {
        std::call_once(mapped_, [this] { map_ = swarm::FileMap::open(descriptor_, size_); });
        return map_.get();
    }

    int descriptor_;
    std::uint64_t size_;
    std::string path_;
    mutable std::once_flag mapped_;
    mutable std::unique_ptr<swarm::FileMap> map_;
};

/// A checkout without Git LFS has three lines of text in place of a large file.
bool is_lfs_pointer(const ByteSource& file) {
    constexpr std::string_view kBegin = "version https://git-lfs";
    std::string begin(kBegin.size(), '\0');
    return file.size() >= kBegin.size() &&
           file.read(0, std::as_writable_bytes(std::span(begin))).has_value() && begin == kBegin;
}

}  // namespace

Result<> ByteSource::check_there(std::uint64_t offset, std::uint64_t count) const {
    return check_range(size(), offset, count);
}

Result<std::span<const std::byte>> ByteSource::view(
    std::uint64_t offset, std::size_t count, std::vector<std::byte>& room
) const {
    // A file that lies about its size must not make room for what it does not have.
    SWARM_TRY(check_range(size(), offset, count));
    room.resize(count);
    SWARM_TRY(read(offset, room));
    return std::span<const std::byte>(room);
}

Result<> MemoryBytes::read(std::uint64_t offset, std::span<std::byte> bytes) const {
    SWARM_TRY(check_range(bytes_.size(), offset, bytes.size()));
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), bytes.size(), bytes.begin());
    return {};
}

Result<std::span<const std::byte>> MemoryBytes::view(
    std::uint64_t offset, std::size_t count, std::vector<std::byte>& /*room*/
) const {
    SWARM_TRY(check_range(bytes_.size(), offset, count));
    return std::span(bytes_).subspan(offset, count);
}

Result<std::unique_ptr<ByteSource>> open_file(const std::filesystem::path& path) {
    // O_NONBLOCK: opening a pipe without a writer must not hang.
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) {
        return unreadable(
            ErrorCode::NotFound, path.string(), std::generic_category().message(errno)
        );
    }

    struct stat status {};

    if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
        ::close(descriptor);
        return unreadable(ErrorCode::NotFound, path.string(), "it is not a plain file");
    }
    auto file = std::make_unique<FileBytes>(
        descriptor, static_cast<std::uint64_t>(status.st_size), path.string()
    );
    if (is_lfs_pointer(*file)) {
        return unreadable(
            ErrorCode::Mismatch,
            path.string(),
            "it is a pointer of Git LFS, not the file itself; fetch that with git lfs pull"
        );
    }
    return with_holes(path, std::move(file));
}

Result<std::string> read_text(const std::filesystem::path& path, std::uint64_t bytes_max) {
    SWARM_TRY(const auto file, open_file(path));
    if (file->size() > bytes_max) {
        return unreadable(
            ErrorCode::TooLarge,
            path.string(),
            "it has more than " + std::to_string(bytes_max) + " bytes"
        );
    }
    std::string text(file->size(), '\0');
    SWARM_TRY(file->read(0, std::as_writable_bytes(std::span(text))));
    return text;
}

std::string one_line(std::string text) {
    for (char& letter : text) {
        if (letter < ' ' || letter > '~') {
            letter = '?';
        }
    }
    return text;
}

std::string printable(std::string_view name) {
    std::string text = one_line(std::string(name.substr(0, kPrintedMax)));
    return name.size() > kPrintedMax ? text + "..." : text;
}

}  // namespace stacking::models
