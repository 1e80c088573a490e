// What one hop computed for the next one, by position: the rows as they are coded for it, with
// their tokens where those travel, as long as they are kept; the calls that made them, and how far
// they were sent, so that a refill sends the same bytes. One value, `upto`, is both the end of
// the history and the position of the next row.
// Invariants: kept_from <= cursor <= upto while sending; calls are contiguous and end at upto.
// Threading: single strand. Shapes: rows of `row_bytes`. Cost: O(bytes) of what is added or sent.
#pragma once

#include "stacking/session_compute.hpp"

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
    std::vector<std::byte> bytes;  // of the rows
    std::vector<TokenId> tokens;   // one per row where they travel, else none
};

/// Those of one call.
struct ComputedRows {
    std::uint32_t rows = 0;
    bool wanted = false;
    bool held = false;  // the token's path ended here: nothing leaves until a later call does
    std::span<const std::byte> bytes{};
    std::span<const TokenId> tokens{};
};

class RowLog {
 public:
    /// `keeps`: sent rows stay for a refill; else each goes once it was sent.
    /// `row_bytes` 0: a last hop, which keeps no rows.
    RowLog(std::size_t row_bytes, bool with_tokens, bool keeps)
        : row_bytes_(row_bytes), with_tokens_(with_tokens), keeps_(keeps) {}

    [[nodiscard]] std::uint32_t upto() const { return upto_; }

    [[nodiscard]] std::uint32_t kept_from() const { return kept_from_; }

    void append(const ComputedRows& computed);

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

    std::size_t row_bytes_;
    bool with_tokens_;
    bool keeps_;
    std::uint32_t upto_ = 0;
    std::uint32_t kept_from_ = 0;
    std::uint32_t released_ = 0;  // rows below may leave
    std::optional<std::uint32_t> cursor_;
    std::deque<Call> calls_;        // those that have kept rows
    std::vector<std::byte> bytes_;  // of [kept_from_, upto_)
    std::vector<TokenId> tokens_;   // the same, or none
};

}  // namespace stacking::sessions
