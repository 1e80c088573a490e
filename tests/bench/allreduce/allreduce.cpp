#include "tests/bench/allreduce/allreduce.hpp"

#include "stages/files/strict_json.hpp"
#include "tests/bench/allreduce/raw_group.hpp"
#include "tests/bench/allreduce/reduce_group.hpp"

#include <boost/json/object.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

namespace swarm::bench {
namespace {

using Seconds = std::vector<double>;

double median(Seconds values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

/// The median over the rounds' ratios. REQUIRES: both have as many rounds.
double median_ratio(const Seconds& above, const Seconds& below) {
    Seconds ratios;
    for (std::size_t i = 0; i < above.size(); ++i) {
        ratios.push_back(above[i] / below[i]);
    }
    return median(std::move(ratios));
}

/// One baseline, and its times so far; without its Python package it stays empty.
class Script {
 public:
    /// `key`: of the JSON line that it prints.
    Script(
        const std::string& python,
        const std::string& package,
        const std::string& arguments,
        std::string key
    )
        : command_(python + " " SWARM_BASELINES "/" + arguments + " 2>/dev/null"),
          key_(std::move(key)) {
        const std::string probe = python + " -c 'import " + package + "' >/dev/null 2>&1";
        is_there_ = std::system(probe.c_str()) == 0;
        if (!is_there_) {
            std::printf("%s is not there: %s cannot import it\n", package.c_str(), python.c_str());
        }
    }

    Result<> run() {
        if (!is_there_) {
            return {};
        }
        const auto line = stages::parse_strict_json(output_of(command_));
        const auto* const value =
            line && line->is_object() ? line->get_object().if_contains(key_) : nullptr;
        if (value == nullptr || !value->is_number() || !(value->to_number<double>() > 0)) {
            return Error{
                ErrorCode::Malformed, Reaction::Fatal, "no " + key_ + " came from: " + command_};
        }
        seconds_.push_back(value->to_number<double>());
        return {};
    }

    [[nodiscard]] bool is_there() const { return is_there_; }

    [[nodiscard]] const Seconds& seconds() const { return seconds_; }

 private:
    static std::string output_of(const std::string& command) {
        std::string text;
        std::FILE* const pipe = ::popen(command.c_str(), "r");
        if (pipe == nullptr) {
            return text;
        }
        std::array<char, 4096> piece{};
        while (std::fgets(piece.data(), piece.size(), pipe) != nullptr) {
            text += piece.data();
        }
        ::pclose(pipe);
        return text;
    }

    std::string command_;
    std::string key_;
    bool is_there_ = false;
    Seconds seconds_;
};

}  // namespace

Result<AllreduceFigures> measure_allreduce(
    std::uint32_t mib, std::size_t rounds, const std::string& python
) {
    const std::uint32_t elements = mib << 18U;
    // A slice of int64 one way and its values the other way, between each two.
    const std::size_t bytes_per_pair =
        std::size_t{elements} / kReducers * (sizeof(std::int64_t) + sizeof(float));
    RawGroup raw(kReducers, bytes_per_pair);
    ReduceGroup ours(kReducers, elements);
    if (const auto connected = ours.connect(); !connected) {
        return connected.error();
    }
    const std::string count = std::to_string(kReducers);
    const std::string size = " --mib " + std::to_string(mib);
    Script gloo(
        python, "torch", "gloo_allreduce.py --repeats 3 --world " + count + size, "seconds"
    );
    Script hivemind(
        python, "hivemind", "hivemind_averager.py --rounds 1 --peers " + count + size, "allreduce_s"
    );
    Seconds our_seconds;
    Seconds link_seconds;
    for (std::size_t round = 0; round <= rounds; ++round) {
        const Result<double> reduced = ours.round();
        const Result<double> moved = raw.round();
        if (!reduced || !moved) {
            return reduced ? moved.error() : reduced.error();
        }
        if (round == 0) {
            continue;  // it touches the memory for the first time, and shakes hands
        }
        our_seconds.push_back(*reduced);
        link_seconds.push_back(*moved);
        for (Script* const script : {&gloo, &hivemind}) {
            if (const auto ran = script->run(); !ran) {
                return ran.error();
            }
        }
    }
    AllreduceFigures figures;
    figures.seconds = median(our_seconds);
    figures.link_seconds = median(link_seconds);
    figures.ratio_to_link = median_ratio(link_seconds, our_seconds);
    figures.mib_on_wire = bytes_per_pair * kReducers * (kReducers - 1) >> 20U;
    if (gloo.is_there()) {
        figures.gloo_seconds = median(gloo.seconds());
        figures.ratio_to_gloo = median_ratio(our_seconds, gloo.seconds());
    }
    if (hivemind.is_there()) {
        figures.hivemind_seconds = median(hivemind.seconds());
    }
    if (gloo.is_there() && hivemind.is_there()) {
        figures.hivemind_to_gloo = median_ratio(hivemind.seconds(), gloo.seconds());
    }
    return figures;
}

}  // namespace swarm::bench
