#include "swarm/cli/metrics/event_file.hpp"

#include "swarm/base/try.hpp"

#include <boost/crc.hpp>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

namespace swarm::cli {
namespace {

/// CRC-32C, reflected as usual.
using Crc32c = boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true>;

// Fields of Event, Summary, Summary.Value and SessionLog.
constexpr unsigned kWallTime = 1;
constexpr unsigned kStep = 2;
constexpr unsigned kFileVersion = 3;
constexpr unsigned kSummary = 5;
constexpr unsigned kSessionLog = 7;
constexpr unsigned kSummaryValue = 1;
constexpr unsigned kTag = 1;
constexpr unsigned kSimpleValue = 2;
constexpr unsigned kStatus = 1;
constexpr std::uint64_t kStatusStart = 1;

/// Processes of one run that may begin within a second.
constexpr int kSameSecondMax = 100;

enum Wire : unsigned { kVarint = 0, kEightBytes = 1, kLength = 2, kFourBytes = 5 };

template <class Number>
void put_little_endian(std::string& out, Number number) {
    for (std::size_t i = 0; i < sizeof number; ++i) {
        out.push_back(static_cast<char>(number >> (8 * i) & 0xff));
    }
}

void put_varint(std::string& out, std::uint64_t number) {
    for (; number >= 0x80; number >>= 7) {
        out.push_back(static_cast<char>(number | 0x80));
    }
    out.push_back(static_cast<char>(number));
}

void put_key(std::string& out, unsigned field, Wire wire) {
    put_varint(out, field << 3U | wire);
}

void put_number(std::string& out, unsigned field, std::uint64_t number) {
    put_key(out, field, kVarint);
    put_varint(out, number);
}

void put_text(std::string& out, unsigned field, std::string_view text) {
    put_key(out, field, kLength);
    put_varint(out, text.size());
    out += text;
}

std::uint32_t masked_crc(std::string_view bytes) {
    Crc32c crc;
    crc.process_bytes(bytes.data(), bytes.size());
    constexpr std::uint32_t kMask = 0xa282ead8;
    return std::rotr(static_cast<std::uint32_t>(crc.checksum()), 15) + kMask;
}

/// Frames an Event as TFRecord does.
std::string record_of(std::string_view event) {
    std::string record;
    put_little_endian<std::uint64_t>(record, event.size());
    put_little_endian(record, masked_crc(record));
    record += event;
    put_little_endian(record, masked_crc(event));
    return record;
}

std::string begin_event(double unix_time_s, std::uint64_t step) {
    std::string event;
    put_key(event, kWallTime, kEightBytes);
    put_little_endian(event, std::bit_cast<std::uint64_t>(unix_time_s));
    put_number(event, kStep, step);
    return event;
}

/// Returns the records with which a file begins.
std::string head_records(double unix_time_s, std::uint64_t step) {
    std::string version = begin_event(unix_time_s, 0);
    put_text(version, kFileVersion, "brain.Event:2");
    std::string session;
    put_number(session, kStatus, kStatusStart);
    std::string start = begin_event(unix_time_s, step);
    put_text(start, kSessionLog, session);
    return record_of(version) + record_of(start);
}

Error cannot_write(const std::string& path, int code) {
    return {
        ErrorCode::StorageFailed,
        Reaction::Fatal,
        "cannot write " + path + ": " + std::strerror(code)};
}

}  // namespace

Result<> append_to(const FileDescriptor& file, const std::string& path, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
        if (written < 0 && errno != EINTR) {
            return cannot_write(path, errno);
        }
        bytes.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
    }
    return {};
}

std::string scalar_record(double unix_time_s, std::uint64_t step, std::span<const Scalar> scalars) {
    std::string summary;
    for (const Scalar& scalar : scalars) {
        std::string value;
        put_text(value, kTag, scalar.tag);
        put_key(value, kSimpleValue, kFourBytes);
        put_little_endian(value, std::bit_cast<std::uint32_t>(static_cast<float>(scalar.value)));
        put_text(summary, kSummaryValue, value);
    }
    std::string event = begin_event(unix_time_s, step);
    put_text(event, kSummary, summary);
    return record_of(event);
}

Result<EventFile> EventFile::begin(
    const std::filesystem::path& folder, double unix_time_s, std::uint64_t step
) {
    // Readers take the files of a folder in the order of their names.
    char second[24];
    std::snprintf(second, sizeof second, "%010lld", static_cast<long long>(unix_time_s));
    for (int number = 0; number < kSameSecondMax; ++number) {
        const std::string path =
            (folder / ("events.out.tfevents." + std::string(second) + "." + std::to_string(number)))
                .string();
        const int made = ::open(
            path.c_str(),
            O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC,
            S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH
        );
        if (made < 0 && errno == EEXIST) {
            continue;  // an earlier process of the run began in this second, too
        }
        if (made < 0) {
            return cannot_write(path, errno);
        }
        EventFile file(FileDescriptor(made), path);
        SWARM_TRY(append_to(file.file_, path, head_records(unix_time_s, step)));
        return file;
    }
    return cannot_write((folder / "events.out.tfevents").string(), EEXIST);
}

Result<> EventFile::add(double unix_time_s, std::uint64_t step, std::span<const Scalar> scalars) {
    return append_to(file_, path_, scalar_record(unix_time_s, step, scalars));
}

}  // namespace swarm::cli
