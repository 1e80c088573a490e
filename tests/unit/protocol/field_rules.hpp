// Checks of the rules on the fields of messages, for tests: the last value that fits is taken, and
// the first value that does not fit is refused with the right code.
#pragma once

#include "swarm/protocol/frame.hpp"
#include "swarm/protocol/limits.hpp"
#include "tests/unit/protocol/sample_messages.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>

namespace swarm::protocol {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

inline Result<Message> arrive(const Body& body) {
    const Message message{.body = body};
    return decode_control(static_cast<std::uint16_t>(body.index()), encode_control(message));
}

/// Returns the sample of a kind after `change`.
template <class Kind, class Change>
Body changed(Change change) {
    Body body = sample_of<Kind>().body;
    change(std::get<Kind>(body));
    return body;
}

inline void expect_taken(const Body& body) {
    const Result<Message> result = arrive(body);
    EXPECT_TRUE(result) << (result ? "" : result.error().detail);
}

inline void expect_refused(const Body& body, ErrorCode code, const std::string& field) {
    const Result<Message> result = arrive(body);
    ASSERT_FALSE(result) << field;
    EXPECT_EQ(result.error().code, code) << result.error().detail;
    EXPECT_EQ(result.error().reaction, Reaction::Reject) << result.error().detail;
    EXPECT_NE(result.error().detail.find(field), std::string::npos) << result.error().detail;
}

enum class Negative { Allowed, Refused };

/// Checks that a double of one kind of message must be finite, and whether it may be negative.
template <class Kind, class Field>
void check_double(Field field, const std::string& name, Negative negative) {
    const auto with = [&](double value) {
        return changed<Kind>([&](Kind& body) { field(body) = value; });
    };
    expect_taken(with(0));
    expect_taken(with(std::numeric_limits<double>::max()));
    for (const double value : {kInfinity, -kInfinity, kNan}) {
        expect_refused(with(value), ErrorCode::Malformed, name);
    }
    if (negative == Negative::Allowed) {
        expect_taken(with(-1));
    } else {
        expect_refused(with(-1e-300), ErrorCode::Malformed, name);
    }
}

/// Checks the rules of a text; with(text) makes a message with the text in the field `name`.
template <class With>
void check_text(With with, const std::string& name) {
    expect_taken(with(""));
    expect_taken(with(std::string(kTextBytesMax, '~')));
    expect_refused(with(std::string(kTextBytesMax + 1, 'a')), ErrorCode::TooLarge, name);
    for (const std::string bad : {"\x1b[2J", "a\nb", "caf\xc3\xa9", "\x7f", "\xff"}) {
        expect_refused(with(bad), ErrorCode::Malformed, name);
    }
    expect_refused(with(std::string(1, '\0')), ErrorCode::Malformed, name);
}

}  // namespace swarm::protocol
