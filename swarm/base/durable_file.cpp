#include "swarm/base/durable_file.hpp"

#include "swarm/base/try.hpp"
#include "swarm/base/write_error.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace swarm {
namespace {

namespace fs = std::filesystem;

/// Returns errno; 0 is success.
int try_to_sync_folder(const fs::path& folder) {
    const FileDescriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return opened.is_open() && ::fsync(opened.get()) == 0 ? 0 : errno;
}

/// Makes the last level of the path after those above it. Each one is synced at once, so at most
/// the last can be unsynced when this process is killed. Returns errno; 0 is success.
int make_levels(const fs::path& folder) {
    std::error_code code;
    const fs::file_status status = fs::status(folder, code);
    if (fs::is_directory(status)) {
        // A process that may not read the folder above has not made this one.
        static_cast<void>(try_to_sync_folder(folder / ".."));
        return 0;
    }
    if (fs::exists(status)) {
        return ENOTDIR;
    }
    const fs::path above = folder.parent_path();
    if (!above.empty() && above != folder) {
        if (const int trouble = make_levels(above); trouble != 0) {
            return trouble;
        }
    }
    fs::create_directory(folder, code);  // another process may have made it meanwhile
    return code ? code.value() : try_to_sync_folder(folder / "..");
}

fs::path folder_of(const fs::path& file) {
    return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

}  // namespace

FileDescriptor::~FileDescriptor() {
    if (value_ >= 0) {
        ::close(value_);
    }
}

Result<> make_folder(const fs::path& folder, const std::string& elsewhere) {
    const int code = folder.empty() ? 0 : make_levels(folder);
    return code == 0 ? Result<>() : write_error(folder, code, elsewhere);
}

Result<> make_folder_of(const fs::path& file, const std::string& elsewhere) {
    return make_folder(file.parent_path(), elsewhere);
}

Result<> sync_folder(const fs::path& folder, const std::string& elsewhere) {
    const int code = try_to_sync_folder(folder);
    return code == 0 ? Result<>() : write_error(folder, code, elsewhere);
}

Result<DurableFile> DurableFile::begin(
    const fs::path& file, Readers readers, IfThere if_there, const std::string& elsewhere
) {
    SWARM_TRY(make_folder_of(file, elsewhere));
    DurableFile begun;
    begun.file_ = file;
    begun.elsewhere_ = elsewhere;
    begun.if_there_ = if_there;
    fs::path draft = file;
    draft += ".draft";
    int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
    if (if_there == IfThere::Keep) {
        draft += "." + std::to_string(::getpid());
        ::unlink(draft.c_str());  // a process with this number has left it
        flags |= O_EXCL;
    }
    const mode_t mode = readers == Readers::All ? 0644 : 0600;
    begun.out_ = FileDescriptor(::open(draft.c_str(), flags, mode));
    if (!begun.out_.is_open()) {
        return begun.cannot(errno);
    }
    begun.draft_ = std::move(draft);
    return begun;
}

DurableFile::~DurableFile() {
    if (!draft_.empty()) {
        ::unlink(draft_.c_str());
    }
}

Result<> DurableFile::write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t count = ::write(out_.get(), bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            return cannot(errno);
        }
        bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
    return {};
}

Result<bool> DurableFile::finish() {
    if (::fsync(out_.get()) != 0) {
        return cannot(errno);
    }
    const bool keeps = if_there_ == IfThere::Keep;
    const int placed =
        keeps ? ::link(draft_.c_str(), file_.c_str()) : ::rename(draft_.c_str(), file_.c_str());
    const bool was_there = placed != 0 && keeps && errno == EEXIST;
    if (placed != 0 && !was_there) {
        return cannot(errno);
    }
    if (keeps) {
        ::unlink(draft_.c_str());
    }
    draft_.clear();
    // A file that was there may be that of a process that is not so far yet.
    if (const int code = try_to_sync_folder(folder_of(file_)); code != 0) {
        return cannot(code);
    }
    return !was_there;
}

Error DurableFile::cannot(int code) const {
    return write_error(file_, code, elsewhere_);
}

Result<> write_durably(
    const fs::path& file,
    std::span<const std::span<const std::byte>> parts,
    const std::string& elsewhere
) {
    SWARM_TRY(
        auto draft,
        DurableFile::begin(
            file, DurableFile::Readers::All, DurableFile::IfThere::Replace, elsewhere
        )
    );
    for (const std::span<const std::byte> part : parts) {
        SWARM_TRY(draft.write(part));
    }
    SWARM_TRY(draft.finish());
    return {};
}

Result<> write_durably(
    const fs::path& file, std::span<const std::byte> bytes, const std::string& elsewhere
) {
    return write_durably(file, std::span(&bytes, 1), elsewhere);
}

Result<bool> create_secret_durably(
    const fs::path& file, std::span<const std::byte> bytes, const std::string& elsewhere
) {
    SWARM_TRY(
        auto draft,
        DurableFile::begin(
            file, DurableFile::Readers::OwnerAlone, DurableFile::IfThere::Keep, elsewhere
        )
    );
    SWARM_TRY(draft.write(bytes));
    return draft.finish();
}

Result<> move_durably(const fs::path& from, const fs::path& to, const std::string& elsewhere) {
    SWARM_TRY(make_folder_of(to, elsewhere));
    const FileDescriptor moved(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
    if (!moved.is_open() || ::fsync(moved.get()) != 0 || ::rename(from.c_str(), to.c_str()) != 0) {
        return write_error(to, errno, elsewhere);
    }
    return sync_folder(folder_of(to), elsewhere);
}

}  // namespace swarm
