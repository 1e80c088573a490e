#include "swarm/http/gate.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace swarm::http {
namespace {

const Refusal kNoKey{401, "missing_api_key", "send your key: Authorization: Bearer KEY"};
const Refusal kUnknownKey{401, "invalid_api_key", "this server does not know the key"};

/// "Bearer KEY" -> "KEY"; empty when it is another scheme.
std::string_view bearer_of(std::string_view authorization) {
    constexpr std::string_view kScheme = "bearer ";
    const bool matches =
        authorization.size() > kScheme.size() &&
        std::equal(kScheme.begin(), kScheme.end(), authorization.begin(), [](char a, char b) {
            return a == std::tolower(static_cast<unsigned char>(b));
        });
    if (!matches) {
        return {};
    }
    const std::size_t begin = authorization.find_first_not_of(' ', kScheme.size());
    return authorization.substr(std::min(begin, authorization.size()));
}

}  // namespace

boost::system::result<std::string, Refusal> Gate::judge(
    const RequestHead& head, Reach reach, const std::string& address, TimePoint now
) {
    const bool is_private = reach == Reach::ThisMachine && keys_.empty();
    const auto names = is_private ? BrowserRules::Names::OfThisMachine : BrowserRules::Names::Any;
    if (auto refusal = browser_rules_.judge(head, names)) {
        return std::move(*refusal);
    }
    if (needs_no_key(head)) {
        return address;
    }
    const std::string_view secret = bearer_of(head.authorization);
    if (secret.empty()) {
        return kNoKey;
    }
    const std::optional<std::size_t> key = keys_.find(secret);
    if (!key) {
        return kUnknownKey;
    }
    if (const auto wait = keys_.take(*key, now)) {
        return Refusal{429, "rate_limit_exceeded", "the key has no request left this minute", wait};
    }
    return keys_.name(*key);
}

bool Gate::needs_no_key(const RequestHead& head) const {
    return keys_.empty() || browser_rules_.is_preflight(head) ||
           std::find(open_paths_.begin(), open_paths_.end(), head.path) != open_paths_.end();
}

}  // namespace swarm::http
