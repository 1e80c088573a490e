#include "swarm/base/durable_folder.hpp"

#include "swarm/base/try.hpp"
#include "swarm/base/write_error.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace swarm {
namespace {

namespace fs = std::filesystem;

Error not_free(const fs::path& folder, const char* why) {
    return {ErrorCode::Usage, Reaction::Reject, folder.string() + why};
}

/// Returns the absolute path without links and without a slash at its end.
Result<fs::path> place_of(const fs::path& folder, const std::string& elsewhere) {
    std::error_code code;
    fs::path place = fs::weakly_canonical(folder, code);
    if (!code) {
        place = fs::absolute(place, code).lexically_normal();
    }
    if (code) {
        return write_error(folder, code.value(), elsewhere);
    }
    return place.has_filename() ? place : place.parent_path();
}

/// Whether the open folder is the one that has this path now: another process may have renamed it.
bool is_at(const FileDescriptor& opened, const fs::path& path) {
    struct stat own {};

    struct stat there {};

    return ::fstat(opened.get(), &own) == 0 && ::lstat(path.c_str(), &there) == 0 &&
           own.st_dev == there.st_dev && own.st_ino == there.st_ino;
}

Result<> remove_content(const fs::path& folder, const std::string& elsewhere) {
    std::error_code code;
    std::vector<fs::path> content;
    for (fs::directory_iterator entry(folder, code), end; !code && entry != end;
         entry.increment(code)) {
        content.push_back(entry->path());
    }
    for (const fs::path& path : content) {
        if (!code) {
            fs::remove_all(path, code);
        }
    }
    return code ? write_error(folder, code.value(), elsewhere) : Result<>();
}

}  // namespace

Result<> check_free(const fs::path& folder) {
    std::error_code code;
    const fs::file_status status = fs::status(folder, code);
    if (!fs::exists(status)) {
        return {};  // a path that cannot be looked at says why when it is written
    }
    if (!fs::is_directory(status)) {
        return not_free(folder, " is a file; name another folder");
    }
    const bool empty = fs::is_empty(folder, code);
    if (code) {
        return write_error(folder, code.value(), "name another folder");
    }
    return empty ? Result<>() : not_free(folder, " has files; name another folder");
}

Result<DurableFolder> DurableFolder::begin(const fs::path& folder, const std::string& elsewhere) {
    SWARM_TRY(check_free(folder));
    DurableFolder begun;
    begun.elsewhere_ = elsewhere;
    SWARM_TRY(begun.place_, place_of(folder, elsewhere));
    SWARM_TRY(make_folder_of(begun.place_, elsewhere));
    const fs::path draft =
        begun.place_.parent_path() / ("." + begun.place_.filename().string() + ".draft");
    if (::mkdir(draft.c_str(), 0777) != 0 && errno != EEXIST) {
        return write_error(draft, errno, elsewhere);
    }
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    begun.lock_ = FileDescriptor(::open(draft.c_str(), flags));
    if (!begun.lock_.is_open()) {
        return write_error(draft, errno, elsewhere);
    }
    if (::flock(begun.lock_.get(), LOCK_EX | LOCK_NB) != 0 || !is_at(begun.lock_, draft)) {
        return not_free(folder, ": another process writes it now; name another folder");
    }
    begun.draft_ = draft;
    SWARM_TRY(remove_content(draft, elsewhere));
    return begun;
}

DurableFolder::~DurableFolder() {
    if (!draft_.empty()) {
        std::error_code ignored;
        fs::remove_all(draft_, ignored);
    }
}

Result<> DurableFolder::finish() {
    SWARM_TRY(sync_folder(draft_, elsewhere_));
    if (::rename(draft_.c_str(), place_.c_str()) != 0) {
        const int code = errno;
        return code == ENOTEMPTY || code == EEXIST
                   ? not_free(place_, " has files by now; name another folder")
                   : write_error(place_, code, elsewhere_);
    }
    draft_.clear();
    return sync_folder(place_.parent_path(), elsewhere_);
}

}  // namespace swarm
