#include "swarm/cli/key/key.hpp"

#include "swarm/cli/common/swarm_key.hpp"
#include "swarm/cli/terminal/console.hpp"
#include "swarm/cli/terminal/exit_code.hpp"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

namespace swarm::cli {
namespace {

constexpr const char* kExamples = R"(
examples:
  swarm key new secret.txt                    # copy it to your other machines, over a safe way
  swarm train run.toml --swarm-key secret.txt
  swarm serve --join 192.168.1.7:7117 --swarm-key secret.txt)";

}  // namespace

void add_key_verb(CLI::App& program, const OnChosen& on_chosen) {
    CLI::App& app = add_verb(program, "key", "The secret of a private run", kExamples);
    app.require_subcommand(1);
    CLI::App& made = add_verb(app, "new", "Write a new secret into a file", kExamples);
    const auto options = std::make_shared<KeyOptions>();
    made.add_option("file", options->file, "the file, which must not be there")
        ->type_name("FILE")
        ->required();
    when_named<KeyOptions>(made, on_chosen, options, cli::new_key);
}

int new_key(const KeyOptions& options) {
    Console console;
    if (const Result<> written = write_new_swarm_key(options.file); !written) {
        return end_with(console, written.error());
    }
    std::cout << options.file << std::endl;
    console.info(
        "a new key, for this user alone: give it to `train`, `serve`, `directory` and `generate` "
        "as "
        "--swarm-key " +
        options.file
    );
    return kDone;
}

}  // namespace swarm::cli
