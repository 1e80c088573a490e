#include "swarm/cli/common/join_address.hpp"

#include "swarm/base/try.hpp"
#include "swarm/net/address.hpp"
#include "swarm/net/identity.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string_view>

namespace swarm::cli {
namespace {

std::string one_with_port(const std::string& text, std::uint16_t port) {
    const std::string suffix = ":" + std::to_string(port);
    const bool bracketed = text.starts_with('[') && text.ends_with(']');
    if (bracketed || (!text.empty() && text.find(':') == std::string::npos)) {
        return text + suffix;
    }
    const bool bare_ipv6 = std::ranges::count(text, ':') > 1 && net::is_ip(text);
    return bare_ipv6 ? "[" + text + "]" + suffix : text;
}

Error no_name(const std::string& text, const std::string& why) {
    return {
        ErrorCode::Usage,
        Reaction::Reject,
        "'" + text + "' before the @ names nobody: " + why +
            "; paste the line that `swarm train` or `swarm directory` prints"};
}

/// Says which digit a person may have meant by a character that no name has.
std::string meant_by(char character) {
    switch (character) {
        case '0':
            return ", is it an o?";
        case '1':
            return ", is it an l or an i?";
        case '8':
            return ", is it a b?";
        default:
            return "";
    }
}

Result<> check_name(const std::string& name) {
    constexpr std::string_view kDigits = "abcdefghijklmnopqrstuvwxyz234567";
    const std::size_t wrong = name.find_first_not_of(kDigits);
    if (wrong != std::string::npos) {
        return no_name(
            name,
            "its digits are a-z and 2-7, and '" + name.substr(wrong, 1) + "' is none" +
                meant_by(name[wrong])
        );
    }
    if (name.size() != net::kNameDigits && name.size() != net::kIdDigits) {
        return no_name(
            name,
            "it has " + std::to_string(name.size()) + " digits, and a name has " +
                std::to_string(net::kNameDigits) + " or " + std::to_string(net::kIdDigits)
        );
    }
    return {};
}

}  // namespace

Result<JoinTarget> parse_join(const std::string& text, std::uint16_t port) {
    const std::size_t at = text.rfind('@');
    if (at == std::string::npos) {
        return JoinTarget{"", with_port(text, port)};
    }
    JoinTarget target{text.substr(0, at), with_port(text.substr(at + 1), port)};
    std::ranges::transform(target.name, target.name.begin(), [](unsigned char letter) {
        return static_cast<char>(std::tolower(letter));  // a QR code may have been read as capitals
    });
    SWARM_TRY(check_name(target.name));
    return target;
}

std::string with_port(const std::string& addresses, std::uint16_t port) {
    std::string all;
    for (std::size_t begin = 0; begin <= addresses.size();) {
        const std::size_t comma = std::min(addresses.find(',', begin), addresses.size());
        all +=
            (begin == 0 ? "" : ",") + one_with_port(addresses.substr(begin, comma - begin), port);
        begin = comma + 1;
    }
    return all;
}

}  // namespace swarm::cli
