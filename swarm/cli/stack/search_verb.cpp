// `swarm stack search`.
#include "stacking/composition/member_search.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/answer/open_stack.hpp"
#include "swarm/cli/stack/search.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/cli/terminal/printable.hpp"
#include "swarm/cli/terminal/usage.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <utility>

namespace swarm::cli {
namespace {

namespace fs = std::filesystem;
using stacking::composition::Choice;
using stacking::composition::ensemble_loss;
using stacking::composition::search_orders;
using stacking::composition::search_subsets;
using stacking::composition::StackFile;
using stacking::composition::StackMode;
using stacking::composition::TextReader;
using stacking::composition::Tries;
using stacking::composition::Try;
using stacking::composition::WindowNats;
using stacking::llama::WeightChoice;
using Texts = std::vector<std::vector<stacking::TokenId>>;

constexpr std::uint32_t kSearchWindow = 256;
constexpr std::size_t kSubsetsUsual = 1024;
constexpr std::size_t kOrdersUsual = 24;
constexpr std::size_t kShown = 10;

/// The members of the choice in its order. Figures that were measured with all of them are dropped.
StackFile with_members(const StackFile& file, const Choice& choice) {
    StackFile chosen = file;
    chosen.members.clear();
    chosen.seams.clear();
    for (const std::size_t member : choice) {
        chosen.members.push_back(file.members[member]);
    }
    return chosen;
}

/// The losses of one reader on all texts, as one list of windows.
Result<WindowNats> read_texts(TextReader& reader, const Texts& texts, std::uint32_t window) {
    WindowNats all;
    for (const auto& text : texts) {
        SWARM_TRY(WindowNats one, measure_tokens(reader, text, window));
        std::move(one.begin(), one.end(), std::back_inserter(all));
    }
    return all;
}

class StackSearch {
 public:
    StackSearch(const StackSearchOptions& options, StackFile file, Console& console)
        : options_(options), file_(std::move(file)), console_(console) {}

    Result<Tries> run() {
        SWARM_TRY(OpenStack stack, open(file_));
        for (const std::string& name : options_.texts) {
            SWARM_TRY(auto tokens, stack.read_tokens(name));
            tokens.resize(std::min<std::size_t>(tokens.size(), options_.tokens));
            texts_.push_back(std::move(tokens));
        }
        window_ = std::min(kSearchWindow, stack.context());
        return file_.mode == StackMode::Ensemble ? subsets(stack) : orders();
    }

 private:
    [[nodiscard]] Result<OpenStack> open(StackFile file) const {
        const WeightChoice choice = *stacking::llama::parse_weight_choice(options_.weights);
        SWARM_TRY(OpenStack stack, OpenStack::open(options_.file, std::move(file), choice));
        stack.compute_with(make_workers(threads_to_answer(options_.threads)));
        return stack;
    }

    Result<Tries> subsets(OpenStack& stack) {
        std::vector<WindowNats> nats;
        std::vector<double> priors;
        for (std::size_t i = 0; i < file_.members.size(); ++i) {
            console_.status("reading with " + printable(file_.members[i].model));
            SWARM_TRY(const auto reader, stack.member_reader(i));
            SWARM_TRY(WindowNats own, read_texts(*reader, texts_, window_));
            nats.push_back(std::move(own));
            priors.push_back(file_.members[i].prior);
        }
        const std::size_t budget = options_.budget > 0 ? options_.budget : kSubsetsUsual;
        return search_subsets(nats.size(), budget, [&](const Choice& choice) {
            return ensemble_loss(nats, priors, choice);
        });
    }

    Result<Tries> orders() {
        const std::size_t budget = options_.budget > 0 ? options_.budget : kOrdersUsual;
        std::size_t made = 0;
        return search_orders(
            file_.members.size(),
            budget,
            [&](const Choice& choice) -> Result<double> {
                console_.status("try " + std::to_string(++made) + " of " + std::to_string(budget));
                SWARM_TRY(OpenStack stack, open(with_members(file_, choice)));
                SWARM_TRY(const auto reader, stack.reader());
                SWARM_TRY(const WindowNats nats, read_texts(*reader, texts_, window_));
                // The only member of an ensemble has the loss of its own tokens.
                return ensemble_loss(std::span(&nats, 1), std::vector<double>{1}, {0});
            }
        );
    }

    const StackSearchOptions& options_;
    StackFile file_;
    Console& console_;
    Texts texts_;
    std::uint32_t window_ = 0;
};

std::string names_of(const StackFile& file, const Choice& choice) {
    std::string names;
    for (const std::size_t member : choice) {
        names += (names.empty() ? "" : ", ") + printable(member_text(file.members[member]));
    }
    return names;
}

/// The members as a file in another folder names them.
StackFile as_seen_from(const fs::path& folder, const fs::path& file, StackFile stack) {
    std::error_code ignored;
    if (fs::absolute(folder, ignored) == fs::absolute(file, ignored).parent_path()) {
        return stack;
    }
    for (auto& member : stack.members) {
        const fs::path found = located_member(file, member.model);
        if (fs::exists(found, ignored)) {
            member.model = fs::absolute(found, ignored).lexically_normal().string();
        }
    }
    return stack;
}

Result<> search(const StackSearchOptions& options, Console& console) {
    std::error_code ignored;
    if (!options.out.empty() && fs::exists(options.out, ignored)) {
        return usage(options.out + " is there already; name another file");
    }
    SWARM_TRY(StackFile file, read_stack(options.file));
    if (file.mode == StackMode::Bridge || !file.clusters.empty()) {
        return usage(
            options.file + (file.clusters.empty() ? " is a bridge, which has one order"
                                                  : " has clusters, which choose the members")
        );
    }
    SWARM_TRY(const Tries tries, StackSearch(options, file, console).run());
    console.settle();
    std::printf("%zu tries, nats per token:\n", tries.size());
    for (std::size_t i = 0; i < std::min(kShown, tries.size()); ++i) {
        std::printf("%10.6f  %s\n", tries[i].loss, names_of(file, tries[i].members).c_str());
    }
    if (options.out.empty()) {
        return {};
    }
    const fs::path folder = fs::absolute(options.out, ignored).parent_path();
    StackFile best = as_seen_from(folder, options.file, with_members(file, tries.front().members));
    best.name = fs::path(options.out).stem().string();
    SWARM_TRY(write_stack(options.out, best));
    std::printf("%s\n", printable(options.out).c_str());
    return {};
}

}  // namespace

int search_stack(const StackSearchOptions& options) {
    Console console;
    const Result<> done = search(options, console);
    return done ? kDone : end_with(console, done.error());
}

}  // namespace swarm::cli
