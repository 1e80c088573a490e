// A library that LD_PRELOAD puts before the C library: it records the calls by which a program
// changes the files below one folder, in the order in which they took effect.
// It sees what libstdc++, OpenSSL and the program itself call. What the C library calls inside of
// itself is not seen, except that fopen() and text on stderr have wrappers. The test compares the
// files that follow from the record with those on the disk, so a call that is missing here shows.
// Threading: any thread; one lock makes call and record one step.
#include "tests/process/power_cut/recorded_call.hpp"

#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <mutex>
#include <string>
#include <string_view>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

using swarm::test::CallHeader;
using swarm::test::CallKind;
using swarm::test::kAtPosition;

std::mutex& lock() {
    static std::mutex mutex;
    return mutex;
}

/// Makes the path absolute. "a/.." and links stay as they are.
std::string absolute(int folder, const char* path) {
    if (path[0] == '/') {
        return path;
    }
    char text[PATH_MAX];
    ssize_t size = -1;
    if (folder == AT_FDCWD) {
        size = ::getcwd(text, sizeof text) == nullptr ? -1 : static_cast<ssize_t>(strlen(text));
    } else {
        const std::string link = "/proc/self/fd/" + std::to_string(folder);
        size = ::readlink(link.c_str(), text, sizeof text);
    }
    return size < 0 ? path : std::string(text, static_cast<std::size_t>(size)) + "/" + path;
}

class Record {
 public:
    static Record& get() {
        static Record record;
        return record;
    }

    /// Keeps errno.
    void add(
        CallKind kind,
        int fd,
        std::uint64_t number,
        std::string_view path = {},
        std::string_view data = {}
    ) {
        if (file_ < 0) {
            return;
        }
        const int code = errno;
        const CallHeader header{
            kind,
            fd,
            number,
            static_cast<std::uint32_t>(path.size()),
            static_cast<std::uint32_t>(data.size())};
        std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
        bytes.append(path).append(data);
        for (std::string_view rest = bytes; !rest.empty();) {
            const long count = ::syscall(SYS_write, file_, rest.data(), rest.size());
            if (count <= 0) {
                std::abort();  // the test sees a program that was killed
            }
            rest.remove_prefix(static_cast<std::size_t>(count));
        }
        errno = code;
    }

    void add_path(CallKind kind, int folder, const char* path, int fd = -1, int flags = 0) {
        const std::string whole = absolute(folder, path);
        if (is_watched(whole)) {
            add(kind, fd, static_cast<std::uint64_t>(flags), whole);
        }
    }

    void add_paths(
        CallKind kind, int from_folder, const char* from, int to_folder, const char* to
    ) {
        const std::string whole = absolute(from_folder, from);
        if (is_watched(whole)) {
            add(kind, -1, 0, whole, absolute(to_folder, to));
        }
    }

 private:
    Record() {
        const char* const file = std::getenv(swarm::test::kRecordFileVariable);
        const char* const root = std::getenv(swarm::test::kRecordRootVariable);
        if (file == nullptr || root == nullptr) {
            return;
        }
        root_ = root;
        const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
        file_ = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, file, flags, 0600));
    }

    [[nodiscard]] bool is_watched(const std::string& path) const {
        return path.compare(0, root_.size(), root_) == 0;
    }

    std::string root_;
    int file_ = -1;
};

int open_file(int folder, const char* path, int flags, mode_t mode) {
    const std::lock_guard guard(lock());
    const int fd = static_cast<int>(::syscall(SYS_openat, folder, path, flags, mode));
    if (fd >= 0) {
        Record::get().add_path(CallKind::Open, folder, path, fd, flags);
    }
    return fd;
}

ssize_t write_bytes(int fd, const void* bytes, std::size_t size, std::uint64_t offset) {
    const std::lock_guard guard(lock());
    const ssize_t count = offset == kAtPosition ? ::syscall(SYS_write, fd, bytes, size)
                                                : ::syscall(SYS_pwrite64, fd, bytes, size, offset);
    if (count > 0) {
        const std::string_view data(
            static_cast<const char*>(bytes), static_cast<std::size_t>(count)
        );
        Record::get().add(CallKind::Write, fd, offset, {}, data);
    }
    return count;
}

int on_descriptor(CallKind kind, long call, int fd, std::uint64_t number = 0) {
    const std::lock_guard guard(lock());
    const int outcome = static_cast<int>(::syscall(call, fd, number));
    if (outcome == 0) {
        Record::get().add(kind, fd, number);
    }
    return outcome;
}

int remove_name(int folder, const char* path, int flags) {
    const std::lock_guard guard(lock());
    const int outcome = static_cast<int>(::syscall(SYS_unlinkat, folder, path, flags));
    if (outcome == 0) {
        const bool of_folder = (flags & AT_REMOVEDIR) != 0;
        Record::get().add_path(of_folder ? CallKind::RemoveFolder : CallKind::Unlink, folder, path);
    }
    return outcome;
}

int make_folder(int folder, const char* path, mode_t mode) {
    const std::lock_guard guard(lock());
    const int outcome = static_cast<int>(::syscall(SYS_mkdirat, folder, path, mode));
    if (outcome == 0) {
        Record::get().add_path(CallKind::MakeFolder, folder, path);
    }
    return outcome;
}

int rename_file(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
    const std::lock_guard guard(lock());
    const int outcome =
        static_cast<int>(::syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
    if (outcome == 0) {
        Record::get().add_paths(CallKind::Rename, from_folder, from, to_folder, to);
    }
    return outcome;
}

int link_file(int from_folder, const char* from, int to_folder, const char* to, int flags) {
    const std::lock_guard guard(lock());
    const int outcome =
        static_cast<int>(::syscall(SYS_linkat, from_folder, from, to_folder, to, flags));
    if (outcome == 0) {
        Record::get().add_paths(CallKind::Link, from_folder, from, to_folder, to);
    }
    return outcome;
}

/// The variable argument of open() is there when the flags may make a file.
mode_t mode_of(int flags, va_list arguments) {
    return (flags & (O_CREAT | O_TMPFILE)) != 0 ? static_cast<mode_t>(va_arg(arguments, int)) : 0;
}

FILE* open_stream(const char* name, const char* path, const char* mode) {
    using Open = FILE* (*)(const char*, const char*);
    const auto real = reinterpret_cast<Open>(::dlsym(RTLD_NEXT, name));
    const std::lock_guard guard(lock());
    FILE* const stream = real(path, mode);
    if (stream != nullptr) {
        const int flags = mode[0] == 'w' ? O_CREAT | O_TRUNC : (mode[0] == 'a' ? O_CREAT : 0);
        Record::get().add_path(
            CallKind::Open,
            AT_FDCWD,
            path,
            ::fileno(stream),
            flags | (mode[0] == 'a' ? O_APPEND : 0)
        );
    }
    return stream;
}

}  // namespace

// NOLINTBEGIN: the names and types are those of the C library
extern "C" {

int open(const char* path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    return open_file(AT_FDCWD, path, flags, mode);
}

int open64(const char* path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    return open_file(AT_FDCWD, path, flags | O_LARGEFILE, mode);
}

int openat(int folder, const char* path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    return open_file(folder, path, flags, mode);
}

int openat64(int folder, const char* path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    return open_file(folder, path, flags | O_LARGEFILE, mode);
}

FILE* fopen(const char* path, const char* mode) {
    return open_stream("fopen", path, mode);
}

FILE* fopen64(const char* path, const char* mode) {
    return open_stream("fopen64", path, mode);
}

int close(int fd) {
    const std::lock_guard guard(lock());
    Record::get().add(CallKind::Close, fd, 0);
    return static_cast<int>(::syscall(SYS_close, fd));
}

ssize_t write(int fd, const void* bytes, size_t size) {
    return write_bytes(fd, bytes, size, kAtPosition);
}

ssize_t pwrite(int fd, const void* bytes, size_t size, off_t offset) {
    return write_bytes(fd, bytes, size, static_cast<std::uint64_t>(offset));
}

ssize_t pwrite64(int fd, const void* bytes, size_t size, off64_t offset) {
    return write_bytes(fd, bytes, size, static_cast<std::uint64_t>(offset));
}

/// Writes the parts by themselves: a short count is allowed.
ssize_t writev(int fd, const iovec* parts, int count) {
    ssize_t sum = 0;
    for (int i = 0; i < count; ++i) {
        const ssize_t part = write_bytes(fd, parts[i].iov_base, parts[i].iov_len, kAtPosition);
        if (part < 0) {
            return sum > 0 ? sum : part;
        }
        sum += part;
        if (static_cast<size_t>(part) < parts[i].iov_len) {
            break;
        }
    }
    return sum;
}

int ftruncate(int fd, off_t size) {
    return on_descriptor(CallKind::Truncate, SYS_ftruncate, fd, static_cast<std::uint64_t>(size));
}

int ftruncate64(int fd, off64_t size) {
    return on_descriptor(CallKind::Truncate, SYS_ftruncate, fd, static_cast<std::uint64_t>(size));
}

int fsync(int fd) {
    return on_descriptor(CallKind::Sync, SYS_fsync, fd);
}

int fdatasync(int fd) {
    return on_descriptor(CallKind::Sync, SYS_fdatasync, fd);
}

int mkdir(const char* path, mode_t mode) {
    return make_folder(AT_FDCWD, path, mode);
}

int mkdirat(int folder, const char* path, mode_t mode) {
    return make_folder(folder, path, mode);
}

int rename(const char* from, const char* to) {
    return rename_file(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int renameat(int from_folder, const char* from, int to_folder, const char* to) {
    return rename_file(from_folder, from, to_folder, to, 0);
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
    return rename_file(from_folder, from, to_folder, to, flags);
}

int link(const char* from, const char* to) {
    return link_file(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) {
    return link_file(from_folder, from, to_folder, to, flags);
}

int unlink(const char* path) {
    return remove_name(AT_FDCWD, path, 0);
}

int unlinkat(int folder, const char* path, int flags) {
    return remove_name(folder, path, flags);
}

int rmdir(const char* path) {
    return remove_name(AT_FDCWD, path, AT_REMOVEDIR);
}

int remove(const char* path) {
    const int outcome = remove_name(AT_FDCWD, path, 0);
    return outcome != 0 && errno == EISDIR ? remove_name(AT_FDCWD, path, AT_REMOVEDIR) : outcome;
}

size_t fwrite(const void* bytes, size_t size, size_t count, FILE* stream) {
    using Write = size_t (*)(const void*, size_t, size_t, FILE*);
    static const auto real = reinterpret_cast<Write>(::dlsym(RTLD_NEXT, "fwrite"));
    if (stream == stderr) {
        const std::lock_guard guard(lock());
        const std::string_view data(static_cast<const char*>(bytes), size * count);
        Record::get().add(CallKind::Say, -1, 0, {}, data);
    }
    return real(bytes, size, count, stream);
}

}  // extern "C"
// NOLINTEND
