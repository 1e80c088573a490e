#include "stacking/models/families/gguf_keys.hpp"

#include <limits>

namespace stacking::models {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;

std::string GgufKeys::full(const std::string& key) const {
    return key.starts_with('.') ? architecture_ + key : key;
}

bool GgufKeys::has(const std::string& key) const {
    return header_.metadata.contains(full(key)) || header_.skipped.contains(full(key));
}

std::optional<std::uint64_t> GgufKeys::whole(const std::string& key) const {
    if (const auto* const value = header_.find<std::uint64_t>(full(key))) {
        return *value;
    }
    if (const auto* const value = header_.find<std::int64_t>(full(key));
        value != nullptr && *value >= 0) {
        return static_cast<std::uint64_t>(*value);
    }
    return std::nullopt;
}

std::uint32_t GgufKeys::count(const std::string& key) {
    const std::optional<std::uint64_t> value = whole(key);
    if (!value || *value > std::numeric_limits<std::uint32_t>::max()) {
        const char* const why = value ? " is too large" : " is missing or no number";
        require(false, ErrorCode::Malformed, full(key) + why);
        return 0;
    }
    return static_cast<std::uint32_t>(*value);
}

std::uint32_t GgufKeys::count_or(const std::string& key, std::uint32_t missing) {
    return has(key) ? count(key) : missing;
}

double GgufKeys::real(const std::string& key) {
    const auto* const value = header_.find<double>(full(key));
    if (value == nullptr) {
        require(false, ErrorCode::Malformed, full(key) + " is missing or no real number");
        return 0;
    }
    return *value;
}

double GgufKeys::real_or(const std::string& key, double missing) {
    return has(key) ? real(key) : missing;
}

bool GgufKeys::boolean_or(const std::string& key, bool missing) {
    if (!has(key)) {
        return missing;
    }
    const auto* const value = header_.find<bool>(full(key));
    require(value != nullptr, ErrorCode::Malformed, full(key) + " is no boolean");
    return value != nullptr && *value;
}

std::string GgufKeys::text_or(const std::string& key, const char* missing) {
    const auto* const text = header_.find<std::string>(full(key));
    require(text != nullptr || !has(key), ErrorCode::Malformed, full(key) + " is no text");
    return text == nullptr ? missing : *text;
}

const GgufTensor* GgufKeys::find_tensor(std::string_view name) const {
    for (const GgufTensor& tensor : header_.tensors) {
        if (tensor.name == name) {
            return &tensor;
        }
    }
    return nullptr;
}

void GgufKeys::require(bool holds, ErrorCode code, const std::string& what) {
    if (!holds && !fault_) {
        fault_ = Error{code, Reaction::Reject, "GGUF: " + what};
    }
}

}  // namespace stacking::models
