#include "tests/bench/pipeline.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <array>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <spawn.h>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX leaves it to the caller

namespace swarm::bench {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRunFile = R"([run]
name = "pipeline"
stages = 2
steps = 2
microbatches = 32
batch = 4
[model]
layers = 8
width = 512
heads = 8
kv_heads = 8
ffn_width = 1376
vocabulary = 2000
context = 256
)";

Error failed(const std::string& what) {
    return {ErrorCode::ConnectionLost, Reaction::Fatal, what};
}

struct Ended {
    double tokens_per_s = 0;
    double cpu_s = 0;  // the process and all its children that ended
};

Result<pid_t> start(const std::vector<std::string>& words) {
    std::vector<char*> arguments;
    for (const std::string& word : words) {
        arguments.push_back(const_cast<char*>(word.c_str()));
    }
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t quiet;
    posix_spawn_file_actions_init(&quiet);
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
        posix_spawn_file_actions_addopen(&quiet, stream, "/dev/null", O_WRONLY, 0);
    }
    pid_t pid = 0;
    const int error = posix_spawn(&pid, arguments[0], &quiet, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&quiet);
    return error == 0 ? Result<pid_t>(pid) : Result<pid_t>(failed("cannot start " + words[0]));
}

Result<Ended> finish(pid_t pid, const fs::path& report) {
    int status = 0;
    rusage used{};
    if (::wait4(pid, &status, 0, &used) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        return failed("a run of the pipeline bench failed; run its commands by hand to see why");
    }
    std::ifstream file(report);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    boost::system::error_code broken;
    const boost::json::value json = boost::json::parse(text, broken);
    if (broken || !json.is_object() || !json.at("tokens_per_s").is_double()) {
        return failed("no tokens_per_s in " + report.string());
    }
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    return Ended{
        json.at("tokens_per_s").as_double(), seconds(used.ru_utime) + seconds(used.ru_stime)};
}

/// A folder of its own, gone when it is left.
class Scratch {
 public:
    Scratch() {
        std::string pattern = (fs::temp_directory_path() / "swarm-bench-XXXXXX").string();
        path_ = ::mkdtemp(pattern.data());
    }

    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

    ~Scratch() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }

    [[nodiscard]] std::string operator/(const char* name) const { return (path_ / name).string(); }

 private:
    fs::path path_;
};

}  // namespace

Result<PipelineFigures> measure_pipeline(const fs::path& program) {
    if (!fs::exists(program)) {
        return Error{
            ErrorCode::NotFound,
            Reaction::Fatal,
            "no " + program.string() + ": build the target swarm, too"};
    }
    const Scratch scratch;
    std::ofstream(scratch / "run.toml") << kRunFile;
    const std::string swarm = program.string();
    const Result<pid_t> local = start(
        {swarm, "local", scratch / "run.toml", "--peers", "2", "--json", scratch / "local.json"}
    );
    if (!local) {
        return local.error();
    }
    const Result<Ended> pipeline = finish(*local, scratch / "local.json");
    std::array<Result<pid_t>, 2> singles{
        start(
            {swarm,
             "train",
             scratch / "run.toml",
             "--single",
             "--dir",
             scratch / "a",
             "--json",
             scratch / "a.json"}
        ),
        start(
            {swarm,
             "train",
             scratch / "run.toml",
             "--single",
             "--dir",
             scratch / "b",
             "--json",
             scratch / "b.json"}
        )};
    Ended base;
    for (std::size_t i = 0; i < singles.size(); ++i) {
        if (!singles[i]) {
            return singles[i].error();
        }
        const Result<Ended> single = finish(*singles[i], scratch / (i == 0 ? "a.json" : "b.json"));
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
