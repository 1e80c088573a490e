#include "swarm/http/browser_rules.hpp"

#include <boost/asio/ip/address.hpp>

#include <algorithm>
#include <string_view>

namespace swarm::http {
namespace {

constexpr unsigned kForbidden = 403;

/// "name:port" -> "name"; an IPv6 address keeps no brackets.
std::string name_of(std::string_view host) {
    if (host.starts_with('[')) {
        return std::string(host.substr(1, host.find(']') - 1));
    }
    return std::string(host.substr(0, host.find(':')));
}

/// Nobody else can make these mean this machine.
bool is_name_of_this_machine(const std::string& host) {
    std::string name = name_of(host);
    std::transform(name.begin(), name.end(), name.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    boost::system::error_code no_address;
    boost::asio::ip::make_address(name, no_address);
    return !no_address || name.empty() || name == "localhost" || name.ends_with(".localhost");
}

bool is_own_page(const RequestHead& head) {
    return head.origin == "http://" + head.host || head.origin == "https://" + head.host;
}

/// Names of fields with commas, as browsers send them; so nothing else gets into an answer.
bool is_list_of_fields(std::string_view text) {
    constexpr std::string_view kAllowed =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_, ";
    return text.find_first_not_of(kAllowed) == std::string_view::npos;
}

}  // namespace

std::optional<Refusal> BrowserRules::judge(const RequestHead& head, Names names) const {
    if (names == Names::OfThisMachine && !is_name_of_this_machine(head.host)) {
        return Refusal{
            kForbidden,
            "host_not_allowed",
            "without keys this server answers to localhost and to addresses only"};
    }
    if (!head.origin.empty() && !is_own_page(head) && !allows(head.origin)) {
        return Refusal{kForbidden, "origin_not_allowed", "pages of this origin may not ask here"};
    }
    return std::nullopt;
}

bool BrowserRules::is_preflight(const RequestHead& head) const {
    return head.method == "OPTIONS" && !head.requested_method.empty() && allows(head.origin);
}

std::string BrowserRules::fields(const RequestHead& head) const {
    if (!allows(head.origin)) {
        return {};
    }
    return "Access-Control-Allow-Origin: " + allowed_ +
           "\r\nAccess-Control-Expose-Headers: Retry-After\r\nVary: Origin\r\n";
}

std::string BrowserRules::preflight_fields(const RequestHead& head) const {
    std::string text = fields(head) + "Access-Control-Allow-Methods: GET, HEAD, POST, OPTIONS\r\n";
    if (!head.requested_headers.empty() && is_list_of_fields(head.requested_headers)) {
        text += "Access-Control-Allow-Headers: " + head.requested_headers + "\r\n";
    }
    return text + "Access-Control-Max-Age: 600\r\n";
}

bool BrowserRules::allows(const std::string& origin) const {
    return !origin.empty() && !allowed_.empty() && (allowed_ == "*" || allowed_ == origin);
}

}  // namespace swarm::http
