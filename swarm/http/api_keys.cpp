#include "swarm/http/api_keys.hpp"

#include "swarm/base/durable_file.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <set>
#include <span>
#include <sstream>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace swarm::http {
namespace {

constexpr std::size_t kKeyFileBytesMax = 256U << 10;
constexpr std::size_t kNameMost = 64;
constexpr std::size_t kSecretMost = 512;
constexpr mode_t kOfOthers = S_IRWXG | S_IRWXO;
constexpr Duration kMinute = std::chrono::minutes(1);

Error unusable(std::string detail) {
    return {ErrorCode::Usage, Reaction::Reject, std::move(detail)};
}

/// Looks at the file that is open, because its name may mean another one by then.
Result<std::string> read_secret_file(const std::filesystem::path& path) {
    const std::string name = path.string();
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.is_open()) {
        const std::string reason = std::generic_category().message(errno);
        return Error{
            ErrorCode::NotFound,
            Reaction::Reject,
            "cannot read the keys in " + name + ": " + reason};
    }

    struct stat about {};

    if (::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) {
        return unusable("the keys in " + name + " are not in a regular file");
    }
    if ((about.st_mode & kOfOthers) != 0) {
        return unusable(
            "others on this machine may read or change the keys in " + name + ": chmod 600 " + name
        );
    }
    std::string text(kKeyFileBytesMax + 1, '\0');
    std::size_t size = 0;
    while (size < text.size()) {
        const ssize_t count = ::read(file.get(), &text[size], text.size() - size);
        if (count < 0) {
            return Error{ErrorCode::StorageFailed, Reaction::Reject, "cannot read " + name};
        }
        if (count == 0) {
            text.resize(size);
            return text;
        }
        size += static_cast<std::size_t>(count);
    }
    return Error{ErrorCode::TooLarge, Reaction::Reject, name + " is larger than a file of keys"};
}

bool is_name(std::string_view name) {
    constexpr std::string_view kAllowed =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    return !name.empty() && name.size() <= kNameMost &&
           name.find_first_not_of(kAllowed) == std::string_view::npos;
}

bool is_secret_character(char c) {
    return c > ' ' && c <= '~';
}

/// Reads one line; the error has no secret in it.
Result<ApiKey> parse_line(const std::string& line) {
    std::istringstream words(line);
    std::string name;
    std::string number;
    std::string secret;
    std::string more;
    words >> name >> number >> secret;
    if (secret.empty() || words >> more) {
        return unusable("a line of keys is: NAME REQUESTS_PER_MINUTE SECRET");
    }
    if (!is_name(name)) {
        return unusable("a name has up to 64 letters, digits, dots, dashes and underscores");
    }
    ApiKey key{std::move(name), {}, 0};
    const char* const end = number.data() + number.size();
    const auto [stop, error] = std::from_chars(number.data(), end, key.requests_per_minute);
    if (error != std::errc() || stop != end || key.requests_per_minute < 1 ||
        key.requests_per_minute > kRequestsPerMinuteMax) {
        return unusable("the requests per minute are a number from 1 to 1000000");
    }
    if (secret.size() < kSecretLeast) {
        return unusable("the secret of " + key.name + " can be guessed: swarm key new makes one");
    }
    if (secret.size() > kSecretMost ||
        !std::all_of(secret.begin(), secret.end(), is_secret_character)) {
        return unusable("a secret has up to 512 visible ASCII characters");
    }
    key.secret_sha256 = digest_of_secret(secret);
    return key;
}

}  // namespace

Digest digest_of_secret(std::string_view secret) {
    return sha256(std::as_bytes(std::span(secret)));
}

Result<std::vector<ApiKey>> read_api_keys(const std::filesystem::path& file) {
    SWARM_TRY(const std::string text, read_secret_file(file));
    std::vector<ApiKey> keys;
    std::set<std::string> names;
    std::set<Digest> secrets;
    std::istringstream lines(text);
    std::size_t number = 0;
    for (std::string line; std::getline(lines, line);) {
        ++number;
        line.erase(std::min(line.find('#'), line.size()));
        if (line.find_first_not_of(" \t\r") == std::string::npos) {
            continue;
        }
        const std::string place = file.string() + ", line " + std::to_string(number) + ": ";
        Result<ApiKey> key = parse_line(line);
        if (!key) {
            return unusable(place + key.error().detail);
        }
        if (!names.insert(key->name).second || !secrets.insert(key->secret_sha256).second) {
            return unusable(place + "another key has this name or this secret");
        }
        if (keys.size() == kApiKeysMax) {
            return unusable(place + "there are more than 1024 keys");
        }
        keys.push_back(std::move(*key));
    }
    if (keys.empty()) {
        return unusable(file.string() + " has no keys: NAME REQUESTS_PER_MINUTE SECRET on a line");
    }
    return keys;
}

KeyRing::KeyRing(std::vector<ApiKey> keys) {
    for (ApiKey& key : keys) {
        holders_.push_back({std::move(key), {}});
    }
}

std::optional<std::size_t> KeyRing::find(std::string_view secret) const {
    const Digest digest = digest_of_secret(secret);
    std::optional<std::size_t> found;
    for (std::size_t i = 0; i < holders_.size(); ++i) {
        const Digest& right = holders_[i].key.secret_sha256;
        if (CRYPTO_memcmp(right.bytes.data(), digest.bytes.data(), digest.bytes.size()) == 0) {
            found = i;
        }
    }
    return found;
}

const std::string& KeyRing::name(std::size_t key) const {
    return holders_[key].key.name;
}

std::optional<std::chrono::seconds> KeyRing::take(std::size_t key, TimePoint now) {
    Holder& holder = holders_[key];
    const Duration cost = kMinute / holder.key.requests_per_minute;
    const TimePoint whole_at = std::max(holder.whole_at, now) + cost;
    const Duration wait = whole_at - now - kMinute;
    if (wait > Duration::zero()) {
        return std::chrono::ceil<std::chrono::seconds>(wait);
    }
    holder.whole_at = whole_at;
    return std::nullopt;
}

}  // namespace swarm::http
