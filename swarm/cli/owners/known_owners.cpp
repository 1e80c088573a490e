#include "swarm/cli/owners/known_owners.hpp"

#include "swarm/base/durable_file.hpp"
#include "swarm/base/try.hpp"
#include "swarm/base/write_error.hpp"
#include "swarm/cli/common/files.hpp"
#include "swarm/net/identity.hpp"

#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <sstream>
#include <system_error>
#include <unistd.h>

namespace swarm::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kFileBytesMax = 4U << 20;
constexpr const char* kElsewhere = "name another folder in XDG_STATE_HOME";

Error no_folder() {
    return {
        ErrorCode::NotFound,
        Reaction::Reject,
        "neither HOME nor XDG_STATE_HOME names a folder for what this program remembers"};
}

/// Appends the text in one write and syncs the file, and its folder for the case that it is new.
Result<> append_durably(const fs::path& file, const std::string& text) {
    const FileDescriptor out(::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
    if (!out.is_open()) {
        return write_error(file, errno, kElsewhere);
    }
    const ssize_t written = ::write(out.get(), text.data(), text.size());
    if (written != static_cast<ssize_t>(text.size())) {
        return write_error(file, written < 0 ? errno : ENOSPC, kElsewhere);
    }
    if (::fsync(out.get()) != 0) {
        return write_error(file, errno, kElsewhere);
    }
    return sync_folder(file.parent_path(), kElsewhere);
}

}  // namespace

Result<std::optional<PeerId>> KnownOwners::find(const std::string& address) const {
    if (file_.empty()) {
        return no_folder();
    }
    std::error_code unknown;
    if (!fs::exists(file_, unknown) && !unknown) {
        return std::optional<PeerId>();
    }
    SWARM_TRY(const std::string text, read_file(file_, kFileBytesMax));
    std::optional<PeerId> found;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string where;
        std::string id;
        words >> where >> id;
        const Result<PeerId> owner = net::parse_peer_id(id);
        if (where == address && owner) {
            found = *owner;
        }
    }
    return found;
}

Result<> KnownOwners::add(const std::string& address, const PeerId& owner) const {
    if (file_.empty()) {
        return no_folder();
    }
    SWARM_TRY(make_folder_of(file_, kElsewhere));
    // The line feed before the line ends one that a crash has torn.
    return append_durably(file_, "\n" + address + " " + net::to_text(owner) + "\n");
}

}  // namespace swarm::cli
