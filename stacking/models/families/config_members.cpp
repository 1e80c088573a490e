#include "stacking/models/families/config_members.hpp"

#include "stacking/models/byte_source.hpp"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include <limits>

namespace stacking::models {

namespace json = boost::json;
using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;

namespace {

constexpr std::size_t kEndTokensMax = 64;

std::string text_of(const json::value& value) {
    return printable(json::serialize(value));
}

}  // namespace

const json::value* ConfigMembers::find(const char* key) const {
    const json::value* const value = object_.if_contains(key);
    return value == nullptr || value->is_null() ? nullptr : value;
}

std::uint32_t ConfigMembers::count(const char* key, std::optional<std::uint32_t> missing) {
    const json::value* const value = find(key);
    if (value == nullptr && missing) {
        return *missing;
    }
    return value == nullptr ? fail(std::string(key) + " is missing") : to_count(key, *value);
}

std::uint32_t ConfigMembers::to_count(const char* key, const json::value& value) {
    std::uint64_t count = std::numeric_limits<std::uint64_t>::max();
    if (value.is_int64() && value.get_int64() >= 0) {
        count = static_cast<std::uint64_t>(value.get_int64());
    }
    if (count > std::numeric_limits<std::uint32_t>::max()) {
        return fail(std::string(key) + " is " + text_of(value) + ", no count");
    }
    return static_cast<std::uint32_t>(count);
}

double ConfigMembers::real(const char* key, double missing) {
    const json::value* const value = find(key);
    if (value == nullptr) {
        return missing;
    }
    if (!value->is_number()) {
        fail(std::string(key) + " is " + text_of(*value) + ", no number");
        return missing;
    }
    return value->to_number<double>();
}

bool ConfigMembers::boolean(const char* key, bool missing) {
    const json::value* const value = find(key);
    if (value == nullptr) {
        return missing;
    }
    if (!value->is_bool()) {
        fail(std::string(key) + " is no boolean");
        return missing;
    }
    return value->get_bool();
}

std::string ConfigMembers::text(const char* key, const char* missing) {
    const json::value* const value = find(key);
    if (value == nullptr) {
        return missing;
    }
    if (!value->is_string()) {
        fail(std::string(key) + " is " + text_of(*value) + ", no text");
        return missing;
    }
    return std::string(value->get_string());
}

std::vector<double> ConfigMembers::reals(const char* key, std::size_t most) {
    const json::value* const value = find(key);
    const json::array* const list = value == nullptr ? nullptr : value->if_array();
    if (list == nullptr || list->size() > most) {
        fail(std::string(key) + " is no list of at most " + std::to_string(most) + " numbers");
        return {};
    }
    std::vector<double> numbers;
    for (const json::value& entry : *list) {
        if (!entry.is_number()) {
            fail(std::string(key) + " has " + text_of(entry) + ", no number");
            return {};
        }
        numbers.push_back(entry.to_number<double>());
    }
    return numbers;
}

std::vector<std::uint32_t> ConfigMembers::tokens(const char* key) {
    std::vector<std::uint32_t> tokens;
    const json::value* const value = find(key);
    if (value == nullptr) {
        return tokens;
    }
    if (const json::array* const list = value->if_array()) {
        if (list->size() > kEndTokensMax) {
            fail(std::string(key) + " is a list of " + std::to_string(list->size()));
            return tokens;
        }
        for (const json::value& entry : *list) {
            tokens.push_back(to_count(key, entry));
        }
        return tokens;
    }
    tokens.push_back(to_count(key, *value));
    return tokens;
}

void ConfigMembers::require(const char* key, const json::value& only) {
    const json::value* const value = find(key);
    if (value != nullptr && *value != only) {
        fail(
            std::string(key) + " is " + text_of(*value) + "; only " + text_of(only) +
                " can be read",
            ErrorCode::Unsupported
        );
    }
}

std::uint32_t ConfigMembers::fail(const std::string& what, ErrorCode code) {
    if (!fault_) {
        fault_ = Error{code, Reaction::Reject, file_ + ": " + what};
    }
    return 0;
}

}  // namespace stacking::models
