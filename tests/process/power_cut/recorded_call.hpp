// One system call that changes a disk, or a text on stderr, as recorder.cpp writes it and
// disk_model.cpp reads it: this header, then `path` and `data`. Both are of one machine.
// Threading: plain data.
#pragma once

#include <cstdint>

namespace swarm::test {

/// Environment variables of the recorder: the file that it writes, and the folder that it watches.
inline constexpr const char* kRecordFileVariable = "SWARM_RECORD_FILE";
inline constexpr const char* kRecordRootVariable = "SWARM_RECORD_ROOT";

enum class CallKind : std::uint32_t {
    Open,      // `fd`, path, `number`: flags
    Close,     // `fd`
    Write,     // `fd`, data, `number`: offset, or kAtPosition
    Truncate,  // `fd`, `number`: size
    Sync,      // `fd`, of a file or a folder
    MakeFolder,
    RemoveFolder,
    Unlink,
    Rename,  // path, data: the new path
    Link,    // path, data: the new path
    Say,     // data: text on stderr
};

inline constexpr std::uint64_t kAtPosition = ~0ULL;

struct CallHeader {
    CallKind kind = CallKind::Say;
    std::int32_t fd = -1;
    std::uint64_t number = 0;
    std::uint32_t path_bytes = 0;
    std::uint32_t data_bytes = 0;
};

}  // namespace swarm::test
