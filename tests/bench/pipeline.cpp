#include "tests/bench/pipeline.hpp"

#include "swarm/base/try.hpp"
#include "tests/bench/program_run.hpp"

#include <array>
#include <fstream>
#include <string>

namespace swarm::bench {

Result<PipelineFigures> measure_pipeline(const std::filesystem::path& program) {
    SWARM_TRY(check_program(program));
    const ScratchFolder scratch;
    std::ofstream(scratch / "run.toml") << kPipelineRun;
    const std::string swarm = program.string();
    const Result<pid_t> local = start_program(
        {swarm, "local", scratch / "run.toml", "--peers", "2", "--json", scratch / "local.json"}
    );
    if (!local) {
        return local.error();
    }
    const Result<EndedRun> pipeline = finish_run(*local, scratch / "local.json");
    std::array<Result<pid_t>, 2> singles{
        start_program(
            {swarm,
             "train",
             scratch / "run.toml",
             "--single",
             "--dir",
             scratch / "a",
             "--json",
             scratch / "a.json"}
        ),
        start_program(
            {swarm,
             "train",
             scratch / "run.toml",
             "--single",
             "--dir",
             scratch / "b",
             "--json",
             scratch / "b.json"}
        )};
    EndedRun base;
    for (std::size_t i = 0; i < singles.size(); ++i) {
        if (!singles[i]) {
            return singles[i].error();
        }
        const Result<EndedRun> single =
            finish_run(*singles[i], scratch / (i == 0 ? "a.json" : "b.json"));
        if (!single) {
            return single.error();
        }
        base.tokens_per_s += single->tokens_per_s;
        base.cpu_s += single->cpu_s;
    }
    if (!pipeline) {
        return pipeline.error();
    }
    // Two single runs make twice the tokens of the pipeline's one.
    return PipelineFigures{
        pipeline->tokens_per_s / base.tokens_per_s, base.cpu_s / (2 * pipeline->cpu_s)};
}

}  // namespace swarm::bench
