// `swarm stack new`, `add`, `remove`, `measure` and `show`.
#include "stacking/composition/losses.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/answer/open_stack.hpp"
#include "swarm/cli/stack/stack.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/cli/terminal/printable.hpp"
#include "swarm/cli/terminal/usage.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>

namespace swarm::cli {
namespace {

namespace fs = std::filesystem;
using stacking::composition::judge;
using stacking::composition::Loss;
using stacking::composition::Seam;
using stacking::composition::StackFile;
using stacking::composition::StackMember;
using stacking::composition::TextReader;
using stacking::llama::WeightChoice;

constexpr std::uint32_t kWindow = 256;

/// Reads MODEL, or MODEL@A-B, which names its layers A to B. A file that has the whole text for a
/// name is a model.
Result<StackMember> member_of(const std::string& text, double prior) {
    const std::size_t at = text.rfind('@');
    std::error_code ignored;
    if (at == std::string::npos || fs::exists(text, ignored)) {
        return StackMember{text, prior, {}};
    }
    const std::string_view range = std::string_view(text).substr(at + 1);
    if (const auto layers = stacking::composition::parse_layers(range)) {
        return StackMember{text.substr(0, at), prior, layers};
    }
    if (range.find_first_not_of("0123456789-") == std::string_view::npos) {
        return usage(
            printable(text) +
            " names no layers: MODEL@A-B wants the first and the last one, counted from 0"
        );
    }
    return StackMember{text, prior, {}};
}

/// The path as STACK.toml names it, from its own folder.
std::string beside(const std::string& path, const std::string& file) {
    if (path.empty() || fs::path(path).is_absolute()) {
        return path;
    }
    std::error_code ignored;
    const fs::path folder = fs::absolute(file, ignored).parent_path();
    return fs::absolute(path, ignored).lexically_relative(folder).string();
}

std::string name_of(const StackMember& member) {
    return printable(member_text(member));
}

void print_seam(const StackFile& stack, const Seam& seam) {
    std::printf(
        "%s, %llu tokens, nats per token:\n",
        printable(seam.text).c_str(),
        static_cast<unsigned long long>(seam.tokens)
    );
    for (std::size_t i = 0; i < seam.members.size(); ++i) {
        std::printf("  %8.4f  %s\n", seam.members[i], printable(alone_text(stack, i)).c_str());
    }
    std::printf("  %8.4f  the stack\n", seam.stack);
}

/// Returns false when the gate refuses the stack.
bool print_verdict(const StackFile& stack) {
    const auto verdict = judge(stack);
    if (!verdict) {
        std::printf("not measured yet: swarm stack measure --text FILE\n");
        return true;
    }
    const std::string best = printable(alone_text(stack, verdict->best));
    std::printf(
        "%s: %.4f nats per token in all, %.4f by %s alone\n",
        verdict->passes() ? "passes" : "refused",
        verdict->stack,
        verdict->best_member,
        best.c_str()
    );
    return verdict->passes();
}

/// Writes the file when the members can be opened and fit each other. Returns the exit code.
int write_checked(const std::string& file, const StackFile& stack, Console& console) {
    if (const auto readable = stacking::composition::parse_stack(to_toml(stack), file); !readable) {
        return end_with(console, readable.error());
    }
    const auto opened = OpenStack::open(file, stack, WeightChoice::as_is());
    if (!opened) {
        return end_with(console, opened.error());
    }
    if (const auto written = write_stack(file, stack); !written) {
        return end_with(console, written.error());
    }
    std::printf(
        "%s: %zu members, %s\n",
        file.c_str(),
        stack.members.size(),
        std::string(to_text(stack.mode)).c_str()
    );
    print_verdict(stack);
    return kDone;
}

Result<Seam> measure_text(
    const StackMeasureOptions& options, const std::string& name, OpenStack& stack
) {
    SWARM_TRY(auto tokens, stack.read_tokens(name));
    std::vector<stacking::TokenId> beginning;
    if (stack.priors().depend_on_text()) {
        // The members are chosen by a beginning that is not scored.
        const std::size_t read = std::min<std::size_t>(kWindow, tokens.size() / 2);
        beginning.assign(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(read));
        tokens.erase(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(read));
    }
    tokens.resize(std::min<std::size_t>(tokens.size(), options.tokens));
    const auto loss_of = [&](Result<std::unique_ptr<TextReader>> opened) -> Result<Loss> {
        SWARM_TRY(const std::unique_ptr<TextReader> reader, std::move(opened));
        const std::uint32_t window =
            options.window > 0 ? options.window : std::min(kWindow, reader->context());
        return measure_loss(*reader, tokens, window);
    };
    Seam seam;
    seam.text = name;
    std::map<std::string, double> known;  // by what is read alone
    for (std::size_t i = 0; i < stack.file().members.size(); ++i) {
        const std::string alone = alone_text(stack.file(), i);
        if (!known.contains(alone)) {
            SWARM_TRY(const Loss loss, loss_of(stack.member_reader(i)));
            known[alone] = loss.nats_per_token;
        }
        seam.members.push_back(known[alone]);
    }
    SWARM_TRY(const Loss loss, loss_of(stack.reader(beginning)));
    seam.stack = loss.nats_per_token;
    seam.tokens = loss.tokens;
    return seam;
}

}  // namespace

int new_stack(const StackNewOptions& options) {
    Console console;
    std::error_code ignored;
    if (fs::exists(options.file, ignored)) {
        return end_with(
            console, usage(options.file + " is there already; add to it, or remove it")
        );
    }
    if (!options.priors.empty() && options.priors.size() != options.members.size()) {
        return end_with(console, usage("--prior wants one number per --member"));
    }
    StackFile stack;
    stack.name = fs::path(options.file).stem().string();
    stack.mode = *stacking::composition::parse_mode(options.mode);
    stack.clusters = beside(options.clusters, options.file);
    stack.experts = options.experts;
    for (std::size_t i = 0; i < options.members.size(); ++i) {
        const double prior = options.priors.empty() ? 1 : options.priors[i];
        auto member = member_of(options.members[i], prior);
        if (!member) {
            return end_with(console, member.error());
        }
        stack.members.push_back(*std::move(member));
    }
    return write_checked(options.file, stack, console);
}

int add_to_stack(const StackAddOptions& options) {
    Console console;
    Result<StackFile> stack = read_stack(options.file);
    if (!stack) {
        return end_with(console, stack.error());
    }
    if (!stack->clusters.empty()) {
        return end_with(
            console, usage(options.file + " has clusters, one for each of its members")
        );
    }
    auto member = member_of(options.member, options.prior);
    if (!member) {
        return end_with(console, member.error());
    }
    stack->members.push_back(*std::move(member));
    stack->seams.clear();
    return write_checked(options.file, *stack, console);
}

int remove_from_stack(const StackRemoveOptions& options) {
    Console console;
    Result<StackFile> stack = read_stack(options.file);
    if (!stack) {
        return end_with(console, stack.error());
    }
    const auto is_it = [&](const StackMember& member) {
        return name_of(member) == options.member || member.model == options.member;
    };
    const auto found = std::ranges::count_if(stack->members, is_it);
    if (found != 1) {
        return end_with(
            console,
            usage(
                options.file + (found == 0 ? " has no member " : " has several members ") +
                printable(options.member)
            )
        );
    }
    std::erase_if(stack->members, is_it);
    stack->seams.clear();
    return write_checked(options.file, *stack, console);
}

int measure_stack(const StackMeasureOptions& options) {
    Console console;
    Result<StackFile> file = read_stack(options.file);
    if (!file) {
        return end_with(console, file.error());
    }
    auto stack = OpenStack::open(
        options.file, *file, *stacking::llama::parse_weight_choice(options.weights)
    );
    if (!stack) {
        return end_with(console, stack.error());
    }
    stack->compute_with(make_workers(threads_to_answer(options.threads)));
    for (const std::string& text : options.texts) {
        Result<Seam> seam = measure_text(options, text, *stack);
        if (!seam) {
            return end_with(console, seam.error());
        }
        print_seam(*file, *seam);
        std::fflush(stdout);
        std::erase_if(file->seams, [&](const Seam& old) { return old.text == text; });
        file->seams.push_back(std::move(*seam));
    }
    if (const auto written = write_stack(options.file, *file); !written) {
        return end_with(console, written.error());
    }
    return print_verdict(*file) ? kDone : kRejected;
}

int show_stack(const StackShowOptions& options) {
    Console console;
    const Result<StackFile> stack = read_stack(options.file);
    if (!stack) {
        return end_with(console, stack.error());
    }
    std::printf(
        "%s: %s of\n", printable(stack->name).c_str(), std::string(to_text(stack->mode)).c_str()
    );
    for (const auto& member : stack->members) {
        std::printf("  %s, prior %g\n", name_of(member).c_str(), member.prior);
    }
    for (const Seam& seam : stack->seams) {
        print_seam(*stack, seam);
    }
    print_verdict(*stack);
    return kDone;
}

}  // namespace swarm::cli
