#include "tests/bench/program_run.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX leaves it to the caller

namespace swarm::bench {
namespace {

namespace fs = std::filesystem;

Error failed(const std::string& what) {
    return {ErrorCode::ConnectionLost, Reaction::Fatal, what};
}

}  // namespace

Result<> check_program(const fs::path& program) {
    if (fs::exists(program)) {
        return {};
    }
    return Error{
        ErrorCode::NotFound,
        Reaction::Fatal,
        "no " + program.string() + ": build the target swarm, too"};
}

Result<pid_t> start_program(const std::vector<std::string>& words) {
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

Result<EndedRun> finish_run(pid_t pid, const fs::path& report) {
    int status = 0;
    rusage used{};
    if (::wait4(pid, &status, 0, &used) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        return failed("a run of a bench failed; run its commands by hand to see why");
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
    return EndedRun{
        json.at("tokens_per_s").as_double(), seconds(used.ru_utime) + seconds(used.ru_stime)};
}

ScratchFolder::ScratchFolder() {
    std::string pattern = (fs::temp_directory_path() / "swarm-bench-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
}

ScratchFolder::~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

}  // namespace swarm::bench
