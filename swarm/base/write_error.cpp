#include "swarm/base/write_error.hpp"

#include <cerrno>
#include <system_error>

namespace swarm {

std::string advice_after(int code, const std::string& elsewhere) {
    switch (code) {
        case ENOSPC:
        case EDQUOT:
        case EFBIG:
            return "make room there, or " + elsewhere;
        case EACCES:
        case EPERM:
            return "let this user write there (chown, chmod), or " + elsewhere;
        case EROFS:
            return "mount it writable, or " + elsewhere;
        case ENOENT:
            return "make its folder, or " + elsewhere;
        case ENOTDIR:
            return "a part of the path is a file: " + elsewhere;
        case EISDIR:
            return "a folder has that name: " + elsewhere;
        case EIO:
            return "look at the disk, or " + elsewhere;
        case EMFILE:
        case ENFILE:
            return "raise the limit of open files (ulimit -n)";
        default:
            return elsewhere;
    }
}

Error write_error(const std::filesystem::path& path, int code, const std::string& elsewhere) {
    const std::string reason =
        code == 0 ? "the system gives no reason" : std::generic_category().message(code);
    return {
        ErrorCode::StorageFailed,
        Reaction::Fatal,
        "cannot write " + path.string() + ": " + reason + "; " + advice_after(code, elsewhere)};
}

}  // namespace swarm
