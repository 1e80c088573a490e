#include "swarm/protocol/validator.hpp"

#include "swarm/protocol/limits.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace swarm::protocol {

void Validator::note(ErrorCode code, std::string_view field, std::string_view rule) {
    if (!first_) {
        std::string text = within_ == nullptr ? "" : within_->prefix();
        first_.emplace(code, text.append(field).append(" ").append(rule));
    }
}

void Validator::require(bool holds, std::string_view field, std::string_view rule) {
    if (!holds) {
        note(ErrorCode::Malformed, field, rule);
    }
}

bool Validator::fits(std::size_t count, std::size_t max, std::string_view field) {
    if (count <= max) {
        return true;
    }
    note(
        ErrorCode::TooLarge,
        field,
        "has size " + std::to_string(count) + ", at most " + std::to_string(max) + " are allowed"
    );
    return false;
}

std::uint32_t Validator::below(std::uint32_t value, std::uint32_t bound, std::string_view field) {
    if (value < bound) {
        return value;
    }
    note(
        ErrorCode::TooLarge,
        field,
        "is " + std::to_string(value) + ", must be below " + std::to_string(bound)
    );
    return 0;
}

double Validator::finite(double value, std::string_view field) {
    const bool good = std::isfinite(value);
    require(good, field, "is not finite");
    return good ? value : 0;
}

double Validator::finite_and_not_negative(double value, std::string_view field) {
    const bool good = std::isfinite(value) && value >= 0;
    require(good, field, "is not a finite number from 0 on");
    return good ? value : 0;
}

Digest Validator::digest(const std::string& bytes, std::string_view field) {
    Digest digest;
    const bool good = bytes.size() == digest.bytes.size();
    require(good, field, "is not a SHA-256 of 32 bytes");
    if (good) {
        std::memcpy(digest.bytes.data(), bytes.data(), bytes.size());
    }
    return digest;
}

PeerId Validator::peer(const std::string& bytes, std::string_view field) {
    PeerId peer;
    constexpr std::size_t kWordBytes = sizeof(std::uint64_t);
    const bool good = bytes.size() == peer.words.size() * kWordBytes;
    require(good, field, "is not a peer id of 32 bytes");
    for (std::size_t i = 0; good && i < bytes.size(); ++i) {
        const auto byte = static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i]));
        peer.words[i / kWordBytes] |= byte << (8 * (i % kWordBytes));
    }
    return peer;
}

std::string Validator::text(const std::string& bytes, std::string_view field) {
    if (!fits(bytes.size(), kTextBytesMax, field)) {
        return {};
    }
    const bool printable =
        std::all_of(bytes.begin(), bytes.end(), [](char c) { return c >= ' ' && c <= '~'; });
    require(printable, field, "is not printable ASCII");
    return printable ? bytes : std::string();
}

Result<> Validator::outcome(std::string_view what) const {
    if (!first_) {
        return {};
    }
    return Error{
        first_->first,
        Reaction::Reject,
        std::string(what).append(": ").append(first_->second).append("; frame refused")};
}

}  // namespace swarm::protocol
