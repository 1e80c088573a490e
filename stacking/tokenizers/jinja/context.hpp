// One rendering: its budget, and the things that values point to.
// Invariant: work is paid for before it is done, so no template runs for longer than kStepsMax
// steps allow, and all texts that it makes together have at most kStepsMax * kBytesPerStep bytes.
// Threading: one thread. Errors: TooLarge.
#pragma once

#include "stacking/tokenizers/jinja/value.hpp"

#include <bit>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace stacking::tokenizers::jinja {

class Context {
 public:
    /// `now_s`: the time of strftime_now(), in seconds since 1970 by the clock of the place.
    explicit Context(std::int64_t now_s) : now_s_(now_s) {}

    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    Result<> charge(std::uint64_t steps) {
        if (steps > left_) {
            return beyond_bound(
                "it takes more than " + std::to_string(kStepsMax) + " steps; does it end?"
            );
        }
        left_ -= steps;
        return {};
    }

    /// Pays for making a text. Errors: also one that is too long.
    Result<> charge_bytes(std::uint64_t bytes) { return charge_more_bytes(0, bytes); }

    /// Pays for `more` bytes behind `bytes` that are paid for. Errors: also a text too long.
    Result<> charge_more_bytes(std::uint64_t bytes, std::uint64_t more) {
        if (more > kTextBytesMax || bytes + more > kTextBytesMax) {
            return beyond_bound(
                "a text is longer than " + std::to_string(kTextBytesMax) + " bytes"
            );
        }
        return charge(1 + more / kBytesPerStep);
    }

    /// Pays for a text that stands behind `bytes` that are paid for. Errors: as above.
    Result<> charge_text(std::uint64_t bytes, const Text& more) {
        if (auto paid = charge(more.weight()); !paid) {
            return paid;
        }
        return charge_more_bytes(bytes, more.size());
    }

    /// Pays for finding a key or a name of a weight among so many.
    Result<> charge_look_up(std::uint64_t weight, std::size_t count) {
        return charge(1 + weight * static_cast<std::uint64_t>(std::bit_width(count)) / 4);
    }

    /// Pays for making a dict.
    Result<> charge_keys(const std::vector<Dict::Entry>& entries) {
        for (const auto& [key, value] : entries) {
            if (auto paid = charge_look_up(key.weight(), entries.size()); !paid) {
                return paid;
            }
        }
        return {};
    }

    [[nodiscard]] std::int64_t now_s() const { return now_s_; }

    Namespace* make_namespace() { return &namespaces_.emplace_back(); }

    Loop* make_loop() { return &loops_.emplace_back(); }

 private:
    std::int64_t now_s_;
    std::uint64_t left_ = kStepsMax;
    std::deque<Namespace> namespaces_;
    std::deque<Loop> loops_;
};

}  // namespace stacking::tokenizers::jinja
