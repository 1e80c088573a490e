// Members of one JSON object of a model's configuration, read with checks.
// Invariant: only the first fault is kept, and its text begins with the file's name; after a fault
// the values that are returned mean nothing. A null counts as absent.
// Threading: one thread. Errors: fault(): Malformed or Unsupported; Reject.
#pragma once

#include "swarm/base/result.hpp"

#include <boost/json/object.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stacking::models {

class ConfigMembers {
 public:
    explicit ConfigMembers(const boost::json::object& object, std::string file = "config.json")
        : object_(object), file_(std::move(file)) {}

    /// Returns null when the member is absent.
    [[nodiscard]] const boost::json::value* find(const char* key) const;

    /// Whether the object has the member, a null included: where a family has a default, a null
    /// means none, and an absent member the default.
    [[nodiscard]] bool has(const char* key) const { return object_.contains(key); }

    /// Without `missing`, an absent member is a fault.
    std::uint32_t count(const char* key, std::optional<std::uint32_t> missing = std::nullopt);
    std::uint32_t to_count(const char* key, const boost::json::value& value);
    double real(const char* key, double missing);
    bool boolean(const char* key, bool missing);
    std::string text(const char* key, const char* missing);

    /// Reads a list of at most `most` numbers; an absent member is a fault.
    std::vector<double> reals(const char* key, std::size_t most);

    /// Reads a token id, a list of them, or nothing.
    std::vector<std::uint32_t> tokens(const char* key);

    /// Fails with Unsupported unless the member is absent or equal to `only`.
    void require(const char* key, const boost::json::value& only);

    std::uint32_t fail(
        const std::string& what, swarm::ErrorCode code = swarm::ErrorCode::Malformed
    );

    [[nodiscard]] const std::optional<swarm::Error>& fault() const { return fault_; }

 private:
    const boost::json::object& object_;
    std::string file_;
    std::optional<swarm::Error> fault_;
};

}  // namespace stacking::models
