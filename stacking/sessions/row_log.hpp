// What one hop computed for the next one, by position: the rows themselves as long as they are
// kept, the calls that made them, and how far they were sent. One value, `upto`, is both the end of
// the history and the position of the next row.
// Invariants: kept_from <= cursor <= upto while sending; calls are contiguous and end at upto.
// Threading: single strand. Shapes: rows of `width` fp32. Cost: O(bytes) of what is added or sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

namespace stacking::sessions {

/// Rows that are to leave as one frame.
struct Outgoing {
    std::uint32_t position = 0;
    std::uint32_t rows = 0;
    bool wanted = false;
    std::vector<float> values;  // (rows, width)
};

class RowLog {
 public:
    /// `keeps`: sent rows stay for a refill; else each goes once it was sent.
    /// `width` 0: a last hop, which keeps no rows.
    RowLog(std::uint32_t width, bool keeps) : width_(width), keeps_(keeps) {}

    [[nodiscard]] std::uint32_t upto() const { return upto_; }

    [[nodiscard]] std::uint32_t kept_from() const { return kept_from_; }

    /// The rows of one call, (rows, width). `held`: the token's path ended here, so nothing leaves
    /// until a later call does.
    void append(std::uint32_t rows, bool wanted, std::span<const float> values, bool held = false);

    /// A new route: what lies at `position` and above is void, and nobody wants the rest any more.
    void begin(std::uint32_t position);

    /// The next hop needs rows from here on. False: they are not there any more.
    [[nodiscard]] bool send_from(std::uint32_t position);

    /// The next frame to send, if any: one call as it was (`exact`), or up to `rows_max` rows.
    std::optional<Outgoing> next(bool exact, std::uint32_t rows_max);

    void stop_sending() { cursor_.reset(); }

 private:
    struct Call {
        std::uint32_t position = 0;
        std::uint32_t rows = 0;
        bool wanted = false;

        [[nodiscard]] std::uint32_t end() const { return position + rows; }
    };

    void forget_below(std::uint32_t position);

    std::uint32_t width_;
    bool keeps_;
    std::uint32_t upto_ = 0;
    std::uint32_t kept_from_ = 0;
    std::uint32_t released_ = 0;  // rows below may leave
    std::optional<std::uint32_t> cursor_;
    std::deque<Call> calls_;     // those that have kept rows
    std::vector<float> values_;  // of [kept_from_, upto_)
};

}  // namespace stacking::sessions
