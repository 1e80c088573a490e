#include "swarm/cli/common/run_report.hpp"

#include "compression/codec.hpp"
#include "swarm/base/check.hpp"
#include "swarm/base/units.hpp"
#include "swarm/cli/common/held_out_json.hpp"
#include "swarm/net/identity.hpp"
#include "swarm/run/layer_split.hpp"
#include "swarm/run/leg_codecs.hpp"
#include "swarm/run/memory_plan.hpp"
#include "swarm/run/partition.hpp"
#include "swarm/run/training/batch_growth.hpp"

#include <boost/json.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>

namespace swarm::cli {
namespace {

namespace json = boost::json;

/// JSON has no NaN and no infinity.
json::value number_or_null(double value) {
    return std::isfinite(value) ? json::value(value) : json::value(nullptr);
}

json::value text_or_null(const std::optional<std::string>& text) {
    return text ? json::value(*text) : json::value(nullptr);
}

json::value digest_or_null(const std::optional<Digest>& digest) {
    return digest ? json::value(to_hex(*digest)) : json::value(nullptr);
}

json::value number_if_any(std::uint64_t number) {
    return number > 0 ? json::value(number) : json::value(nullptr);
}

std::string describe(std::uint64_t step, double loss, double single) {
    const auto shortest = [](double value) { return json::serialize(number_or_null(value)); };
    return "loss of step " + std::to_string(step) + ": " + shortest(loss) + ", alone " +
           shortest(single);
}

/// Returns the mean of both ways; for a run that chooses its codecs, the mean with its first ones.
std::uint64_t bytes_per_leg(const run::RunConfig& config, std::uint64_t values) {
    const run::LegCodecs codecs = run::first_codecs(config);
    std::uint64_t bytes = 0;
    for (const run::CodecId id : codecs) {
        const compression::Codec* const codec = compression::find_codec(id);
        SWARM_ASSERT(codec != nullptr);
        bytes += codec->encoded_bytes(values);
    }
    return codecs.empty() ? 0 : bytes / codecs.size();
}

/// Returns the settings that the simulator needs to repeat the run.
json::object config_object(const run::RunConfig& config) {
    const bool oracle = config.model.kind == run::ModelKind::Oracle;
    // The simulator's frames already carry the oracle's own tensors, and its state is tiny.
    const std::uint64_t values = oracle ? 0 : run::mean_elements_between(config);
    return {
        {"model", oracle ? "oracle" : "llama"},
        {"stages", config.stages},
        {"microbatches", config.microbatches},
        {"in_flight", config.in_flight},
        {"min_peers", config.min_peers},
        {"policy", std::string(config.policy.text())},
        {"codec", config.codec.text()},
        {"seed", config.seed},
        {"activation_bytes", bytes_per_leg(config, values)},
        {"state_bytes", oracle ? 0 : run::largest_state_bytes(config)},
        {"mode", std::string(run::to_text(config.mode))},
        {"sync_every", config.sync_every}};
}

json::array step_array(
    const std::map<std::uint64_t, node::StepCommitted>& steps, const run::RunConfig& config
) {
    json::array array;
    for (const auto& [number, step] : steps) {
        array.push_back(
            {{"step", number},
             {"loss", number_or_null(step.loss)},
             {"seconds", in_seconds(step.took)},
             {"tokens", run::tokens_of(config, step.step)},
             {"expected", step.expected},
             {"counted", step.counted},
             {"replayed", step.replayed},
             {"fenced", step.fenced}}
        );
        if (!step.codecs.empty()) {
            array.back().as_object()["codecs"] = step.codecs;
        }
    }
    return array;
}

json::array seconds_array(const std::vector<Duration>& durations) {
    json::array array;
    for (const Duration duration : durations) {
        array.push_back(in_seconds(duration));
    }
    return array;
}

/// Times are counted from the begin of the first step.
json::array event_array(const RunEvents& events, std::optional<TimePoint> began) {
    json::array array;
    for (const RunEvent& event : events.all()) {
        json::object object{
            {"t_s", began ? std::max(0.0, in_seconds(event.at - *began)) : 0.0},
            {"kind", to_text(event.kind)},
            {"peer", nullptr},
            {"stage", nullptr},
            {"reason", event.reason},
            {"cost_s", nullptr}};
        if (event.peer) {
            object["peer"] = net::to_text(*event.peer);
        }
        if (event.stage) {
            object["stage"] = event.stage->value;
        }
        if (event.cost) {
            object["cost_s"] = in_seconds(*event.cost);
        }
        if (event.length) {
            object["length_s"] = in_seconds(*event.length);
        }
        array.push_back(std::move(object));
    }
    return array;
}

std::optional<std::string> first_difference(const Losses& losses, const Losses& single) {
    for (const auto& [step, loss] : losses) {
        const auto found = single.find(step);
        if (found == single.end()) {
            return "step " + std::to_string(step) + " is not in the single run";
        }
        if (std::bit_cast<std::uint64_t>(loss) != std::bit_cast<std::uint64_t>(found->second)) {
            return describe(step, loss, found->second);
        }
    }
    for (const auto& [step, loss] : single) {
        if (!losses.contains(step)) {
            return "step " + std::to_string(step) + " was not committed";
        }
    }
    return std::nullopt;
}

}  // namespace

Verification compare_runs(
    const Losses& losses,
    const std::optional<Digest>& weights,
    const Losses& single_losses,
    const std::optional<Digest>& single_weights
) {
    Verification result{false, single_weights, first_difference(losses, single_losses)};
    if (!result.first_difference && (!weights || !single_weights)) {
        result.first_difference = "a run did not say the hash of its weights";
    } else if (!result.first_difference && *weights != *single_weights) {
        result.first_difference =
            "weights: " + to_hex(*weights) + ", alone " + to_hex(*single_weights);
    }
    result.equal = !result.first_difference;
    return result;
}

void RunReport::add(const TrainReport& report, TimePoint now) {
    std::visit([&](const auto& one) { add_one(one, now); }, report);
}

void RunReport::add_peer(PeerId peer, Handicap handicap) {
    const std::uint64_t number = 1 + peers_started_++;
    PeerFacts& facts = peers_[peer];
    facts.handicap = handicap;
    facts.number = number;
}

void RunReport::add_one(const StagesCut& cut, TimePoint now) {
    events_.split(
        "from step " + std::to_string(cut.step) + " on layers " +
            run::to_text(cut.layers_per_stage),
        now
    );
}

void RunReport::add_one(const node::StepCommitted& step, TimePoint now) {
    began_ = began_.value_or(now - step.took);
    losses_[step.step] = step.loss;
    steps_[step.step] = step;
    events_.committed(now);
    if (const auto rise = watch_.add(step.step, step.loss)) {
        events_.diverged("step " + std::to_string(step.step) + ": " + rise->text(), now);
    }
}

void RunReport::add_one(const node::StepSkipped& skip, TimePoint now) {
    began_ = began_.value_or(now - skip.took);
    events_.skipped("step " + std::to_string(skip.step) + ": " + skip.reason, now);
}

void RunReport::add_one(const node::WorkCounted& share, TimePoint) {
    PeerFacts& peer = peers_[share.peer];
    if (peer.stage != share.stage) {
        peer.units_per_s = 0;  // the peer has moved
    }
    peer.stage = share.stage;
    peer.microbatches[share.stage] += share.microbatches;
    peer.units_per_s = share.units_per_s > 0 ? share.units_per_s : peer.units_per_s;
}

void RunReport::add_one(const node::ShareLost& lost, TimePoint now) {
    events_.lost(lost, now);
}

void RunReport::add_one(const node::PeerChanged& changed, TimePoint now) {
    events_.changed(changed, now);
    if (changed.change == node::PeerChange::Admitted) {
        PeerFacts& peer = peers_[changed.peer];
        peer.stage = changed.stage;
        if (!peer.first_stage) {
            peer.first_stage = changed.stage;
            peer.admitted = ++peers_admitted_;
        }
    }
}

void RunReport::add_one(const node::RunFinished& finished, TimePoint) {
    weights_ = finished.weights_sha256;
}

std::uint64_t RunReport::microbatches_of(PeerId peer) const {
    std::uint64_t sum = 0;
    if (const auto found = peers_.find(peer); found != peers_.end()) {
        for (const auto& [stage, count] : found->second.microbatches) {
            sum += count;
        }
    }
    return sum;
}

bool RunReport::counted_all() const {
    return std::all_of(steps_.begin(), steps_.end(), [&](const auto& entry) {
        const std::uint32_t all = run::microbatches_of(config_, entry.second.step);
        return entry.second.expected == all && entry.second.counted == all;
    });
}

double RunReport::wire_bytes_per_microbatch() const {
    double bytes = 0;
    double microbatches = 0;
    for (const auto& [number, step] : steps_) {
        if (step.wire_bytes) {
            bytes += static_cast<double>(*step.wire_bytes);
            microbatches += step.expected;
        }
    }
    return bytes / microbatches;
}

double RunReport::tokens_per_s() const {
    Duration took{};
    double tokens = 0;
    for (const auto& [number, step] : steps_) {
        took += step.took;
        tokens += static_cast<double>(run::tokens_of(config_, step.step));
    }
    return tokens / in_seconds(took);
}

double RunReport::share_of(const PeerFacts& peer) const {
    if (!peer.stage) {
        return std::numeric_limits<double>::quiet_NaN();
    }
    const auto count_in_stage = [&](const PeerFacts& facts) {
        const auto found = facts.microbatches.find(*peer.stage);
        return found == facts.microbatches.end() ? 0.0 : static_cast<double>(found->second);
    };
    double all = 0;
    for (const auto& [id, facts] : peers_) {
        all += count_in_stage(facts);
    }
    return count_in_stage(peer) / all;
}

double RunReport::forwards_per_s_of(const PeerFacts& peer) const {
    const auto layouts = run::partition(config_);
    if (!(peer.units_per_s > 0) || !peer.stage || peer.stage->value >= layouts.size()) {
        return std::numeric_limits<double>::quiet_NaN();
    }
    constexpr double kLegs = 3;  // a backward counts as two forwards
    return kLegs * peer.units_per_s /
           run::units_per_microbatch(config_, layouts[peer.stage->value]);
}

double RunReport::speed_share_of(const PeerFacts& peer) const {
    double all = 0;
    for (const auto& [id, facts] : peers_) {
        all += facts.stage == peer.stage ? facts.units_per_s : 0;
    }
    return peer.units_per_s > 0 ? peer.units_per_s / all : std::numeric_limits<double>::quiet_NaN();
}

std::string RunReport::summary() const {
    if (losses_.empty() || !weights_) {
        return "no step was trained";
    }
    const std::string speed = steps_.empty()
                                  ? "all trained earlier"
                                  : std::to_string(std::llround(tokens_per_s())) + " tokens/s";
    char text[128];
    std::snprintf(
        text,
        sizeof text,
        "%zu steps, loss %.4f to %.4f, %s, weights sha256 ",
        losses_.size(),
        losses_.begin()->second,
        losses_.rbegin()->second,
        speed.c_str()
    );
    return text + to_hex(*weights_);
}

std::string RunReport::peer_table() const {
    const auto percent = [](double share) {
        return std::isfinite(share) ? std::to_string(std::lround(100 * share)) + "%" : "-";
    };
    std::string table = "peer      stage  microbatches  share  of speed  service ms  kills\n";
    for (const auto& [id, facts] : peers_) {
        char text[128];
        std::snprintf(
            text,
            sizeof text,
            "%-8.8s  %5s  %12llu  %5s  %8s  %10s  %5llu\n",
            net::to_text(id).c_str(),
            facts.stage ? std::to_string(facts.stage->value).c_str() : "-",
            static_cast<unsigned long long>(microbatches_of(id)),
            percent(share_of(facts)).c_str(),
            percent(speed_share_of(facts)).c_str(),
            facts.handicap.service_ms > 0 ? std::to_string(facts.handicap.service_ms).c_str() : "-",
            static_cast<unsigned long long>(events_.count(RunEventKind::Kill, id))
        );
        table += text;
    }
    return table;
}

std::string RunReport::trouble() const {
    std::uint64_t replayed = 0;
    std::uint64_t fenced = 0;
    for (const auto& [number, step] : steps_) {
        replayed += step.replayed;
        fenced += step.fenced;
    }
    const std::size_t joins = events_.joins();
    if (events_.all().empty() && joins + replayed + fenced == 0) {
        return "";
    }
    std::string text;
    for (const auto& [kind, done] :
         {std::pair(RunEventKind::Kill, "killed"),
          std::pair(RunEventKind::Freeze, "frozen"),
          std::pair(RunEventKind::Drain, "drained"),
          std::pair(RunEventKind::Move, "moved"),
          std::pair(RunEventKind::Skip, "steps skipped"),
          std::pair(RunEventKind::Split, "times cut anew"),
          std::pair(RunEventKind::CoordinatorKill, "coordinators killed"),
          std::pair(RunEventKind::Cut, "connections cut")}) {
        if (const std::size_t count = events_.count(kind)) {
            text += std::to_string(count) + " " + done + ", ";
        }
    }
    if (const std::uint64_t lost = events_.lost_microbatches()) {
        text += std::to_string(lost) + " microbatches lost before they were shared, ";
    }
    return text + std::to_string(joins) + " joined later; " + std::to_string(fenced) + " fenced, " +
           std::to_string(replayed) + " microbatches replayed, " +
           (counted_all() ? "each counted once" : "and not every one counted once");
}

std::string RunReport::to_json() const {
    json::array losses;
    for (const auto& [step, loss] : losses_) {
        losses.push_back(number_or_null(loss));
    }
    json::array peers;
    for (const auto& [id, facts] : peers_) {
        json::object peer{
            {"id", net::to_text(id)},
            {"number", facts.number},
            {"first_stage", nullptr},
            {"admitted", nullptr},
            {"stage", nullptr},
            {"share", nullptr}};
        peer["microbatches"] = microbatches_of(id);
        if (facts.first_stage) {
            peer["first_stage"] = facts.first_stage->value;
            peer["admitted"] = facts.admitted;
        }
        if (facts.stage) {
            peer["stage"] = facts.stage->value;
            peer["share"] = number_or_null(share_of(facts));
        }
        peer["speed_share"] = number_or_null(speed_share_of(facts));
        peer["forwards_per_s"] = number_or_null(forwards_per_s_of(facts));
        peer["service_ms"] = number_if_any(facts.handicap.service_ms);
        peer["line_bytes_per_s"] = number_if_any(facts.handicap.line_bytes_per_s);
        peer["kills"] = events_.count(RunEventKind::Kill, id);
        peers.push_back(std::move(peer));
    }
    json::object whole{{"losses", std::move(losses)}};
    whole["weights_sha256"] = digest_or_null(weights_);
    whole["join"] = join_.empty() ? json::value() : json::value(join_);
    whole["steps"] = step_array(steps_, config_);
    whole["held_out"] = held_out_json(held_out_);
    whole["peers"] = std::move(peers);
    whole["config"] = config_object(config_);
    whole["line_delay_s"] = in_seconds(line_delay_);
    whole["events"] = event_array(events_, began_);
    whole["kills"] = events_.count(RunEventKind::Kill);
    whole["freezes"] = events_.count(RunEventKind::Freeze);
    whole["cuts"] = events_.count(RunEventKind::Cut);
    whole["joins"] = events_.joins();
    whole["skips"] = events_.count(RunEventKind::Skip);
    whole["recovery_s"] = seconds_array(events_.recoveries(RunEvents::Faults::All));
    whole["recovery_alone_s"] = seconds_array(events_.recoveries(RunEvents::Faults::Alone));
    whole["tokens_per_s"] = number_or_null(tokens_per_s());
    whole["wire_bytes_per_microbatch"] = number_or_null(wire_bytes_per_microbatch());
    whole["verify"] = nullptr;
    if (verification_) {
        whole["verify"] = {
            {"equal", verification_->equal},
            {"single_sha256", digest_or_null(verification_->single_sha256)},
            {"first_difference", text_or_null(verification_->first_difference)}};
    }
    return json::serialize(whole) + "\n";
}

}  // namespace swarm::cli
