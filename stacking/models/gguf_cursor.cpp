#include "stacking/models/gguf_cursor.hpp"

#include "stacking/models/limits.hpp"

#include <algorithm>

namespace stacking::models {

using swarm::ErrorCode;
using swarm::Reaction;

namespace {

constexpr std::uint64_t kWindowBytes = 64U << 10;

}  // namespace

GgufCursor::GgufCursor(const ByteSource& file)
    : file_(file), end_(std::min(file.size(), kGgufHeaderBytesMax)) {}

void GgufCursor::fail(ErrorCode code, const std::string& what) {
    if (!fault_) {
        fault_ = swarm::Error{code, Reaction::Reject, "GGUF: " + what};
    }
}

bool GgufCursor::check_left(std::uint64_t bytes, const char* what) {
    if (!ok()) {
        return false;
    }
    if (bytes <= end_ - position_) {
        return true;
    }
    if (end_ < file_.size()) {
        fail(
            ErrorCode::TooLarge,
            "the header is longer than " + std::to_string(kGgufHeaderBytesMax) + " bytes"
        );
    } else {
        fail(ErrorCode::Malformed, std::string("the file ends within ") + what);
    }
    return false;
}

void GgufCursor::refill() {
    window_.resize(std::min(kWindowBytes, end_ - position_));
    window_begin_ = position_;
    if (const auto read = file_.read(position_, window_); read.has_error()) {
        fail(read.error().code, read.error().detail);
    }
}

void GgufCursor::take(std::span<std::byte> bytes) {
    if (!check_left(bytes.size(), "its header")) {
        return;
    }
    while (!bytes.empty()) {
        const std::uint64_t window_end = window_begin_ + window_.size();
        if (position_ < window_begin_ || position_ >= window_end) {
            refill();
            if (!ok()) {
                return;
            }
            continue;
        }
        const std::uint64_t count = std::min<std::uint64_t>(bytes.size(), window_end - position_);
        std::memcpy(bytes.data(), window_.data() + (position_ - window_begin_), count);
        bytes = bytes.subspan(count);
        position_ += count;
    }
}

std::string GgufCursor::text(std::uint64_t bytes_max, const char* what) {
    const auto bytes = number<std::uint64_t>();
    if (!check_left(bytes, what)) {
        return {};
    }
    if (bytes > bytes_max) {
        fail(
            ErrorCode::TooLarge,
            std::string(what) + " of " + std::to_string(bytes) + " bytes; at most " +
                std::to_string(bytes_max) + " are read"
        );
        return {};
    }
    std::string text(bytes, '\0');
    take(std::as_writable_bytes(std::span(text)));
    return ok() ? text : std::string();
}

void GgufCursor::skip(std::uint64_t bytes) {
    if (check_left(bytes, "a value")) {
        position_ += bytes;
    }
}

bool GgufCursor::has_room(std::uint64_t entries, std::uint64_t bytes_each, const char* what) {
    const std::uint64_t bytes =
        entries > end_ / bytes_each ? end_ + 1 : entries * bytes_each;  // no overflow
    return check_left(bytes, what);
}

}  // namespace stacking::models
