#include "swarm/data/parquet/file_bytes.hpp"

#include "swarm/base/check.hpp"
#include "swarm/base/durable_file.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace swarm::data::parquet {
namespace {

Error disk_error(const std::filesystem::path& path, int code) {
    return {
        code == ENOENT ? ErrorCode::NotFound : ErrorCode::StorageFailed,
        Reaction::Reject,
        "cannot read " + path.string() + ": " + std::generic_category().message(code)};
}

class DiskBytes : public FileBytes {
 public:
    DiskBytes(std::filesystem::path path, FileDescriptor file, std::uint64_t size)
        : path_(std::move(path)), file_(std::move(file)), size_(size) {}

    [[nodiscard]] std::uint64_t size() const override { return size_; }

    Result<> read(std::uint64_t offset, std::span<char> bytes) const override {
        SWARM_ASSERT(offset <= size_ && bytes.size() <= size_ - offset);
        while (!bytes.empty()) {
            const ssize_t count =
                ::pread(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
            if (count < 0 && errno == EINTR) {
                continue;
            }
            if (count < 0) {
                return disk_error(path_, errno);
            }
            if (count == 0) {
                return damaged("the file is shorter than it was");
            }
            bytes = bytes.subspan(static_cast<std::size_t>(count));
            offset += static_cast<std::uint64_t>(count);
        }
        return {};
    }

 private:
    std::filesystem::path path_;
    FileDescriptor file_;
    std::uint64_t size_;
};

}  // namespace

Error damaged(std::string why) {
    return {ErrorCode::Malformed, Reaction::Reject, std::move(why)};
}

Result<> MemoryBytes::read(std::uint64_t offset, std::span<char> bytes) const {
    SWARM_ASSERT(offset <= bytes_.size() && bytes.size() <= bytes_.size() - offset);
    if (!bytes.empty()) {
        std::memcpy(bytes.data(), bytes_.data() + offset, bytes.size());
    }
    return {};
}

Result<std::unique_ptr<FileBytes>> open_file_bytes(const std::filesystem::path& path) {
    FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));

    struct stat status {};

    if (!file.is_open() || ::fstat(file.get(), &status) != 0) {
        return disk_error(path, errno);
    }
    return std::unique_ptr<FileBytes>(std::make_unique<DiskBytes>(
        path, std::move(file), static_cast<std::uint64_t>(status.st_size)
    ));
}

}  // namespace swarm::data::parquet
