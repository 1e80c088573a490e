#include "swarm/base/write_error.hpp"

#include <gtest/gtest.h>

#include <cerrno>

namespace swarm {
namespace {

TEST(WriteError, NamesThePathTheReasonAndTheAdviceThatFits) {
    EXPECT_EQ(
        write_error("/data/run.toml", ENOSPC, "choose another folder").detail,
        "cannot write /data/run.toml: No space left on device; make room there, or choose another "
        "folder"
    );
    EXPECT_EQ(
        write_error("/data/run.toml", EROFS).detail,
        "cannot write /data/run.toml: Read-only file system; mount it writable, or name another "
        "place"
    );
    EXPECT_EQ(write_error("x", EACCES).code, ErrorCode::StorageFailed);
    EXPECT_EQ(
        write_error("x", 0).detail, "cannot write x: the system gives no reason; name another place"
    );
}

TEST(WriteError, OnlyAFullPlaceWantsRoom) {
    for (const int code : {EACCES, EPERM, EROFS, ENOENT, ENOTDIR, EISDIR, EIO, EMFILE, EINVAL}) {
        EXPECT_EQ(advice_after(code, "go").find("make room"), std::string::npos) << code;
    }
    for (const int code : {ENOSPC, EDQUOT, EFBIG}) {
        EXPECT_EQ(advice_after(code, "go"), "make room there, or go");
    }
}

}  // namespace
}  // namespace swarm
