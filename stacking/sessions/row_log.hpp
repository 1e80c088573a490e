// The rows that one hop has computed for the next one, by position: the bytes as coded for the next
// hop, with the tokens where these travel, as long as they are kept; the calls that made the rows;
// and how far the rows were sent. So a refill sends the same bytes. One value, `upto`, is both the
// end of the history and the position of the next row.
// Invariants: kept_from <= cursor <= upto while sending; calls are contiguous and end at upto.
// Threading: single strand. Shapes: rows of `row_bytes`. Errors: send_from() returns false.
// Cost: O(bytes) of the rows that are added or sent.
#pragma once

#include "stacking/session_compute.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

namespace stacking::sessions {

/// Rows that leave as one frame.
struct Outgoing {
    std::uint32_t position = 0;
    std::uint32_t rows = 0;
    bool wanted = false;
    std::uint32_t guessed = 0;     // last rows whose tokens are guesses
    std::vector<std::byte> bytes;  // coded rows
    std::vector<TokenId> tokens;   // one per row where tokens travel, else empty
};

/// The rows of one call.
struct ComputedRows {
    std::uint32_t rows = 0;
    bool wanted = false;
    bool held = false;  // the token's path ended here: the rows leave with those of a later call
    std::span<const std::byte> bytes{};
    std::span<const TokenId> tokens{};
    std::uint32_t guessed = 0;
};

/// Ways to send calls again: as they were, or merged into large frames.
enum class Replay { Exact, Fast };

class RowLog {
 public:
    struct Options {
        std::size_t row_bytes = 0;  // 0: a last hop, which keeps no rows
        bool with_tokens = false;   // tokens travel with the rows
        bool keeps = false;         // sent rows stay for a refill; otherwise each goes once sent
    };

    explicit RowLog(Options options)
        : row_bytes_(options.row_bytes), with_tokens_(options.with_tokens), keeps_(options.keeps) {}

    [[nodiscard]] std::uint32_t upto() const { return upto_; }

    [[nodiscard]] std::uint32_t kept_from() const { return kept_from_; }

    void append(const ComputedRows& computed);

    /// Begins a new route: the rows from `position` on are void, and no earlier row is wanted.
    void begin(std::uint32_t position);

    /// Makes the rows from `position` on void on the route that runs: their tokens were guesses,
    /// and wrong. A next hop that is further still gets nothing before its own rows.
    void cut(std::uint32_t position);

    /// Whether all rows from the first one on are there.
    [[nodiscard]] bool is_whole() const { return row_bytes_ == 0 || kept_from_ == 0; }

    /// Keeps the first `rows` rows only, and no memory for others. REQUIRES: is_whole(), and so
    /// many rows.
    void shorten(std::uint32_t rows);

    /// Sets the position from which the next hop needs rows. Returns false when these rows are
    /// gone.
    [[nodiscard]] bool send_from(std::uint32_t position);

    /// Returns the next frame to send, if any: one call as it was (Exact), or as many whole calls
    /// as fit into `rows_max` rows (Fast).
    std::optional<Outgoing> next(Replay replay, std::uint32_t rows_max);

    void stop_sending() { cursor_.reset(); }

 private:
    struct Call {
        std::uint32_t position = 0;
        std::uint32_t rows = 0;
        bool wanted = false;
        std::uint32_t guessed = 0;

        [[nodiscard]] std::uint32_t end() const { return position + rows; }
    };

    void forget_below(std::uint32_t position);
    void forget_from(std::uint32_t position);

    std::size_t row_bytes_;
    bool with_tokens_;
    bool keeps_;
    std::uint32_t upto_ = 0;
    std::uint32_t kept_from_ = 0;
    std::uint32_t released_ = 0;           // rows below this position may leave
    std::optional<std::uint32_t> cursor_;  // position of the next row to send
    std::deque<Call> calls_;               // calls that have kept rows
    std::vector<std::byte> bytes_;         // rows [kept_from_, upto_)
    std::vector<TokenId> tokens_;          // tokens of these rows, or empty
};

}  // namespace stacking::sessions
