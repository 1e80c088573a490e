#include "swarm/cli/common/flags.hpp"
#include "swarm/cli/stack/branch.hpp"

#include <CLI/CLI.hpp>
#include <cstddef>
#include <memory>

namespace swarm::cli {
namespace {

constexpr const char* kBranchExamples = R"(
examples:
  swarm stack branch runs/base --sources austen.txt code.txt letters.txt -o members
  swarm stack branch smollm2 --sources law data/medicine -o members --freeze embed,head
  swarm stack branch runs/base --sources austen.txt code.txt -o control --deal
  swarm stack branch runs/base --sources a.txt b.txt -o members --set run.steps=400
  swarm stack branch runs/base --sources a.txt b.txt -o members --fresh      # for a chain
Each member is a run of its own: swarm train members/austen.toml, on any machines and any day. The
members then make a stack (swarm stack new), or one model (swarm stack soup). A source is a text, or
a folder that swarm data build has made with the seed's tokenizer.
Without --fresh a member begins as a copy of MODEL. Choose this for an ensemble, an average or a
soup: it needs the fewest steps, and only members that begin alike have an average. With --fresh a
member has the embedding and the head of MODEL, which stay as they are, and its final norm, which
is trained on; its layers begin as random numbers. Choose this for members that shall have nothing
else in common, so that a chain of them needs no bridge; swarm stack measure says whether the chain
predicts better than its best member.)";

constexpr const char* kGrowExamples = R"(
examples:
  swarm stack grow two.toml --sources patents.txt -o members
  swarm train members/patents.toml && swarm stack add two.toml runs/patents
  swarm stack grow chain.toml --sources patents.txt -o members --fresh
The new members begin with the average of the stack's members, weighed by their priors, which is
written to members/seed. With --fresh they have the embedding and the head that all members share,
which stay as they are, the final norm of the last member, and random layers, as many as it has:
choose this for members of swarm stack branch --fresh, which have no average, and for chains.)";

constexpr std::size_t kMembersMost = 64;

/// `shared`: whose embedding and head fresh members have.
void add_members(CLI::App& app, BranchOptions& branch, const std::string& shared) {
    app.add_option("--sources", branch.sources, "what each member is trained on, one after another")
        ->type_name("TEXT|DATA")
        ->required()
        ->expected(1, kMembersMost);
    app.add_option("-o,--out", branch.folder, "an empty folder, or a new one")
        ->type_name("DIR")
        ->required();
    app.add_option("--freeze", branch.freeze, "A,B,...: tensors that stay the seed's: embed,head")
        ->delimiter(',')
        ->allow_extra_args(false);
    app.add_option(
           "--seed",
           branch.seed,
           "seed of the first member; the next has one more (1, or a new one)"
    )
        ->type_name("UINT");
    app.add_flag("--deal", branch.deal, "deal the paragraphs of all texts at random: the control");
    app.add_flag(
        "--fresh",
        branch.fresh,
        "random layers between " + shared + " embedding and head, which are frozen: for chains"
    );
    add_settings(app, "a key of the run files, such as run.steps", "KEY", branch.settings);
}

}  // namespace

void add_branch(CLI::App& stack, const OnChosen& on_chosen) {
    CLI::App& app =
        add_verb(stack, "branch", "Write run files of members that begin alike", kBranchExamples);
    const auto options = std::make_shared<StackBranchOptions>();
    app.add_option("model", options->model, kModelHelp)->type_name("MODEL")->required();
    add_members(app, options->branch, "the model's");
    when_named<StackBranchOptions>(app, on_chosen, options, branch_members);
}

void add_grow(CLI::App& stack, const OnChosen& on_chosen) {
    CLI::App& app =
        add_verb(stack, "grow", "Write run files of new members of a stack", kGrowExamples);
    const auto options = std::make_shared<StackGrowOptions>();
    app.add_option("stack", options->file, "the file of the stack")
        ->type_name("STACK.toml")
        ->required();
    add_members(app, options->branch, "the members' common");
    when_named<StackGrowOptions>(app, on_chosen, options, grow_stack);
}

}  // namespace swarm::cli
