#include "tests/bench/served.hpp"

#include "stages/files/strict_json.hpp"

#include <boost/json/object.hpp>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

namespace swarm::bench {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrompt = "Once upon a time";
constexpr int kTokens = 96;

Error failed(ErrorCode code, std::string what) {
    return {code, Reaction::Fatal, std::move(what)};
}

/// decode_tokens_per_s of one run of the program.
Result<double> run(const fs::path& program, const std::string& arguments) {
    std::error_code ignored;
    if (!fs::exists(program, ignored)) {
        return failed(ErrorCode::NotFound, program.string() + " is not there; build it, too");
    }
    std::string report = (fs::temp_directory_path() / "swarm-bench.XXXXXX").string();
    const int file = ::mkstemp(report.data());
    if (file < 0) {
        return failed(ErrorCode::StorageFailed, "no temporary file for the report");
    }
    std::fclose(::fdopen(file, "w"));
    const std::string command = program.string() + " " + arguments + " --raw --tokens " +
                                std::to_string(kTokens) + " --prompt '" + kPrompt + "' --json " +
                                report + " >/dev/null 2>&1";
    const int status = std::system(command.c_str());
    std::ifstream in(report, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    fs::remove(report, ignored);
    const auto json = stages::parse_strict_json(text);
    if (status != 0 || !json || !json->is_object()) {
        return failed(ErrorCode::Malformed, "no report from: " + command);
    }
    const auto* const rate = json->get_object().if_contains("decode_tokens_per_s");
    if (rate == nullptr || !rate->is_number() || !(rate->to_number<double>() > 0)) {
        return failed(ErrorCode::Malformed, "no rate in the report of: " + command);
    }
    return rate->to_number<double>();
}

}  // namespace

double ServedRates::added_ms_per_hop() const {
    constexpr double kMs = 1000;
    return (kMs / served.back() - kMs / served.front()) / (kServedStagesMax - 1);
}

Result<ServedRates> measure_served(
    const fs::path& program, const std::string& model, const std::string& weights
) {
    const std::string same = " --threads 1 --model " + model + " --weights " + weights;
    ServedRates rates;
    const Result<double> alone = run(program, "generate" + same);
    if (!alone) {
        return alone.error();
    }
    rates.alone = *alone;
    for (std::size_t stages = 1; stages <= kServedStagesMax; ++stages) {
        const std::string count = std::to_string(stages);
        const Result<double> served =
            run(program, "local" + same + " --stages " + count + " --peers " + count);
        if (!served) {
            return served.error();
        }
        rates.served[stages - 1] = *served;
    }
    return rates;
}

}  // namespace swarm::bench
