// The table of `swarm stack judge`: losses of each recipe per domain, and what they cost.
// Threading: values and pure functions. Units: losses in nats per token.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace swarm::cli {

/// Early exits may add so much to the loss, as a part of it.
inline constexpr double kEarlyCost = 0.01;

/// The most tokens that may leave a model early at that cost; none where each probability costs
/// more.
struct EarlyExits {
    double share = 0;        // tokens that do, out of all
    double more_loss = 0;    // loss of all answers then, less that of the last layer's
    double probability = 1;  // an exit answers if its best token has at least this one
};

/// One recipe with one seed.
struct Judged {
    std::vector<double> losses;    // by domain
    double best_member = 0;        // mean loss of the best member alone
    std::uint64_t parameters = 0;  // that one token meets
    double tokens_per_s = 0;       // read in this process
    std::optional<EarlyExits> early{};  // for a model with exits
    double sent_bytes = 0;              // by each machine while it trains (judged_bytes.hpp)
};

struct JudgedRecipe {
    std::string name;
    std::string about;
    std::uint64_t training_tokens = 0;
    std::vector<Judged> seeds;
    std::string left_out{};  // why there are fewer seeds; empty: all are there
};

struct JudgeReport {
    std::vector<std::string> domains;
    std::vector<JudgedRecipe> recipes;
};

/// Mean over the domains; REQUIRES: at least one.
double mean_loss(const Judged& judged);

/// Mean and standard deviation over the seeds; the deviation of one seed is 0.
struct Spread {
    double mean = 0;
    double deviation = 0;
};

Spread spread_of(const std::vector<double>& values);

/// Whether the gate takes the stack: with each seed it is no worse than its best member.
bool passes_gate(const JudgedRecipe& recipe);

/// A table in Markdown, which people read in a terminal, too.
std::string judge_table(const JudgeReport& report);
std::string judge_json(const JudgeReport& report);
/// Lines of the recipes' losses over the domains; the last place is their mean.
std::string judge_plot(const JudgeReport& report);

}  // namespace swarm::cli
