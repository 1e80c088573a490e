#include "swarm/cli/common/run_flags.hpp"

#include "compression/codec.hpp"
#include "router/policy.hpp"
#include "swarm/cli/common/flags.hpp"

#include <CLI/CLI.hpp>

namespace swarm::cli {

void add_run_flags(CLI::App& app, std::string& run_file, RunFlags& run) {
    app.add_option("run", run_file, "the run as TOML (default: the demo model)")
        ->type_name("run.toml");
    app.add_option("--model", run.model, "demo (small Llama) or oracle (a test of counting)")
        ->type_name("NAME");
    app.add_option(
           "--init",
           run.init,
           "begin with the weights of a model: a GGUF file, a Hugging Face folder, a run's folder, "
           "or a name such as smollm2"
    )
        ->type_name("MODEL");
    app.add_option("--stages", run.stages, "number of parts into which the model is cut");
    // CLI11 2.1 reads -1 as the largest unsigned number.
    app.add_option("--steps", run.steps, "steps to train")->check(CLI::NonNegativeNumber);
    app.add_option("--seed", run.seed, "seed of the weights and of the data order")
        ->check(CLI::NonNegativeNumber);
    app.add_option("--microbatches", run.microbatches, "microbatches per step");
    app.add_option("--in-flight", run.in_flight, "microbatches under way; 0: twice the peers");
    app.add_option("--policy", run.policy, "router policy: " + router::policy_names());
    app.add_option(
        "--codec",
        run.codec,
        "codec of tensors between peers: " + compression::codec_names() +
            "; two for forward/backward; auto: as the lines need it"
    );
    app.add_option("--corpus", run.corpus, "text to train on, or a folder of `swarm data build`")
        ->type_name("FILE");
    app.add_option(
           "--tokenizer",
           run.tokenizer,
           "bytes, or trained on the corpus: spm:N (SentencePiece) or bpe:N (byte-level BPE)"
    )
        ->type_name("NAME");
    app.add_option(
        "--split",
        run.split,
        "cut of the layers into stages: fixed (default), or measured: anew when a stage has become "
        "slower"
    );
    app.add_option(
        "--checkpoint-every", run.checkpoint_every, "steps between checkpoints; 0: at the end only"
    );
    add_settings(
        app,
        "set any key of a run file, e.g. optimizer.learning_rate=1e-4",
        "TABLE.KEY",
        run.settings
    );
}

void add_mode_flags(CLI::App& app, RunFlags& run) {
    app.add_option("--mode", run.mode, "exact, or sparse: replicas train alone, share what changes")
        ->check(CLI::IsMember({"exact", "sparse"}));
    app.add_option("--sync-every", run.sync_every, "steps that sparse replicas train alone");
}

}  // namespace swarm::cli
