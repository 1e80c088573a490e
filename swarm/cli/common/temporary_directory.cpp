#include "swarm/cli/common/temporary_directory.hpp"

#include "swarm/base/write_error.hpp"

#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>

namespace swarm::cli {

Result<TemporaryDirectory> TemporaryDirectory::make() {
    const char* const chosen = std::getenv("TMPDIR");
    const std::filesystem::path parent = chosen == nullptr || *chosen == '\0' ? "/tmp" : chosen;
    std::string name = (parent / "swarm-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
        const int code = errno;
        return write_error(
            parent / "swarm-XXXXXX", code, "name a temporary folder that can be written in TMPDIR"
        );
    }
    return TemporaryDirectory(std::filesystem::path(name));
}

TemporaryDirectory::~TemporaryDirectory() {
    if (!keep_ && !path_.empty()) {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
}

}  // namespace swarm::cli
