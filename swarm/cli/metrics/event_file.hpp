// A file of scalars that TensorBoard reads: records of TFRecord, each an Event of its schema.
// Invariant: each call of add() leaves whole records, so a process that is killed leaves at most
// one torn record at the end, which readers pass over.
// Threading: one thread. Errors: StorageFailed (Fatal), with the place and the system's reason.
// Units: wall time in seconds since 1970.
// Source: tensorflow/core/lib/io/record_writer.h and tensorflow/core/util/event.proto.
#pragma once

#include "swarm/base/durable_file.hpp"
#include "swarm/base/result.hpp"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace swarm::cli {

struct Scalar {
    std::string tag;
    double value = 0;
};

/// Returns a record that holds an Event of these scalars.
std::string scalar_record(double unix_time_s, std::uint64_t step, std::span<const Scalar> scalars);

class EventFile {
 public:
    /// Makes a new file in the folder; readers then forget what they have of `step` and of later
    /// steps from older files there.
    static Result<EventFile> begin(
        const std::filesystem::path& folder, double unix_time_s, std::uint64_t step
    );

    Result<> add(double unix_time_s, std::uint64_t step, std::span<const Scalar> scalars);

 private:
    EventFile(FileDescriptor file, std::string path)
        : file_(std::move(file)), path_(std::move(path)) {}

    FileDescriptor file_;
    std::string path_;
};

/// Writes all bytes at the end of the file. Errors: StorageFailed (Fatal).
Result<> append_to(const FileDescriptor& file, const std::string& path, std::string_view bytes);

}  // namespace swarm::cli
