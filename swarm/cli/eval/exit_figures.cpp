#include "swarm/cli/eval/exit_figures.hpp"

#include "stages/compute/top_tokens.hpp"
#include "swarm/base/check.hpp"

#include <cmath>
#include <numeric>

namespace swarm::cli {
namespace {

/// The answer of one head about one token.
struct Said {
    double best = -1;   // probability of its best token; below 0: its logits are no numbers
    double target = 0;  // log-probability of the token that follows
};

Said said_by(std::span<const float> logits, stacking::TokenId target) {
    const auto best = stages::top_tokens(logits, 1);
    if (best.empty()) {
        return {};
    }
    return {std::exp(best.front().log_probability), stages::log_probability(logits, target)};
}

}  // namespace

std::uint64_t ExitFigures::all() const {
    return std::accumulate(tokens.begin(), tokens.end(), std::uint64_t{0});
}

double ExitFigures::loss() const {
    return all() > 0 ? nats / static_cast<double>(all()) : 0;
}

double ExitFigures::share(std::size_t place) const {
    return all() > 0 ? static_cast<double>(tokens[place]) / static_cast<double>(all()) : 0;
}

double ExitFigures::early() const {
    return all() > 0 ? 1 - share(tokens.size() - 1) : 0;
}

std::vector<ExitFigures> no_exits(std::span<const double> thresholds, std::size_t exits) {
    std::vector<ExitFigures> figures;
    for (const double threshold : thresholds) {
        figures.push_back({threshold, std::vector<std::uint64_t>(exits + 1)});
    }
    return figures;
}

void add_exits(std::vector<ExitFigures>& figures, const SaidAtExits& said) {
    SWARM_ASSERT(said.at_end.size() == said.targets.size());
    if (figures.empty()) {
        return;
    }
    const std::size_t rows = said.targets.size();
    std::vector<Said> exits(said.logits.size());
    for (std::size_t row = 0; row < rows; ++row) {
        for (std::size_t exit = 0; exit < exits.size(); ++exit) {
            const std::span<const float> logits(said.logits[exit]);
            const std::size_t width = logits.size() / rows;
            exits[exit] = said_by(logits.subspan(row * width, width), said.targets[row]);
        }
        for (ExitFigures& one : figures) {
            SWARM_ASSERT(one.tokens.size() == exits.size() + 1);
            std::size_t place = 0;
            while (place < exits.size() && exits[place].best < one.threshold) {
                ++place;
            }
            ++one.tokens[place];
            one.nats -= place < exits.size() ? exits[place].target : said.at_end[row];
        }
    }
}

void add_exits(std::vector<ExitFigures>& figures, const std::vector<ExitFigures>& more) {
    if (figures.empty()) {
        figures = more;
        return;
    }
    SWARM_ASSERT(figures.size() == more.size());
    for (std::size_t i = 0; i < figures.size(); ++i) {
        figures[i].nats += more[i].nats;
        for (std::size_t place = 0; place < figures[i].tokens.size(); ++place) {
            figures[i].tokens[place] += more[i].tokens[place];
        }
    }
}

std::vector<double> tried_thresholds() {
    constexpr int kParts = 100;
    std::vector<double> thresholds;
    for (int part = 1; part < kParts; ++part) {
        thresholds.push_back(static_cast<double>(part) / kParts);
    }
    return thresholds;
}

std::optional<ExitFigures> most_early(
    std::span<const ExitFigures> tried, double loss_at_end, double cost
) {
    const ExitFigures* best = nullptr;
    for (const ExitFigures& one : tried) {
        const bool is_cheap = one.loss() <= loss_at_end * (1 + cost);
        if (is_cheap && (best == nullptr || one.early() > best->early())) {
            best = &one;
        }
    }
    return best == nullptr ? std::nullopt : std::optional(*best);
}

}  // namespace swarm::cli
