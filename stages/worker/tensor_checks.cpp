#include "stages/worker/tensor_checks.hpp"

#include "swarm/base/token_flags.hpp"

#include <bit>
#include <limits>
#include <string>

namespace stages {

using swarm::Error;
using swarm::ErrorCode;
using swarm::Reaction;

namespace {

Error bad_token(std::uint32_t token, std::uint32_t vocabulary) {
    return {
        ErrorCode::Mismatch,
        Reaction::Reject,
        "token id " + std::to_string(token) + " is not below the vocabulary of " +
            std::to_string(vocabulary) + "; the sender runs another model"};
}

}  // namespace

// Magnitudes of floats are ordered as their bits are; infinity and NaN lie above every limit. So a
// difference of integers is negative exactly where the limit is reached, and an OR collects the
// signs.
bool all_below(std::span<const float> values, float limit) {
    constexpr std::int32_t kMagnitudeBits = 0x7fffffff;
    const std::int32_t largest_allowed = std::bit_cast<std::int32_t>(limit) - 1;
    std::int32_t signs = 0;
    for (const float value : values) {
        signs |= largest_allowed - (std::bit_cast<std::int32_t>(value) & kMagnitudeBits);
    }
    return signs >= 0;
}

swarm::Result<> check_below(std::span<const float> values, float limit, const char* what) {
    if (all_below(values, limit)) {
        return {};
    }
    std::size_t first = 0;
    while (all_below(values.subspan(first, 1), limit)) {
        ++first;
    }
    return Error{
        ErrorCode::NotFinite,
        Reaction::Reject,
        std::string(what) + " element " + std::to_string(first) + " is " +
            std::to_string(values[first]) +
            (limit == std::numeric_limits<float>::infinity()
                 ? "; drop the tensor"
                 : "; its magnitude must be below " + std::to_string(limit))};
}

swarm::Result<> check_finite(std::span<const float> values) {
    return check_below(values, std::numeric_limits<float>::infinity(), "tensor");
}

swarm::Result<> check_token_ids(std::span<const std::uint32_t> tokens, std::uint32_t vocabulary) {
    for (const std::uint32_t token : tokens) {
        if (token >= vocabulary) {
            return bad_token(token, vocabulary);
        }
    }
    return {};
}

swarm::Result<> check_training_tokens(
    std::span<const std::uint32_t> tokens, std::size_t row, std::uint32_t vocabulary
) {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        const bool is_target = i % row != 0;
        const std::uint32_t id = is_target ? swarm::token_id(tokens[i]) : tokens[i];
        if (id >= vocabulary) {
            return bad_token(id, vocabulary);
        }
    }
    return {};
}

}  // namespace stages
