#include "stacking/composition/running_bayes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace stacking::composition {

double log_sum(std::span<const double> logarithms) {
    const double most = *std::max_element(logarithms.begin(), logarithms.end());
    double sum = 0;
    for (const double value : logarithms) {
        sum += std::exp(value - most);
    }
    return most + std::log(sum);
}

RunningBayes::RunningBayes(std::span<const double> priors) {
    for (const double prior : priors) {
        log_weights_.push_back(std::log(prior));
    }
    normalise();
    log_priors_ = log_weights_;
}

void RunningBayes::restart() {
    log_weights_ = log_priors_;
}

void RunningBayes::observe(std::span<const double> log_probabilities) {
    for (std::size_t i = 0; i < log_weights_.size(); ++i) {
        log_weights_[i] += has(i) ? log_probabilities[i] : 0;
    }
    normalise();
}

void RunningBayes::drop(std::size_t member) {
    log_weights_[member] = -std::numeric_limits<double>::infinity();
    normalise();
}

bool RunningBayes::has(std::size_t member) const {
    return std::isfinite(log_weights_[member]);
}

void RunningBayes::normalise() {
    const double all = log_sum(log_weights_);
    for (double& weight : log_weights_) {
        weight -= all;
    }
}

}  // namespace stacking::composition
