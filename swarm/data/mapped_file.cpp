#include "swarm/data/mapped_file.hpp"

#include "swarm/base/durable_file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>

namespace swarm::data {
namespace {

Error cannot_map(const std::filesystem::path& path, int code) {
    return {
        code == ENOENT ? ErrorCode::NotFound : ErrorCode::StorageFailed,
        Reaction::Reject,
        "cannot read " + path.string() + ": " + std::generic_category().message(code)};
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));

    struct stat status {};

    if (!file.is_open() || ::fstat(file.get(), &status) != 0) {
        return cannot_map(path, errno);
    }
    if (!S_ISREG(status.st_mode)) {
        return cannot_map(path, EISDIR);
    }
    const auto size = static_cast<std::size_t>(status.st_size);
    if (size == 0) {
        return MappedFile({});
    }
    void* const start = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
    if (start == MAP_FAILED) {
        return cannot_map(path, errno);
    }
    return MappedFile({static_cast<const std::byte*>(start), size});
}

MappedFile::~MappedFile() {
    if (!bytes_.empty()) {
        ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
    }
}

void MappedFile::forget_pages() const {
    if (!bytes_.empty()) {
        ::madvise(const_cast<std::byte*>(bytes_.data()), bytes_.size(), MADV_DONTNEED);
    }
}

}  // namespace swarm::data
