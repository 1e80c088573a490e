#include "stacking/composition/member_search.hpp"

#include "stacking/composition/running_bayes.hpp"
#include "swarm/base/check.hpp"
#include "swarm/base/try.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

namespace stacking::composition {

using swarm::Result;

namespace {

using LossOf = std::function<Result<double>(const Choice&)>;

/// Makes tries within a budget, and keeps them.
class Search {
 public:
    Search(std::size_t budget, const LossOf& loss_of) : left_(budget), loss_of_(loss_of) {}

    /// Returns nullopt when the budget is used up.
    Result<std::optional<double>> make(const Choice& choice) {
        if (left_ == 0) {
            return std::optional<double>();
        }
        --left_;
        SWARM_TRY(const double loss, loss_of_(choice));
        tries_.push_back({choice, loss});
        return std::optional(loss);
    }

    Tries finish() {
        std::ranges::stable_sort(tries_, {}, &Try::loss);
        return std::move(tries_);
    }

 private:
    std::size_t left_;
    const LossOf& loss_of_;
    Tries tries_;
};

/// Goes on from the best of the extensions that `extend` lists, while one is better than what is
/// there.
Result<Tries> grow(
    std::size_t budget,
    const LossOf& loss_of,
    const std::function<std::vector<Choice>(const Choice&)>& extend
) {
    Search search(budget, loss_of);
    std::optional<Try> best;
    for (bool grows = true; grows;) {
        grows = false;
        const Choice from = best ? best->members : Choice{};
        for (const Choice& choice : extend(from)) {
            SWARM_TRY(const std::optional<double> loss, search.make(choice));
            if (!loss) {
                return search.finish();
            }
            if (!best || *loss < best->loss) {
                best = Try{choice, *loss};
                grows = true;
            }
        }
    }
    return search.finish();
}

std::vector<std::size_t> missing(const Choice& from, std::size_t members) {
    std::vector<std::size_t> others;
    for (std::size_t member = 0; member < members; ++member) {
        if (std::ranges::find(from, member) == from.end()) {
            others.push_back(member);
        }
    }
    return others;
}

/// Whether n! is at most `most`.
bool has_few_orders(std::size_t n, std::size_t most) {
    std::size_t orders = 1;
    for (std::size_t i = 2; i <= n && orders <= most; ++i) {
        orders *= i;
    }
    return orders <= most;
}

}  // namespace

double ensemble_loss(
    std::span<const WindowNats> member_nats, std::span<const double> priors, const Choice& chosen
) {
    SWARM_ASSERT(!chosen.empty() && priors.size() == member_nats.size());
    std::vector<double> own_priors;
    for (const std::size_t member : chosen) {
        own_priors.push_back(priors[member]);
    }
    RunningBayes weights(own_priors);
    double nats = 0;
    std::uint64_t tokens = 0;
    std::vector<double> given(chosen.size());
    std::vector<double> terms(chosen.size());
    for (std::size_t window = 0; window < member_nats.front().size(); ++window) {
        weights.restart();
        const std::size_t count = member_nats.front()[window].size();
        for (std::size_t token = 0; token < count; ++token) {
            for (std::size_t i = 0; i < chosen.size(); ++i) {
                given[i] = -member_nats[chosen[i]][window][token];
                terms[i] = weights.log_weights()[i] + given[i];
            }
            nats -= log_sum(terms);
            weights.observe(given);
        }
        tokens += count;
    }
    return nats / static_cast<double>(tokens);
}

Tries search_subsets(
    std::size_t members, std::size_t budget, const std::function<double(const Choice&)>& loss_of
) {
    const LossOf never_fails = [&](const Choice& choice) -> Result<double> {
        return loss_of(choice);
    };
    if (members < 64 && (std::uint64_t{1} << members) - 1 <= budget) {
        Search search(budget, never_fails);
        for (std::uint64_t subset = 1; subset >> members == 0; ++subset) {
            Choice choice;
            for (std::size_t member = 0; member < members; ++member) {
                if ((subset >> member) % 2 == 1) {
                    choice.push_back(member);
                }
            }
            static_cast<void>(search.make(choice));
        }
        return search.finish();
    }
    const auto extend = [&](const Choice& from) {
        std::vector<Choice> choices;
        for (const std::size_t member : missing(from, members)) {
            Choice choice = from;
            choice.push_back(member);
            std::ranges::sort(choice);
            choices.push_back(std::move(choice));
        }
        return choices;
    };
    return *grow(budget, never_fails, extend);
}

Result<Tries> search_orders(std::size_t members, std::size_t budget, const LossOf& loss_of) {
    if (has_few_orders(members, budget)) {
        Search search(budget, loss_of);
        Choice order(members);
        std::iota(order.begin(), order.end(), std::size_t{0});
        do {
            SWARM_TRY(const std::optional<double> loss, search.make(order));
            SWARM_ASSERT(loss.has_value());
        } while (std::next_permutation(order.begin(), order.end()));
        return search.finish();
    }
    const auto extend = [&](const Choice& from) {
        std::vector<Choice> choices;
        for (const std::size_t member : missing(from, members)) {
            for (std::size_t place = 0; place <= from.size(); ++place) {
                Choice choice = from;
                choice.insert(choice.begin() + static_cast<std::ptrdiff_t>(place), member);
                choices.push_back(std::move(choice));
            }
        }
        return choices;
    };
    return grow(budget, loss_of, extend);
}

}  // namespace stacking::composition
