// Checks the values of one decoded message, and remembers the first that is wrong. Every check
// returns a value that is safe to hold, so a reader goes on to its end and asks once for the error.
// Nothing is copied before its size is known to be within limits.hpp.
// Private to swarm/protocol. Errors: Malformed, TooLarge; the reaction is always Reject.
#pragma once

#include "swarm/base/digest.hpp"
#include "swarm/base/ids.hpp"
#include "swarm/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace swarm::protocol {

class Validator {
 public:
    /// Errors name the part of the message that is being checked, until its Within ends.
    class Within {
     public:
        Within(Validator& check, std::string_view part)
            : check_(check), part_(part), around_(check.within_) {
            check_.within_ = this;
        }

        Within(const Within&) = delete;
        Within& operator=(const Within&) = delete;

        ~Within() { check_.within_ = around_; }

        /// Returns the names of this part and of those around it, each with a dot: "hosts.hosted.".
        [[nodiscard]] std::string prefix() const {
            const std::string before = around_ == nullptr ? "" : around_->prefix();
            return before + std::string(part_) + ".";
        }

     private:
        Validator& check_;
        std::string_view part_;
        const Within* around_;
    };

    /// Notes Malformed unless the rule holds.
    void require(bool holds, std::string_view field, std::string_view rule);
    /// Notes TooLarge unless the count fits; tells whether it fits.
    bool fits(std::size_t count, std::size_t max, std::string_view field);

    std::uint32_t below(std::uint32_t value, std::uint32_t bound, std::string_view field);
    double finite(double value, std::string_view field);
    double finite_and_not_negative(double value, std::string_view field);
    Digest digest(const std::string& bytes, std::string_view field);
    PeerId peer(const std::string& bytes, std::string_view field);
    /// Takes printable ASCII only, because texts end in a person's terminal and in JSON.
    std::string text(const std::string& bytes, std::string_view field);

    template <class Enum>
    Enum choice(int value, Enum last, std::string_view field) {
        const bool known = value >= 0 && value <= static_cast<int>(last);
        require(known, field, "is no known value");
        return known ? static_cast<Enum>(value) : Enum{};
    }

    /// Calls `convert` for each element, once their number is known to fit.
    template <class List, class Convert>
    auto list(const List& wire, std::size_t max, std::string_view field, Convert convert) {
        std::vector<decltype(convert(*wire.begin()))> values;
        if (fits(static_cast<std::size_t>(wire.size()), max, field)) {
            values.reserve(static_cast<std::size_t>(wire.size()));
            for (const auto& element : wire) {
                values.push_back(convert(element));
            }
        }
        return values;
    }

    /// Returns the first error, if there is one; `what` names the message in the error's text.
    [[nodiscard]] Result<> outcome(std::string_view what) const;

 private:
    void note(ErrorCode code, std::string_view field, std::string_view rule);

    std::optional<std::pair<ErrorCode, std::string>> first_;
    const Within* within_ = nullptr;
};

}  // namespace swarm::protocol
