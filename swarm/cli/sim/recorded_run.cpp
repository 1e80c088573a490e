#include "swarm/cli/sim/recorded_run.hpp"

#include "swarm/base/try.hpp"
#include "swarm/cli/common/run_events.hpp"
#include "swarm/cli/terminal/usage.hpp"

#include <boost/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>
#include <vector>

namespace swarm::cli {
namespace {

namespace json = boost::json;

constexpr double kRestartAfter_s = 2;  // the pause of `swarm local`
constexpr double kDelayMax_s = 3600;
constexpr double kLoopback_us = 100;
/// The most by which a frame is late; a tenth of the latency on short lines.
constexpr double kJitter_us = 1000;
constexpr double kJitterMost = 0.1;
// Longer than what the jitter of a joining peer's frames adds up to, so peers come in their order.
constexpr const char* kArrivalGap = "\"50ms\"";
constexpr double kSlack = 2;  // the simulated run may take so many times as long, and then ends

/// Where a peer's speed comes from.
enum class Speed : std::uint8_t { Service, Measured, OfItsStage };

struct RecordedPeer {
    std::string id;
    double units_per_s = 0;  // 0: not known
    Speed source = Speed::Service;
    std::uint64_t line_bytes_per_s = 0;  // each way; 0: no bound
    std::uint64_t admitted = 0;          // order of the first admissions, from 1
    std::uint64_t stage = 0;             // its first stage
    std::uint64_t turn = 0;              // order of the admissions to that stage, from 0

    [[nodiscard]] bool is_like(const RecordedPeer& other) const {
        return units_per_s == other.units_per_s && line_bytes_per_s == other.line_bytes_per_s;
    }
};

struct RecordedFault {
    RunEventKind kind = RunEventKind::Kill;  // or Freeze
    std::string peer;
    double at_s = 0;
    double length_s = 0;
};

struct RecordedRun {
    std::uint64_t stages = 0;
    std::uint64_t microbatches = 0;
    std::uint64_t in_flight = 0;
    std::uint64_t min_peers = 0;
    std::uint64_t seed = 0;
    std::uint64_t activation_bytes = 0;
    std::uint64_t state_bytes = 0;
    std::string mode;  // empty: a report of an earlier version, whose runs are exact ones here
    std::uint64_t sync_every = 0;
    std::string policy;
    double line_delay_s = 0;
    std::vector<double> step_ends_s;  // since the first step began
    std::vector<RecordedPeer> peers;
    std::vector<RecordedFault> faults;
    std::string not_repeatable;  // a kind of event; empty: none
};

/// Boost.JSON throws when something is missing; parse() below turns the exception into an Error.
std::uint64_t count_at(const json::object& object, const char* key) {
    return object.at(key).to_number<std::uint64_t>();
}

/// Returns 0 for null, and for a key that reports of earlier versions do not have.
double number_if_any(const json::object& object, const char* key) {
    const json::value* const value = object.if_contains(key);
    return value == nullptr || value->is_null() ? 0 : value->to_number<double>();
}

std::uint64_t count_if_any(const json::object& object, const char* key) {
    return number_if_any(object, key) == 0 ? 0 : count_at(object, key);
}

std::string text_at(const json::object& object, const char* key) {
    const json::string& text = object.at(key).as_string();
    return {text.data(), text.size()};
}

/// Rounds to four digits: a measurement has no more, and the scenario is for people.
double measured_digits(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.4g", value);
    return std::strtod(text, nullptr);
}

/// Returns forwards per second; 0: not known.
double speed_of(const json::object& peer) {
    constexpr double kMs = 1000;
    const double service_ms = number_if_any(peer, "service_ms");
    const double speed = service_ms > 0 ? kMs / service_ms : number_if_any(peer, "forwards_per_s");
    if (!(speed >= 0 && std::isfinite(speed))) {
        throw std::out_of_range("forwards_per_s");
    }
    return service_ms > 0 ? speed : measured_digits(speed);
}

double median_of(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

/// Gives peers that nobody measured the median speed of their stage, or else that of all.
void fill_speeds(std::vector<RecordedPeer>& peers) {
    std::map<std::uint64_t, std::vector<double>> by_stage;
    std::vector<double> all;
    for (const RecordedPeer& peer : peers) {
        if (peer.units_per_s > 0) {
            by_stage[peer.stage].push_back(peer.units_per_s);
            all.push_back(peer.units_per_s);
        }
    }
    for (RecordedPeer& peer : peers) {
        if (peer.units_per_s == 0 && !all.empty()) {
            const auto stage = by_stage.find(peer.stage);
            peer.units_per_s = median_of(stage == by_stage.end() ? all : stage->second);
            peer.source = Speed::OfItsStage;
        }
    }
}

/// Returns the peers in an order that gives each peer its stage again, and each stage the same
/// order of its members: simulated peers come one by one, and each goes to the stage with the
/// fewest members, to the lowest of several. Policies break ties by that order.
std::vector<RecordedPeer> read_peers(const json::array& array) {
    std::vector<RecordedPeer> peers;
    for (const json::value& value : array) {
        const json::object& peer = value.as_object();
        if (peer.at("admitted").is_null()) {
            continue;  // this peer never worked
        }
        peers.push_back(
            {text_at(peer, "id"),
             speed_of(peer),
             number_if_any(peer, "service_ms") > 0 ? Speed::Service : Speed::Measured,
             count_if_any(peer, "line_bytes_per_s"),
             count_at(peer, "admitted"),
             count_at(peer, "first_stage")}
        );
    }
    std::sort(peers.begin(), peers.end(), [](const auto& a, const auto& b) {
        return a.admitted < b.admitted;
    });
    std::map<std::uint64_t, std::uint64_t> in_stage;
    for (RecordedPeer& peer : peers) {
        peer.turn = in_stage[peer.stage]++;
    }
    std::sort(peers.begin(), peers.end(), [](const auto& a, const auto& b) {
        return std::pair(a.turn, a.stage) < std::pair(b.turn, b.stage);
    });
    return peers;
}

RecordedRun read_run(const json::object& whole) {
    const json::object& config = whole.at("config").as_object();
    RecordedRun run;
    run.stages = count_at(config, "stages");
    run.microbatches = count_at(config, "microbatches");
    run.in_flight = count_at(config, "in_flight");
    run.min_peers = count_at(config, "min_peers");
    run.seed = count_at(config, "seed");
    run.activation_bytes = count_at(config, "activation_bytes");
    run.state_bytes = count_if_any(config, "state_bytes");
    run.mode = config.contains("mode") ? text_at(config, "mode") : "";
    run.sync_every = count_if_any(config, "sync_every");
    run.policy = text_at(config, "policy");
    run.line_delay_s = number_if_any(whole, "line_delay_s");
    if (!(run.line_delay_s >= 0 && run.line_delay_s <= kDelayMax_s)) {
        throw std::out_of_range("line_delay_s");
    }
    double seconds = 0;
    for (const json::value& step : whole.at("steps").as_array()) {
        const auto took_s = step.as_object().at("seconds").to_number<double>();
        if (!(took_s > 0 && std::isfinite(took_s))) {
            throw std::out_of_range("steps.seconds");
        }
        seconds += took_s;
        run.step_ends_s.push_back(seconds);
    }
    run.peers = read_peers(whole.at("peers").as_array());
    fill_speeds(run.peers);
    for (const json::value& value : whole.at("events").as_array()) {
        const json::object& event = value.as_object();
        const std::string name = text_at(event, "kind");
        const std::optional<RunEventKind> kind = parse_event_kind(name);
        if (kind == RunEventKind::Drain || kind == RunEventKind::CoordinatorKill ||
            kind == RunEventKind::Cut) {
            run.not_repeatable = name;
        } else if (kind == RunEventKind::Kill || kind == RunEventKind::Freeze) {
            // The other events follow from these; the simulator finds them itself.
            const bool lasts = kind == RunEventKind::Freeze;
            run.faults.push_back(
                {*kind,
                 text_at(event, "peer"),
                 event.at("t_s").to_number<double>(),
                 lasts ? event.at("length_s").to_number<double>() : 0}
            );
        }
    }
    return run;
}

Result<RecordedRun> parse(std::string_view text, const std::string& file) {
    try {
        return read_run(json::parse({text.data(), text.size()}).as_object());
    } catch (const std::exception& malformed) {
        return Error{
            ErrorCode::Malformed,
            Reaction::Reject,
            file + ": not a report of `swarm local --json` or `swarm train --json` (" +
                malformed.what() + ")"};
    }
}

Error usage_in(const std::string& file, const std::string& detail) {
    return usage(file + ": " + detail);
}

std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", value);
    return text;
}

std::string milliseconds(double seconds) {
    return "\"" + std::to_string(std::llround(1000 * seconds)) + "ms\"";
}

std::string line(const RecordedPeer& peer) {
    if (peer.line_bytes_per_s == 0) {
        return "";
    }
    const std::string rate = number(static_cast<double>(peer.line_bytes_per_s));
    return "up_bytes_per_s = " + rate + "\ndown_bytes_per_s = " + rate + "\n";
}

const char* text_of(Speed source) {
    switch (source) {
        case Speed::Service:
            return "";
        case Speed::Measured:
            return ", as fast as its senders measured it";
        case Speed::OfItsStage:
            return ", which nobody measured: as fast as the others";
    }
    return "";
}

/// Alike peers that come one after the other form a group.
std::string groups(const std::vector<RecordedPeer>& peers) {
    std::string toml = "\n";
    for (std::size_t i = 0; i < peers.size(); ++i) {
        toml += "# Peer " + std::to_string(i + 1) + " was " + peers[i].id +
                text_of(peers[i].source) + ".\n";
    }
    for (std::size_t begin = 0; begin < peers.size();) {
        std::size_t end = begin;
        while (end < peers.size() && peers[end].is_like(peers[begin])) {
            ++end;
        }
        toml += "\n[[peers]]\nname = \"from-" + std::to_string(begin + 1) +
                "\"\ncount = " + std::to_string(end - begin) +
                "\nunits_per_s = " + number(peers[begin].units_per_s) + "\n" + line(peers[begin]);
        begin = end;
    }
    return toml;
}

std::string replicas(const RecordedRun& run) {
    std::string toml;
    if (run.state_bytes > 0) {
        toml += "state_bytes = " + std::to_string(run.state_bytes) + "\n";
    }
    if (!run.mode.empty()) {
        toml += "mode = \"" + run.mode + "\"\n";
    }
    if (run.sync_every > 0) {
        toml += "sync_every = " + std::to_string(run.sync_every) + "\n";
    }
    return toml;
}

std::string entry(double at_s, const char* kind, std::size_t peer) {
    return "\n[[plan]]\nat = " + milliseconds(at_s) + "\nkind = \"" + kind +
           "\"\npeer = " + std::to_string(peer) + "\n";
}

double median_step_s(double began_s, const std::vector<double>& ends_s) {
    std::vector<double> took_s;
    for (const double end_s : ends_s) {
        took_s.push_back(end_s - began_s);
        began_s = end_s;
    }
    return median_of(std::move(took_s));
}

/// The same place of the same step: the fault is as late in it, in steps of the usual length.
/// REQUIRES: the real run's last step ends after `at_s`.
double place_among(const SimulatedSteps& steps, const RecordedRun& run, double at_s) {
    if (steps.ends_s.size() < run.step_ends_s.size()) {
        return at_s;
    }
    const double pace =
        median_step_s(steps.began_s, steps.ends_s) / median_step_s(0, run.step_ends_s);
    const auto next = std::upper_bound(run.step_ends_s.begin(), run.step_ends_s.end(), at_s);
    const auto before = static_cast<std::size_t>(next - run.step_ends_s.begin());
    const double real_s = before > 0 ? run.step_ends_s[before - 1] : 0;
    const double simulated_s = before > 0 ? steps.ends_s[before - 1] : steps.began_s;
    const double place_s = simulated_s + pace * (at_s - real_s);
    return std::min(place_s, steps.ends_s[before]);
}

std::string plan(const RecordedRun& run, const SimulatedSteps& steps) {
    std::map<std::string, std::size_t> places;  // the groups count peers from 1
    for (std::size_t i = 0; i < run.peers.size(); ++i) {
        places[run.peers[i].id] = i + 1;
    }
    std::string toml;
    for (const RecordedFault& fault : run.faults) {
        const std::size_t peer = places.at(fault.peer);
        if (fault.at_s >= run.step_ends_s.back()) {
            continue;  // the fault came after the last step
        }
        const double at_s = place_among(steps, run, fault.at_s);
        if (fault.kind == RunEventKind::Kill) {
            toml += entry(at_s, "crash", peer) + entry(at_s + kRestartAfter_s, "join", peer);
        } else {
            toml += entry(at_s, "freeze", peer) + "length = " + milliseconds(fault.length_s) + "\n";
        }
    }
    return toml;
}

std::optional<Error> check(const RecordedRun& run, const std::string& file) {
    if (run.step_ends_s.empty() || run.peers.empty()) {
        return usage_in(file, "no step was trained, so there is nothing to record");
    }
    for (const RecordedPeer& peer : run.peers) {
        if (peer.units_per_s == 0) {
            return usage_in(
                file, "nobody measured the speed of a peer; a run of some more steps tells it"
            );
        }
    }
    if (!run.not_repeatable.empty()) {
        return usage_in(file, "it has a " + run.not_repeatable + ", which no scenario repeats yet");
    }
    const bool known = std::all_of(run.faults.begin(), run.faults.end(), [&](const auto& fault) {
        return std::any_of(run.peers.begin(), run.peers.end(), [&](const RecordedPeer& peer) {
            return peer.id == fault.peer;
        });
    });
    return known ? std::nullopt
                 : std::optional(usage_in(file, "a fault names a peer that is not listed"));
}

}  // namespace

Result<std::string> scenario_of_run(
    std::string_view text, const std::string& file, const SimulatedSteps& steps
) {
    SWARM_TRY(const RecordedRun run, parse(text, file));
    if (const std::optional<Error> fault = check(run, file)) {
        return *fault;
    }
    const std::size_t count = run.step_ends_s.size();
    const double seconds = run.step_ends_s.back();
    const double mean = seconds / static_cast<double>(count);
    std::string toml =
        "# Question: Does the simulator repeat the real run of " +
        json::serialize(json::string(file)) +
        "?\n# Expectation: " + number(std::round(1000 * mean) / 1000) +
        " s per step, as measured over " + std::to_string(count) + " steps.\n" +
        "# Source: swarm sim record; peers are numbered as they took their stages.\n";
    toml += "mode = \"exact\"\nseed = " + std::to_string(run.seed) + "\nduration = \"" +
            std::to_string(std::llround(std::ceil(kSlack * seconds + 10))) + "s\"\n";
    toml += "\n[pipeline]\nstages = " + std::to_string(run.stages) +
            "\nmicrobatches = " + std::to_string(run.microbatches) +
            "\nin_flight = " + std::to_string(run.in_flight) +
            "\nmin_peers = " + std::to_string(run.min_peers) + "\narrival_gap = " + kArrivalGap +
            "\nsteps = " + std::to_string(count) +
            "\nwork_units = 1.0\nactivation_bytes = " + std::to_string(run.activation_bytes) +
            "\npolicy = \"" + run.policy + "\"\n" + replicas(run);
    toml += groups(run.peers);
    const auto latency_us = std::llround(kLoopback_us + 1e6 * run.line_delay_s);
    const double jitter = std::min(kJitterMost, kJitter_us / static_cast<double>(latency_us));
    toml += "\n[regions]\nlatency = \"" + std::to_string(latency_us) +
            "us\"  # 100us of it not measured: loopback and two event loops\n" +
            "jitter = " + number(jitter) +
            "  # not measured: without any, equal peers tie for ever\n";
    return toml + plan(run, steps);
}

}  // namespace swarm::cli
