#include "stacking/sessions/row_log.hpp"

#include "swarm/base/check.hpp"

#include <algorithm>

namespace stacking::sessions {

void RowLog::append(std::uint32_t rows, bool wanted, std::span<const float> values, bool held) {
    SWARM_ASSERT(rows > 0 && values.size() == std::size_t{rows} * width_);
    if (width_ > 0) {
        calls_.push_back({upto_, rows, wanted && !held});
        values_.insert(values_.end(), values.begin(), values.end());
    }
    upto_ += rows;
    if (width_ == 0) {
        kept_from_ = upto_;
    }
    if (!held) {
        released_ = upto_;
    }
}

void RowLog::begin(std::uint32_t position) {
    SWARM_ASSERT(position <= upto_);
    stop_sending();
    upto_ = position;
    released_ = position;
    while (!calls_.empty() && calls_.back().position >= position) {
        calls_.pop_back();
    }
    if (!calls_.empty()) {
        calls_.back().rows = std::min(calls_.back().end(), position) - calls_.back().position;
    }
    for (Call& call : calls_) {
        call.wanted = false;
    }
    kept_from_ = std::min(kept_from_, position);
    if (width_ == 0) {
        kept_from_ = position;
    }
    values_.resize(std::size_t{position - kept_from_} * width_);
}

bool RowLog::send_from(std::uint32_t position) {
    if (position < kept_from_) {
        return false;
    }
    cursor_ = position;
    return true;
}

std::optional<Outgoing> RowLog::next(bool exact, std::uint32_t rows_max) {
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
    for (auto call = first + 1; !exact && !wanted && call != calls_.end(); ++call) {
        if (call->position != end || call->end() - *cursor_ > rows_max || end >= released_) {
            break;
        }
        end = call->end();
        wanted = call->wanted;
    }
    out.rows = end - out.position;
    out.wanted = wanted;
    const auto begin = values_.begin() +
                       static_cast<std::ptrdiff_t>(std::size_t{out.position - kept_from_} * width_);
    out.values.assign(begin, begin + static_cast<std::ptrdiff_t>(std::size_t{out.rows} * width_));
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
    const std::size_t gone = std::size_t{position - kept_from_} * width_;
    values_.erase(values_.begin(), values_.begin() + static_cast<std::ptrdiff_t>(gone));
    kept_from_ = position;
}

}  // namespace stacking::sessions
