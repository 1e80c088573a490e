#include "swarm/run/run_file/key_bounds.hpp"

#include <array>
#include <charconv>

namespace swarm::run {
namespace {

constexpr const char* kUnread = "any; this model does not read it";

}  // namespace

std::string number_text(double value) {
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    std::string text(digits.data(), end);
    if (const std::size_t exponent = text.find('e'); exponent != std::string::npos) {
        const std::size_t digits_begin = text.find_first_not_of("+-0", exponent + 1);
        const bool is_negative = text[exponent + 1] == '-';
        text.replace(exponent + 1, digits_begin - exponent - 1, is_negative ? "-" : "");
    }
    return text;
}

std::string Whole::cell() const {
    if (is_unread) {
        return kUnread;
    }
    return std::to_string(low) + " to " + (high_key ? high_key : std::to_string(high));
}

std::string Whole::wanted() const {
    return "a whole number from " + std::to_string(is_unread ? 0 : low) + " to " +
           (high_key ? high_key : std::to_string(is_unread ? kAnyHigh : high));
}

std::string Real::cell() const {
    return is_unread ? kUnread : number_text(low) + " to " + number_text(high);
}

std::string Real::wanted() const {
    return is_unread ? "a number" : "a number from " + cell();
}

}  // namespace swarm::run
