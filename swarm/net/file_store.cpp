#include "swarm/net/file_store.hpp"

#include "swarm/base/check.hpp"
#include "swarm/base/try.hpp"
#include "swarm/base/write_error.hpp"

#include <boost/crc.hpp>

#include <cerrno>
#include <fcntl.h>
#include <limits>
#include <optional>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace swarm::net {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "swrmlog1";
constexpr std::string_view kLogName = "journal.log";
constexpr std::string_view kLockName = "lock";
constexpr std::size_t kRecordHeaderBytes = 8;
constexpr const char* kElsewhere = "choose another folder";

Error storage_error(const fs::path& path, const std::string& what) {
    return {ErrorCode::StorageFailed, Reaction::Fatal, path.string() + ": " + what};
}

Error system_error(const fs::path& path, const char* attempt) {
    const int code = errno;
    return storage_error(
        path,
        std::string("cannot ") + attempt + ": " + std::generic_category().message(code) + "; " +
            advice_after(code, kElsewhere)
    );
}

void append_number(std::string& bytes, std::uint32_t number) {
    for (unsigned shift = 0; shift < 32; shift += 8) {
        bytes += static_cast<char>((number >> shift) & 0xffU);
    }
}

std::uint32_t number_at(std::string_view bytes) {
    std::uint32_t number = 0;
    for (unsigned i = 0; i < 4; ++i) {
        number |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
    }
    return number;
}

/// The checksum covers the length, too, so a tail of zeros is no record.
std::uint32_t checksum(std::string_view length, std::string_view record) {
    boost::crc_32_type crc;
    crc.process_bytes(length.data(), length.size());
    crc.process_bytes(record.data(), record.size());
    return crc.checksum();
}

void append_record(std::string& bytes, std::string_view record) {
    std::string length;
    append_number(length, static_cast<std::uint32_t>(record.size()));
    bytes += length;
    append_number(bytes, checksum(length, record));
    bytes += record;
}

/// Takes the first record off `bytes`; returns none when the record is not whole.
std::optional<std::string_view> take_record(std::string_view& bytes) {
    if (bytes.size() < kRecordHeaderBytes) {
        return std::nullopt;
    }
    const std::uint32_t size = number_at(bytes);
    if (bytes.size() - kRecordHeaderBytes < size) {
        return std::nullopt;
    }
    const std::string_view record = bytes.substr(kRecordHeaderBytes, size);
    if (number_at(bytes.substr(4)) != checksum(bytes.substr(0, 4), record)) {
        return std::nullopt;
    }
    bytes.remove_prefix(kRecordHeaderBytes + size);
    return record;
}

Result<std::string> read_all(int descriptor, const fs::path& path) {
    struct stat status {};

    if (::fstat(descriptor, &status) != 0) {
        return system_error(path, "look at it");
    }
    std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
    std::size_t filled = 0;
    while (filled < bytes.size()) {
        const ssize_t count =
            ::pread(descriptor, &bytes[filled], bytes.size() - filled, static_cast<off_t>(filled));
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            return system_error(path, "read it");
        }
        filled += static_cast<std::size_t>(count);
    }
    return bytes;
}

Result<> write_all(int descriptor, std::string_view bytes, const fs::path& path) {
    while (!bytes.empty()) {
        const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            return system_error(path, "write to it");
        }
        bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return {};
}

Result<FileDescriptor> take_lock(const fs::path& folder) {
    const fs::path path = folder / kLockName;
    FileDescriptor lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!lock.is_open()) {
        return system_error(path, "open it");
    }
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
        return Error{
            ErrorCode::Usage,
            Reaction::Fatal,
            folder.string() + " is in use by another process; stop it or choose another folder"};
    }
    return lock;
}

/// Returns how many bytes of the log are whole. Only the tail can be torn, because each record is
/// synced before it is acknowledged.
Result<std::size_t> whole_size(const std::string& bytes, const fs::path& path) {
    if (!bytes.starts_with(kMagic)) {
        const bool torn = kMagic.starts_with(bytes);  // a crash has torn the first write
        return torn ? Result<std::size_t>(0) : storage_error(path, "is no log of this program");
    }
    std::string_view rest = std::string_view(bytes).substr(kMagic.size());
    while (take_record(rest)) {
    }
    return bytes.size() - rest.size();
}

bool is_legal_name(const fs::path& name) {
    for (const fs::path& part : name) {
        if (part == ".." || part == "." || part.empty()) {
            return false;
        }
    }
    return !name.empty() && name.is_relative() && name != kLogName && name != kLockName;
}

}  // namespace

Result<FileStore> FileStore::open(const fs::path& folder) {
    SWARM_TRY(make_folder(folder, kElsewhere));
    std::error_code error;
    FileStore store;
    store.folder_ = fs::canonical(folder, error);
    if (error) {
        return storage_error(folder, "cannot look at the folder: " + error.message());
    }
    SWARM_TRY(auto lock, take_lock(folder));
    store.lock_ = std::move(lock);
    const fs::path path = folder / kLogName;
    store.log_ =
        FileDescriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    if (!store.log_.is_open()) {
        return system_error(path, "open it");
    }
    SWARM_TRY(const auto bytes, read_all(store.log_.get(), path));
    SWARM_TRY(const auto whole, whole_size(bytes, path));
    store.torn_bytes_ = bytes.size() - whole;
    if (::ftruncate(store.log_.get(), static_cast<off_t>(whole)) != 0) {
        return system_error(path, "cut off its torn tail");
    }
    if (whole == 0) {
        SWARM_TRY(write_all(store.log_.get(), kMagic, path));
    }
    store.dirty_ = true;
    SWARM_TRY(store.sync());
    SWARM_TRY(sync_folder(folder, kElsewhere));
    return store;
}

Result<> FileStore::expect_folder() const {
    if (!log_.is_open()) {
        return Error{
            ErrorCode::StorageFailed, Reaction::Fatal, "this process has no folder for its files"};
    }
    return {};
}

Result<> FileStore::append(std::span<const std::string> records) {
    SWARM_TRY(expect_folder());
    std::string bytes;
    for (const std::string& record : records) {
        SWARM_ASSERT(record.size() <= std::numeric_limits<std::uint32_t>::max());
        append_record(bytes, record);
    }
    dirty_ = true;
    return write_all(log_.get(), bytes, folder_ / kLogName);
}

Result<> FileStore::sync() {
    if (dirty_ && ::fdatasync(log_.get()) != 0) {
        return system_error(folder_ / kLogName, "sync it");
    }
    dirty_ = false;
    return {};
}

Result<std::vector<std::string>> FileStore::load() const {
    SWARM_TRY(expect_folder());
    SWARM_TRY(const auto bytes, read_all(log_.get(), folder_ / kLogName));
    std::vector<std::string> records;
    std::string_view rest = std::string_view(bytes).substr(kMagic.size());
    while (const auto record = take_record(rest)) {
        records.emplace_back(*record);
    }
    if (!rest.empty()) {
        return storage_error(folder_ / kLogName, "was changed while in use");
    }
    return records;
}

Result<> FileStore::write_file(
    const std::string& name, std::span<const std::span<const std::byte>> parts
) {
    SWARM_TRY(expect_folder());
    if (!is_legal_name(name)) {
        return storage_error(folder_, "refuses the file name '" + name + "'");
    }
    return write_durably(folder_ / name, parts, kElsewhere);
}

}  // namespace swarm::net
