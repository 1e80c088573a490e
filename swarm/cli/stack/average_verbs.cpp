// `swarm stack average` and `soup`.
#include "stacking/composition/soup.hpp"
#include "swarm/base/durable_folder.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/stack/average.hpp"
#include "swarm/cli/stack/average_members.hpp"
#include "swarm/cli/stack/fisher.hpp"
#include "swarm/cli/stack/held_out.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/cli/terminal/printable.hpp"

#include <cmath>
#include <cstdio>
#include <numeric>
#include <utility>

namespace swarm::cli {
namespace {

using stacking::composition::SoupStep;
using stacking::models::ModelSource;

/// Measures each member alone. An error names it.
Result<std::vector<double>> losses_alone(
    const AverageMembers& members, const HeldOut& held_out, Console& console
) {
    std::vector<double> losses;
    for (std::size_t i = 0; i < members.models.size(); ++i) {
        const std::string& name = members.names[i];
        const auto loss = held_out.loss_of(*members.models[i], name, console);
        if (!loss || !std::isfinite(*loss)) {
            const ErrorCode code = loss ? ErrorCode::NotFinite : loss.error().code;
            return Error{
                code,
                Reaction::Reject,
                name + ": " + (loss ? "its loss is no number" : loss.error().detail)};
        }
        losses.push_back(*loss);
    }
    return losses;
}

Result<> soup(const StackSoupOptions& options, Console& console) {
    SWARM_TRY(check_free(options.folder));
    SWARM_TRY(const AverageMembers members, open_members(options.models));
    SWARM_TRY(
        const HeldOut held_out,
        HeldOut::read(options.held_out, members.tokenizer, members.context(), console)
    );
    SWARM_TRY(const std::vector<double> losses, losses_alone(members, held_out, console));
    const auto uniform = [&](std::span<const std::size_t> chosen) {
        return members.average(chosen, std::vector<double>(chosen.size(), 1));
    };
    const auto together = [&](std::span<const std::size_t> chosen) -> Result<double> {
        SWARM_TRY(const ModelSource model, uniform(chosen));
        const std::string name = "with " + members.names[chosen.back()];
        return held_out.loss_of(model, name, console);
    };
    std::printf(
        "%llu held-out tokens, nats per token:\n     alone    in soup\n",
        static_cast<unsigned long long>(held_out.tokens())
    );
    const auto tell = [&](const SoupStep& step) {
        std::printf(
            "%10.6f %10.6f  %s  %s\n",
            step.alone,
            step.together,
            step.kept ? "kept" : "left",
            printable(members.names[step.model]).c_str()
        );
        std::fflush(stdout);
    };
    SWARM_TRY(const auto cooked, stacking::composition::greedy_soup(losses, together, tell));
    std::printf(
        "%zu of %zu models, %.6f nats per token\n", cooked.models.size(), losses.size(), cooked.loss
    );
    SWARM_TRY(const ModelSource model, uniform(cooked.models));
    return members.write(model, options.folder, console);
}

/// An average, how much each member counts in it, and its loss on the texts, if they were asked.
struct Averaged {
    ModelSource model;
    std::vector<double> weights;
    std::vector<double> losses;
};

Result<Averaged> average_by_weights(
    const StackAverageOptions& options, const AverageMembers& members, Console& console
) {
    std::vector<double> losses;
    std::vector<double> weights = options.weights;
    if (options.by == "loss") {
        SWARM_TRY(
            const HeldOut held_out,
            HeldOut::read(options.held_out, members.tokenizer, members.context(), console)
        );
        SWARM_TRY(losses, losses_alone(members, held_out, console));
        weights = stacking::composition::loss_weights(losses);
    } else if (weights.empty()) {
        weights.assign(members.models.size(), 1);
    }
    SWARM_TRY(weights, stacking::models::normalised(weights));
    std::vector<std::size_t> all(weights.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    SWARM_TRY(ModelSource model, members.average(all, weights));
    return Averaged{std::move(model), std::move(weights), std::move(losses)};
}

Result<Averaged> make_average(
    const StackAverageOptions& options, const AverageMembers& members, Console& console
) {
    if (options.by != "fisher") {
        return average_by_weights(options, members, console);
    }
    SWARM_TRY(auto made, average_by_fisher(members, options.held_out, console));
    auto& [model, weights] = made.average;
    return Averaged{std::move(model), std::move(weights), std::move(made.losses)};
}

}  // namespace

Result<> write_average_model(const StackAverageOptions& options, Console& console) {
    SWARM_TRY(check_free(options.folder));
    SWARM_TRY(const AverageMembers members, open_members(options.models));
    SWARM_TRY(const Averaged made, make_average(options, members, console));
    for (std::size_t i = 0; i < made.weights.size(); ++i) {
        std::printf("  %.6f", made.weights[i]);
        if (!made.losses.empty()) {
            std::printf("  %10.6f nats per token", made.losses[i]);
        }
        std::printf("  %s\n", printable(members.names[i]).c_str());
    }
    std::fflush(stdout);
    return members.write(made.model, options.folder, console);
}

int average_models(const StackAverageOptions& options) {
    Console console;
    const Result<> done = write_average_model(options, console);
    return done ? kDone : end_with(console, done.error());
}

int cook_soup(const StackSoupOptions& options) {
    Console console;
    const Result<> done = soup(options, console);
    return done ? kDone : end_with(console, done.error());
}

}  // namespace swarm::cli
