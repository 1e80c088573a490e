#include "stacking/sessions/row_log.hpp"

#include "swarm/base/check.hpp"

#include <algorithm>

namespace stacking::sessions {

void RowLog::append(const ComputedRows& computed) {
    const auto& [rows, wanted, held, bytes, tokens, guessed] = computed;
    SWARM_ASSERT(rows > 0 && bytes.size() == rows * row_bytes_);
    SWARM_ASSERT(tokens.size() == (with_tokens_ ? rows : 0));
    if (row_bytes_ > 0) {
        calls_.push_back({upto_, rows, wanted && !held, guessed});
        bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
        tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
    }
    upto_ += rows;
    if (row_bytes_ == 0) {
        kept_from_ = upto_;
    }
    if (!held) {
        released_ = upto_;
    }
}

void RowLog::begin(std::uint32_t position) {
    stop_sending();
    forget_from(position);
    released_ = position;
    for (Call& call : calls_) {
        call.wanted = false;
    }
}

void RowLog::cut(std::uint32_t position) {
    const bool waits = cursor_ && *cursor_ > upto_;  // for rows that are still to come
    forget_from(position);
    released_ = std::min(released_, position);
    if (cursor_ && !waits) {
        cursor_ = std::min(*cursor_, position);
    }
}

void RowLog::forget_from(std::uint32_t position) {
    SWARM_ASSERT(position <= upto_);
    upto_ = position;
    while (!calls_.empty() && calls_.back().position >= position) {
        calls_.pop_back();
    }
    if (!calls_.empty() && calls_.back().end() > position) {
        calls_.back().rows = position - calls_.back().position;
        calls_.back().wanted = false;
    }
    kept_from_ = row_bytes_ == 0 ? position : std::min(kept_from_, position);
    const std::size_t kept = position - kept_from_;
    bytes_.resize(kept * row_bytes_);
    tokens_.resize(with_tokens_ ? kept : 0);
}

void RowLog::shorten(std::uint32_t rows) {
    SWARM_ASSERT(is_whole() && rows <= upto_);
    begin(rows);
    calls_.clear();
    if (row_bytes_ > 0 && rows > 0) {
        calls_.push_back({.position = 0, .rows = rows});
    }
    bytes_.shrink_to_fit();
    tokens_.shrink_to_fit();
}

bool RowLog::send_from(std::uint32_t position) {
    if (position < kept_from_) {
        return false;
    }
    cursor_ = position;
    return true;
}

std::optional<Outgoing> RowLog::next(Replay replay, std::uint32_t rows_max) {
    if (!cursor_ || *cursor_ >= released_) {
        return std::nullopt;
    }
    const auto first = std::find_if(calls_.begin(), calls_.end(), [this](const Call& call) {
        return call.end() > *cursor_;
    });
    SWARM_ASSERT(first != calls_.end() && first->position <= *cursor_);
    Outgoing out;
    out.position = *cursor_;
    std::uint32_t end = std::min(first->end(), *cursor_ + rows_max);
    bool wanted = first->wanted && end == first->end();
    std::uint32_t guessed = first->guessed;
    const bool merges = replay == Replay::Fast;
    for (auto call = first + 1; merges && !wanted && call != calls_.end(); ++call) {
        if (call->position != end || call->end() - *cursor_ > rows_max || end >= released_) {
            break;
        }
        end = call->end();
        wanted = call->wanted;
        guessed = call->guessed;
    }
    out.rows = end - out.position;
    out.wanted = wanted;
    out.guessed = wanted ? std::min(guessed, out.rows - 1) : 0;
    const std::size_t before = out.position - kept_from_;
    const auto bytes = std::span(bytes_).subspan(before * row_bytes_, out.rows * row_bytes_);
    out.bytes.assign(bytes.begin(), bytes.end());
    if (with_tokens_) {
        const auto tokens = std::span(tokens_).subspan(before, out.rows);
        out.tokens.assign(tokens.begin(), tokens.end());
    }
    cursor_ = end;
    if (!keeps_) {
        forget_below(end);
    }
    return out;
}

void RowLog::forget_below(std::uint32_t position) {
    while (!calls_.empty() && calls_.front().end() <= position) {
        calls_.pop_front();
    }
    const std::size_t gone = position - kept_from_;
    bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(gone * row_bytes_));
    if (with_tokens_) {
        tokens_.erase(tokens_.begin(), tokens_.begin() + static_cast<std::ptrdiff_t>(gone));
    }
    kept_from_ = position;
}

}  // namespace stacking::sessions
