#include "swarm/cli/web/run_state.hpp"

#include "swarm/net/address.hpp"
#include "swarm/net/identity.hpp"
#include "swarm/run/leg_codecs.hpp"
#include "swarm/run/training/batch_growth.hpp"

#include <boost/json.hpp>

#include <algorithm>
#include <cmath>
#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>
#include <variant>

namespace swarm::cli {
namespace {

namespace json = boost::json;

constexpr std::size_t kNameLetters = 8;

std::string name_of(const PeerId& peer) {
    return net::to_text(peer).substr(0, kNameLetters);
}

json::value number_or_null(double value) {
    return std::isfinite(value) ? json::value(value) : json::value(nullptr);
}

const char* text_of(node::PeerChange change) {
    switch (change) {
        case node::PeerChange::Admitted:
            return "admitted";
        case node::PeerChange::Suspect:
            return "suspect";
        case node::PeerChange::Fenced:
            return "fenced";
        case node::PeerChange::Left:
            return "left";
        case node::PeerChange::Observing:
            return "observing";
        case node::PeerChange::StageEmpty:
            return "stage empty";
        case node::PeerChange::Moved:
            return "moved";
    }
    return "";
}

}  // namespace

void RunState::add(const TrainReport& report, TimePoint now) {
    std::visit([&](const auto& one) { add_one(one, now); }, report);
}

void RunState::note(
    const char* what, std::optional<PeerId> peer, std::string reason, TimePoint now
) {
    const auto found = peer ? peers_.find(*peer) : peers_.end();
    const bool has_stage = found != peers_.end();
    push(
        {now,
         what,
         peer,
         has_stage ? std::optional(found->second.stage) : std::nullopt,
         std::move(reason)}
    );
}

void RunState::note_end(PeerId peer, std::string reason, TimePoint now) {
    note("ended", peer, std::move(reason), now);
    if (const auto found = peers_.find(peer); found != peers_.end()) {
        found->second.is_suspect = true;
    }
}

void RunState::push(Happened happened) {
    events_.push_back(std::move(happened));
    if (events_.size() > kEventsMax) {
        events_.pop_front();
    }
}

/// A coordinator that begins to listen knows no peer: all of them come again.
void RunState::add_one(const Listening& listening, TimePoint) {
    join_ = listening.join;
    const Result<net::Address> address = net::parse_address(listening.address);
    join_here_only_ = address && net::is_loopback(address->host);
    peers_.clear();
}

void RunState::add_one(const StagesCut& cut, TimePoint now) {
    push({now, "stages cut", {}, {}, "new layers per stage from step " + std::to_string(cut.step)});
}

void RunState::add_one(const node::StepCommitted& step, TimePoint now) {
    // After a rollback the points of the steps that come again are void.
    std::erase_if(losses_, [&](const LossPoint& point) { return point.step > step.step; });
    steps_done_ = step.step + 1;
    loss_ = step.loss;
    last_took_ = step.took;
    replayed_ += step.replayed;
    fenced_ += step.fenced;
    wire_bytes_ += step.wire_bytes.value_or(0);
    add_bytes(
        step.codecs.empty() ? run::to_text(run::first_codecs(config_)) : step.codecs,
        step.wire_bytes.value_or(0)
    );
    add_loss(steps_done_, step.loss);
    if (const auto rise = watch_.add(step.step, step.loss)) {
        push({now, "loss diverges", {}, {}, rise->text()});
    }
    for (auto& [id, peer] : peers_) {
        peer.last = 0;  // WorkCounted of this step follows
    }
}

void RunState::add_bytes(const std::string& codecs, std::uint64_t bytes) {
    const auto known = std::ranges::find(codecs_, codecs, &CodecBytes::codecs);
    CodecBytes sum{codecs, bytes};
    if (known != codecs_.end()) {
        sum.bytes += known->bytes;
        codecs_.erase(known);
    } else if (codecs_.size() == kCodecsMax) {
        codecs_.pop_front();
    }
    codecs_.push_back(std::move(sum));
}

void RunState::add_loss(std::uint64_t step, double loss) {
    if (!std::isfinite(loss)) {
        return;
    }
    if (losses_.empty() || losses_.back().steps >= steps_per_point_) {
        losses_.push_back({});
    }
    losses_.back().step = step;
    losses_.back().sum += loss;
    ++losses_.back().steps;
    if (losses_.size() <= kLossesMax) {
        return;
    }
    std::vector<LossPoint> halved;
    for (std::size_t i = 0; i + 1 < losses_.size(); i += 2) {
        halved.push_back(
            {losses_[i + 1].step,
             losses_[i].sum + losses_[i + 1].sum,
             losses_[i].steps + losses_[i + 1].steps}
        );
    }
    if (losses_.size() % 2 == 1) {
        halved.push_back(losses_.back());
    }
    losses_ = std::move(halved);
    steps_per_point_ *= 2;
}

void RunState::add_one(const node::StepSkipped& skip, TimePoint now) {
    steps_done_ = skip.step + 1;
    push({now, "step skipped", {}, {}, skip.reason});
}

void RunState::add_one(const node::WorkCounted& work, TimePoint) {
    const auto found = peers_.find(work.peer);
    if (found != peers_.end()) {
        found->second.microbatches += work.microbatches;
        found->second.last = work.microbatches;
        found->second.units_per_s = work.units_per_s;
    }
}

void RunState::add_one(const node::ShareLost& lost, TimePoint now) {
    push(
        {now,
         "work lost",
         lost.peer,
         lost.stage,
         std::to_string(lost.microbatches) + " microbatches since the last exchange"}
    );
}

void RunState::add_one(const node::PeerChanged& changed, TimePoint now) {
    using node::PeerChange;
    const auto place = [&](bool is_observer) {
        Peer& peer = peers_[changed.peer];
        peer.stage = changed.stage;
        peer.is_suspect = false;
        peer.is_observer = is_observer;
    };
    switch (changed.change) {
        case PeerChange::Admitted:
        case PeerChange::Moved:
            place(false);
            break;
        case PeerChange::Observing:
            place(true);
            break;
        case PeerChange::Suspect:
            if (const auto found = peers_.find(changed.peer); found != peers_.end()) {
                found->second.is_suspect = true;
            }
            break;
        case PeerChange::Fenced:
        case PeerChange::Left:
            peers_.erase(changed.peer);
            break;
        case PeerChange::StageEmpty:
            break;
    }
    const bool names_peer = changed.change != PeerChange::StageEmpty;
    push(
        {now,
         text_of(changed.change),
         names_peer ? std::optional(changed.peer) : std::nullopt,
         changed.stage,
         changed.reason}
    );
}

void RunState::add_one(const node::RunFinished& finished, TimePoint now) {
    over_ = true;
    end_ = "finished: weights sha256 " + to_hex(finished.weights_sha256);
    push({now, "finished", {}, {}, ""});
}

void RunState::add_one(const node::RunFailed& failed, TimePoint now) {
    over_ = true;
    end_ = failed.text;
    push({now, "failed", {}, {}, failed.text});
}

double RunState::tokens_per_s() const {
    const double seconds = in_seconds(last_took_);
    const std::uint64_t step = steps_done_ > 0 ? steps_done_ - 1 : 0;
    const auto tokens = static_cast<double>(run::tokens_of(config_, step));
    return seconds > 0 ? tokens / seconds : 0;
}

std::vector<std::size_t> RunState::peers_per_stage() const {
    std::vector<std::size_t> counts(config_.stages);
    for (const auto& [id, peer] : peers_) {
        if (!peer.is_observer && peer.stage.value < counts.size()) {
            ++counts[peer.stage.value];
        }
    }
    return counts;
}

std::string RunState::to_json(TimePoint now) const {
    json::array stages;
    for (std::uint32_t stage = 0; stage < config_.stages; ++stage) {
        std::uint64_t all = 0;
        for (const auto& [id, peer] : peers_) {
            all += peer.stage.value == stage ? peer.last : 0;
        }
        json::array peers;
        for (const auto& [id, peer] : peers_) {
            if (peer.stage.value != stage) {
                continue;
            }
            const double share =
                all > 0 ? static_cast<double>(peer.last) / static_cast<double>(all) : 0;
            peers.push_back(
                {{"id", name_of(id)},
                 {"state",
                  peer.is_observer  ? "joining"
                  : peer.is_suspect ? "suspect"
                                    : "working"},
                 {"microbatches", peer.microbatches},
                 {"share", share},
                 {"forwards_per_s", peer.units_per_s}}
            );
        }
        stages.push_back({{"stage", stage}, {"peers", std::move(peers)}});
    }
    json::array losses;
    for (const LossPoint& point : losses_) {
        losses.push_back(json::array{point.step, point.sum / static_cast<double>(point.steps)});
    }
    json::array events;
    for (auto event = events_.rbegin(); event != events_.rend(); ++event) {
        events.push_back(
            {{"seconds_ago", in_seconds(now - event->at)},
             {"what", event->what},
             {"peer", event->peer ? json::value(name_of(*event->peer)) : json::value(nullptr)},
             {"stage", event->stage ? json::value(event->stage->value) : json::value(nullptr)},
             {"reason", event->reason}}
        );
    }
    json::array codecs;
    for (auto sum = codecs_.rbegin(); sum != codecs_.rend(); ++sum) {
        codecs.push_back({{"codecs", sum->codecs}, {"wire_bytes", sum->bytes}});
    }
    return json::serialize(json::object{
        {"name", config_.name},
        {"step", steps_done_},
        {"steps", config_.steps},
        {"loss", loss_ ? number_or_null(*loss_) : json::value(nullptr)},
        {"tokens_per_s", tokens_per_s()},
        {"replayed", replayed_},
        {"fenced", fenced_},
        {"wire_bytes", wire_bytes_},
        {"codecs", std::move(codecs)},
        {"join_here_only", join_here_only_},
        {"join", join_.empty() ? json::value(nullptr) : json::value(join_)},
        {"end", end_.empty() ? json::value(nullptr) : json::value(end_)},
        {"stages", std::move(stages)},
        {"losses", std::move(losses)},
        {"events", std::move(events)}});
}

std::string RunState::to_prometheus() const {
    prometheus::Registry registry;
    const auto gauge = [&](const char* name, const char* help, double value) {
        prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({}).Set(value);
    };
    const auto counter = [&](const char* name, const char* help, std::uint64_t value) {
        prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({}).Increment(
            static_cast<double>(value)
        );
    };
    counter("swarm_steps_total", "Steps of the run that are committed.", steps_done_);
    counter("swarm_replayed_total", "Attempts at microbatches beyond the first.", replayed_);
    counter("swarm_fenced_total", "Slots that were fenced.", fenced_);
    counter("swarm_wire_bytes_total", "Bytes of frames between peers.", wire_bytes_);
    gauge("swarm_loss", "Loss per token of the last step.", loss_.value_or(std::nan("")));
    gauge("swarm_step_seconds", "Time of the last step.", in_seconds(last_took_));
    gauge("swarm_tokens_per_second", "Tokens per second of the last step.", tokens_per_s());
    auto& peers = prometheus::BuildGauge()
                      .Name("swarm_stage_peers")
                      .Help("Peers that work for a stage.")
                      .Register(registry);
    const std::vector<std::size_t> counts = peers_per_stage();
    for (std::size_t stage = 0; stage < counts.size(); ++stage) {
        peers.Add({{"stage", std::to_string(stage)}}).Set(static_cast<double>(counts[stage]));
    }
    auto& work = prometheus::BuildCounter()
                     .Name("swarm_microbatches_total")
                     .Help("Microbatches of committed steps that a peer has computed.")
                     .Register(registry);
    for (const auto& [id, peer] : peers_) {
        work.Add({{"stage", std::to_string(peer.stage.value)}, {"peer", name_of(id)}}
        ).Increment(static_cast<double>(peer.microbatches));
    }
    return prometheus::TextSerializer().Serialize(registry.Collect());
}

}  // namespace swarm::cli
