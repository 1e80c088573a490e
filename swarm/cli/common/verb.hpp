// The way of a verb from the command line to its work. Each verb adds its flags to the command
// line; when the words name the verb, it hands itself over with its options, and the caller runs
// it or, in a test, looks at the options.
// Threading: one thread, while the command line is read.
#pragma once

#include <any>
#include <functional>
#include <memory>
#include <utility>

namespace CLI {
class App;
}

namespace swarm::cli {

/// Runs a verb to its end and returns the exit code. What goes wrong is one line on stderr.
template <class Options>
using RunVerb = int (*)(const Options&);

/// The verb that a command line names, with its options.
class ChosenVerb {
 public:
    template <class Options>
    ChosenVerb(const Options& options, RunVerb<Options> run_verb)
        : options_(options), run_([options, run_verb] { return run_verb(options); }) {}

    [[nodiscard]] int run() const { return run_(); }

    /// Null: the command line names a verb with other options.
    template <class Options>
    [[nodiscard]] const Options* options() const {
        return std::any_cast<Options>(&options_);
    }

 private:
    std::any options_;
    std::function<int()> run_;
};

/// Takes the verb that the command line names.
using OnChosen = std::function<void(const ChosenVerb&)>;

/// Adds `swarm NAME`, or a verb below `parent`. Its --help ends with `examples` and the exit codes.
CLI::App& add_verb(CLI::App& parent, const char* name, const char* what, const char* examples);

/// Calls `then` when the words name `verb`, none of the verbs below it, and all flags are right.
void when_named(CLI::App& verb, std::function<void()> then);

/// Hands the verb over when the words name it. `options`: its flags write there.
template <class Options>
void when_named(
    CLI::App& verb,
    const OnChosen& on_chosen,
    std::shared_ptr<const Options> options,
    RunVerb<Options> run
) {
    when_named(verb, [on_chosen, options = std::move(options), run] {
        on_chosen(ChosenVerb(*options, run));
    });
}

}  // namespace swarm::cli
