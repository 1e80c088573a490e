// The keys with which clients ask, and the requests per minute of each.
// A file of keys has one key on each line, and # begins a comment:
//   NAME REQUESTS_PER_MINUTE SECRET
//   alice 60 4f1c0a..   (swarm key new makes secrets)
// Invariants: a secret stays in memory as its SHA-256 only. Looking one up compares it with all
// keys, in a time that does not depend on them. A minute's requests may come at once, and each
// comes back 60 s / limit after it was used.
// Threading: single strand. Errors of read_api_keys(): NotFound, TooLarge, StorageFailed, Usage
// (Reject); a file that others can read, and a secret that can be guessed, are refused.
#pragma once

#include "swarm/base/digest.hpp"
#include "swarm/base/result.hpp"
#include "swarm/base/units.hpp"

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace swarm::http {

/// Characters of a secret, at least: 128 bits in base64, as for swarm keys.
inline constexpr std::size_t kSecretLeast = 22;
inline constexpr std::size_t kApiKeysMax = 1024;
inline constexpr int kRequestsPerMinuteMax = 1'000'000;

/// Describes the file, for the help text of a flag that names it.
inline constexpr std::string_view kApiKeyFileHelp =
    "a file that only you can read, with a line NAME REQUESTS_PER_MINUTE SECRET for each key";

struct ApiKey {
    std::string name;      // up to 64 letters, digits, dots, dashes and underscores
    Digest secret_sha256;  // digest_of_secret()
    int requests_per_minute = 0;
};

Digest digest_of_secret(std::string_view secret);

Result<std::vector<ApiKey>> read_api_keys(const std::filesystem::path& file);

/// Knows which key a secret belongs to, and how many requests it has left.
class KeyRing {
 public:
    explicit KeyRing(std::vector<ApiKey> keys);

    [[nodiscard]] bool empty() const { return holders_.empty(); }

    /// Returns the number of the key.
    [[nodiscard]] std::optional<std::size_t> find(std::string_view secret) const;
    [[nodiscard]] const std::string& name(std::size_t key) const;

    /// Takes one request, or returns the time until there is one.
    std::optional<std::chrono::seconds> take(std::size_t key, TimePoint now);

 private:
    struct Holder {
        ApiKey key;
        TimePoint whole_at{};  // when all requests of a minute are there again
    };

    std::vector<Holder> holders_;
};

}  // namespace swarm::http
