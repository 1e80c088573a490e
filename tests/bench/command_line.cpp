#include "tests/bench/command_line.hpp"

#include "compression/codec.hpp"
#include "swarm/cli/common/flags.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/run/leg_codecs.hpp"
#include "tests/bench/allreduce/allreduce.hpp"
#include "tests/bench/quality/quality_report.hpp"

#include <CLI/CLI.hpp>
#include <sstream>

namespace swarm::bench {
namespace {

constexpr const char* kDescription =
    "Measures one part of swarm: medians of --runs, withheld when others used more than 15 % "
    "of the machine meanwhile.\n"
    "  pick  slower of two router policies among 1,000 peers: ns_per_pick\n"
    "  sim   simulated world of 1,000 peers: events_per_s\n"
    "  link  frames over loopback against plain TLS: ratio, heartbeat_p99_ms\n"
    "  pipeline  two stages against two single processes, minutes a run: ratio, cpu_ratio\n"
    "  codec  every codec and path against memcpy, byte planes, 4 MiB over loopback: rows,\n"
    "         byte_planes, reduce_parts, transfers\n"
    "  decode  a model in one process, and another program in turns: rows\n"
    "  kernels  products by every format of weights, one thread: ns per weight and row\n"
    "  served  SmolLM2 by 1, 2, 3 peers on loopback against one process: ratio_1, _2, _3, "
    "hop_ms\n"
    "  square-cube  a stage of 1 and 4 layers at widths of 64 to 2,048: seconds and bytes of a\n"
    "           microbatch, and how busy a core is at 100 Mbit/s\n"
    "  threads  SmolLM2 in int8 and training, --threads over one: decode_ratio, prompt_ratio,\n"
    "         train_ratio; memory_ratio of merely reading, and how much of it decoding reads\n"
    "  allreduce  four peers add up --mib of gradients, beside plain TLS and gloo: "
    "ratio_to_link, ratio_to_gloo\n"
    "  quality  the demo model with each codec and mode, an hour: losses at equal steps and at\n"
    "           equal time on a line, extra steps, bytes: rows, modes";

std::string refusal_of_row(const std::string& name) {
    if (!run::parse_codec_pair(name)) {
        return "must be one of " + compression::codec_names() +
               ", or two such as int4/int8 for forward and backward; not " + name;
    }
    return "";
}

void add_quality_flags(CLI::App& app, QualityOptions& options) {
    app.add_option("--steps", options.steps, "quality: of each run")
        ->check(CLI::Range(std::uint64_t{1}, kQualityStepsMax));
    app.add_option("--seeds", options.seeds, "quality: runs of each codec and mode")
        ->check(CLI::Range(1U, kQualitySeedsMax));
    app.add_option(
           "--codecs", options.codecs, "quality: A,B,...: besides none; int4/int8: one per way"
    )
        ->delimiter(',')
        ->check(refusal_of_row);
    app.add_option(
           "--modes", options.modes, "quality: sparse: beside exact; without --codecs, too: all"
    )
        ->delimiter(',')
        ->check(CLI::IsMember({kSparseRow}));
    cli::add_rates(app, "--line", "quality: of each peer's line, each way", options.bytes_per_s)
        ->expected(1);
    app.add_option("--corpus", options.corpus, "quality: a text; without: the demo's");
    app.add_option("--svg", options.svg_file, "quality, square-cube: write the plot to this file");
}

void add_decode_flags(CLI::App& app, DecodeOptions& options) {
    app.add_option("--model", options.model, "decode: a file or folder; without: SmolLM2");
    app.add_option("--prompt", options.prompt, "decode: tokens that are read")
        ->check(CLI::Range(1U, kPromptTokensMax));
    app.add_option("--tokens", options.tokens, "decode: tokens that are made then")
        ->check(CLI::Range(1U, kPromptTokensMax));
    app.add_option("--texts", options.texts, "decode: texts that are made together")
        ->check(CLI::Range(1U, kTextsMax));
    app.add_option(
        "--beside",
        options.beside,
        "decode: a command that does the same (baselines/transformers_decode.py, llama_decode.py)"
    );
}

void add_flags(CLI::App& app, BenchOptions& options) {
    app.add_option(
           "NAME",
           options.name,
           "pick, sim, link, pipeline, codec, decode, kernels, served, square-cube, threads, "
           "allreduce or quality"
    )
        ->required()
        ->check(CLI::IsMember(
            {"pick",
             "sim",
             "link",
             "pipeline",
             "codec",
             "decode",
             "kernels",
             "served",
             "square-cube",
             "threads",
             "allreduce",
             "quality"}
        ));
    app.add_option("--mib", options.mib, "allreduce: fp32 gradients of each peer")
        ->check(CLI::Range(1U, kReducedMibMax));
    app.add_option(
        "--python", options.python, "allreduce: runs gloo and hivemind, where it has them"
    );
    add_decode_flags(app, options.decode);
    app.add_option(
        "--state", options.state_file, "codec: pack this file of fp32 state, at most 64 MiB"
    );
    app.add_option(
           "--weights", options.weights, "decode, served: kept as-is, or as fp32, bf16 or int8"
    )
        ->check(CLI::IsMember({"as-is", "fp32", "bf16", "int8"}));
    app.add_option("--threads", options.threads, "decode: how many; threads: how many beside one")
        ->check(CLI::Range(1U, cli::kThreadsMax));
    app.add_option("--json", options.json_file, "Write the figures to this file");
    app.add_option("--runs", options.runs, "How many to take the median of")
        ->check(CLI::Range(1, 99));
    add_quality_flags(app, options.quality);
}

}  // namespace

BenchCommand parse_bench_command_line(int argc, const char* const* argv) {
    CLI::App app{kDescription, "swarm-bench"};
    BenchOptions options;
    add_flags(app, options);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        std::ostringstream out;
        std::ostringstream err;
        const bool failed = app.exit(error, out, err) != 0;
        return BenchExit{failed ? cli::kUsage : cli::kDone, failed ? err.str() : out.str()};
    }
    if (options.name == "threads" && options.threads == 1) {
        return BenchExit{cli::kUsage, "--threads: 2 and more are compared with one\n"};
    }
    return options;
}

}  // namespace swarm::bench
