#include "swarm/cli/common/swarm_key.hpp"

#include "swarm/base/durable_file.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/common/files.hpp"
#include "swarm/net/tls.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <sys/stat.h>
#include <utility>

namespace swarm::cli {
namespace {

constexpr std::uint64_t kKeyFileBytesMax = 4096;
constexpr mode_t kOfOthers = S_IRWXG | S_IRWXO;

Error unusable(std::string detail) {
    return {ErrorCode::Usage, Reaction::Reject, std::move(detail)};
}

Result<> check_access(const std::string& file) {
    struct stat about {};

    if (::stat(file.c_str(), &about) == 0 && (about.st_mode & kOfOthers) != 0) {
        return unusable(
            "others on this machine may read or change the swarm key in " + file + ": chmod 600 " +
            file
        );
    }
    return {};
}

}  // namespace

Result<std::string> read_swarm_key(const std::string& file) {
    if (file.empty()) {
        return std::string();
    }
    SWARM_TRY(std::string key, read_file(file, kKeyFileBytesMax));
    SWARM_TRY(check_access(file));
    key.erase(key.find_last_not_of(" \t\r\n") + 1);
    if (key.size() < kSwarmKeyLeast) {
        return unusable(
            "the swarm key in " + file + " has " + std::to_string(key.size()) +
            " characters and can be guessed: swarm key new FILE makes one"
        );
    }
    return net::stretch_swarm_key(key);
}

Result<> write_new_swarm_key(const std::string& file) {
    const std::string text = net::new_swarm_key() + "\n";
    SWARM_TRY(
        const bool made,
        create_secret_durably(file, std::as_bytes(std::span(text)), "name another file")
    );
    if (!made) {
        return unusable(file + " is there already; name another file, or remove it");
    }
    return {};
}

}  // namespace swarm::cli
