#include "swarm/run/training/batch_growth.hpp"

#include <algorithm>

namespace swarm::run {
namespace {

bool grows(const RunConfig& config) {
    return config.first_microbatches > 0 && config.grow_steps > 0;
}

/// The sum of floor(i x factor / divisor) over i from 0 to count - 1, by the algorithm of Euclid:
/// the points below a line, counted by rows once the line is steep no more.
std::uint64_t sum_of_floors(std::uint64_t count, std::uint64_t factor, std::uint64_t divisor) {
    std::uint64_t sum = 0;
    std::uint64_t offset = 0;
    while (count > 0) {
        sum += count * (count - 1) / 2 * (factor / divisor) + count * (offset / divisor);
        factor %= divisor;
        offset %= divisor;
        const std::uint64_t top = factor * count + offset;
        count = top / divisor;
        offset = top % divisor;
        std::swap(factor, divisor);
    }
    return sum;
}

}  // namespace

std::optional<std::pair<std::string, std::string>> growth_fault(const RunConfig& config) {
    if (config.first_microbatches == 0) {
        return std::nullopt;
    }
    if (config.first_microbatches > config.microbatches) {
        return std::pair(
            std::string("run.first_microbatches"),
            "is " + std::to_string(config.first_microbatches) +
                ", must be at most run.microbatches (" + std::to_string(config.microbatches) +
                "), up to which the number grows"
        );
    }
    if (config.grow_steps == 0) {
        return std::pair(
            std::string("run.grow_steps"),
            std::string("must be at least 1 where run.first_microbatches is given")
        );
    }
    if (config.mode == SyncMode::Sparse) {
        return std::pair(
            std::string("run.first_microbatches"),
            std::string("must be left out where run.mode is sparse")
        );
    }
    return std::nullopt;
}

std::uint32_t microbatches_of(const RunConfig& config, std::uint64_t step) {
    if (!grows(config) || step >= config.grow_steps) {
        return config.microbatches;
    }
    const std::uint64_t more = config.microbatches - config.first_microbatches;
    return config.first_microbatches + static_cast<std::uint32_t>(more * step / config.grow_steps);
}

std::uint64_t microbatches_before(const RunConfig& config, std::uint64_t step) {
    if (!grows(config)) {
        return step * config.microbatches;
    }
    const std::uint64_t growing = std::min<std::uint64_t>(step, config.grow_steps);
    const std::uint64_t more = config.microbatches - config.first_microbatches;
    return growing * config.first_microbatches + sum_of_floors(growing, more, config.grow_steps) +
           (step - growing) * config.microbatches;
}

std::uint64_t tokens_of(const RunConfig& config, std::uint64_t step) {
    return std::uint64_t{microbatches_of(config, step)} * config.batch * config.model.context;
}

std::uint64_t steps_with_tokens(const RunConfig& config, std::uint64_t tokens) {
    const std::uint64_t each = std::uint64_t{config.batch} * config.model.context;
    const std::uint64_t wanted = (tokens + each - 1) / each;
    const std::uint64_t growing = grows(config) ? config.grow_steps : 0;
    const std::uint64_t grown = microbatches_before(config, growing);
    if (wanted >= grown) {
        return growing + (wanted - grown + config.microbatches - 1) / config.microbatches;
    }
    std::uint64_t low = 0;  // the answer lies in [low, high]
    std::uint64_t high = growing;
    while (low < high) {
        const std::uint64_t middle = low + (high - low) / 2;
        if (microbatches_before(config, middle) >= wanted) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

}  // namespace swarm::run
