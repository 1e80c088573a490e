#include "swarm/cli/judge/judge_report.hpp"

#include "swarm/cli/plot/line_plot.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

namespace swarm::cli {
namespace {

namespace json = boost::json;

constexpr double kMegabyte = 1e6;

std::string number(const char* format, double value) {
    char text[48];
    std::snprintf(text, sizeof text, format, value);
    return text;
}

std::vector<double> means_of(const JudgedRecipe& recipe) {
    std::vector<double> means;
    for (const Judged& seed : recipe.seeds) {
        means.push_back(mean_loss(seed));
    }
    return means;
}

std::vector<double> losses_in(const JudgedRecipe& recipe, std::size_t domain) {
    std::vector<double> losses;
    for (const Judged& seed : recipe.seeds) {
        losses.push_back(seed.losses[domain]);
    }
    return losses;
}

double speed_of(const JudgedRecipe& recipe) {
    std::vector<double> speeds;
    for (const Judged& seed : recipe.seeds) {
        speeds.push_back(seed.tokens_per_s);
    }
    return spread_of(speeds).mean;
}

/// The last column of a row: the gate's verdict, and what exits do.
std::string verdict_of(const JudgedRecipe& recipe) {
    std::string verdict = passes_gate(recipe) ? "passes" : "refused";
    std::vector<double> shares;
    std::vector<double> losses;
    for (const Judged& seed : recipe.seeds) {
        if (seed.early) {
            shares.push_back(seed.early->share);
            losses.push_back(seed.early->more_loss);
        }
    }
    if (!shares.empty()) {
        verdict += number(", %.0f %%", 100 * spread_of(shares).mean) +
                   number(" leave early for %.0f %%", 100 * kEarlyCost) +
                   number(": %+.4f", spread_of(losses).mean);
    }
    return verdict + (recipe.left_out.empty() ? "" : ", " + recipe.left_out);
}

std::string row_of(const JudgedRecipe& recipe, std::size_t domains) {
    std::string row = "| " + recipe.name + " | " + recipe.about + " |";
    if (recipe.seeds.empty()) {
        for (std::size_t i = 0; i < domains + 5; ++i) {
            row += " - |";
        }
        return row + " " + recipe.left_out + " |\n";
    }
    for (std::size_t domain = 0; domain < domains; ++domain) {
        row += number(" %.4f |", spread_of(losses_in(recipe, domain)).mean);
    }
    const Spread mean = spread_of(means_of(recipe));
    row += number(" %.4f", mean.mean) + number(" ± %.4f |", mean.deviation);
    row += " " + std::to_string(recipe.training_tokens) + " |";
    row += number(" %.1f |", recipe.seeds.front().sent_bytes / kMegabyte);
    row += " " + std::to_string(recipe.seeds.front().parameters) + " |";
    row += number(" %.0f |", speed_of(recipe));
    return row + " " + verdict_of(recipe) + " |\n";
}

json::value early_or_null(const Judged& seed, double EarlyExits::*figure) {
    return seed.early ? json::value((*seed.early).*figure) : json::value(nullptr);
}

}  // namespace

double mean_loss(const Judged& judged) {
    const double sum = std::accumulate(judged.losses.begin(), judged.losses.end(), 0.0);
    return sum / static_cast<double>(judged.losses.size());
}

Spread spread_of(const std::vector<double>& values) {
    const auto count = static_cast<double>(values.size());
    Spread spread;
    spread.mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
    double squares = 0;
    for (const double value : values) {
        squares += (value - spread.mean) * (value - spread.mean);
    }
    spread.deviation = values.size() > 1 ? std::sqrt(squares / (count - 1)) : 0;
    return spread;
}

bool passes_gate(const JudgedRecipe& recipe) {
    constexpr double kRounding = 1e-6;
    return std::ranges::all_of(recipe.seeds, [](const Judged& seed) {
        return mean_loss(seed) <= seed.best_member + kRounding;
    });
}

std::string judge_table(const JudgeReport& report) {
    std::string table = "| recipe | what it is |";
    std::string line = "|---|---|";
    for (const std::string& domain : report.domains) {
        table += " " + domain + " |";
        line += "---|";
    }
    table +=
        " mean | training tokens | MB sent per machine | parameters per token | tokens/s | gate "
        "|\n" +
        line + "---|---|---|---|---|---|\n";
    for (const JudgedRecipe& recipe : report.recipes) {
        table += row_of(recipe, report.domains.size());
    }
    return table;
}

std::string judge_json(const JudgeReport& report) {
    json::array recipes;
    for (const JudgedRecipe& recipe : report.recipes) {
        json::array seeds;
        for (const Judged& seed : recipe.seeds) {
            json::object one{
                {"losses", json::array(seed.losses.begin(), seed.losses.end())},
                {"mean", mean_loss(seed)},
                {"best_member", seed.best_member},
                {"sent_bytes", seed.sent_bytes},
                {"parameters_per_token", seed.parameters},
                {"tokens_per_s", seed.tokens_per_s},
                {"early_probability", early_or_null(seed, &EarlyExits::probability)},
                {"early_share", early_or_null(seed, &EarlyExits::share)},
                {"early_more_loss", early_or_null(seed, &EarlyExits::more_loss)}};
            seeds.push_back(std::move(one));
        }
        json::object one{
            {"recipe", recipe.name},
            {"training_tokens", recipe.training_tokens},
            {"passes", !recipe.seeds.empty() && passes_gate(recipe)}};
        one["left_out"] =
            recipe.left_out.empty() ? json::value(nullptr) : json::value(recipe.left_out);
        one["seeds"] = std::move(seeds);
        recipes.push_back(std::move(one));
    }
    json::object all{{"domains", json::array(report.domains.begin(), report.domains.end())}};
    all["recipes"] = std::move(recipes);
    return json::serialize(all) + "\n";
}

std::string judge_plot(const JudgeReport& report) {
    LinePlot plot;
    std::string names;
    for (std::size_t i = 0; i < report.domains.size(); ++i) {
        names += std::to_string(i + 1) + " " + report.domains[i] + ", ";
    }
    plot.title = "Held-out loss of each recipe";
    plot.x_name = names + std::to_string(report.domains.size() + 1) + " the mean";
    plot.y_name = "nats per token";
    for (const JudgedRecipe& recipe : report.recipes) {
        if (recipe.seeds.empty()) {
            continue;
        }
        PlotLine line{recipe.name, {}};
        for (std::size_t domain = 0; domain < report.domains.size(); ++domain) {
            const double loss = spread_of(losses_in(recipe, domain)).mean;
            line.points.push_back({static_cast<double>(domain + 1), loss});
        }
        const double mean = spread_of(means_of(recipe)).mean;
        line.points.push_back({static_cast<double>(report.domains.size() + 1), mean});
        plot.lines.push_back(std::move(line));
    }
    return to_svg(plot);
}

}  // namespace swarm::cli
