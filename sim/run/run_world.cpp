#include "sim/run/run_world.hpp"

#include "stages/single/single_run.hpp"
#include "stages/worker/first_state.hpp"

#include <algorithm>
#include <bit>
#include <iomanip>
#include <sstream>
#include <utility>

namespace sim {

using swarm::run::RunConfig;

namespace {

std::vector<double> losses_of(stages::SingleRun& run, std::uint64_t steps) {
    std::vector<double> losses;
    for (std::uint64_t step = 0; step < steps; ++step) {
        losses.push_back(run.step()->loss);
    }
    return losses;
}

}  // namespace

RunConfig oracle_config(std::uint32_t stages, std::uint32_t microbatches, std::uint64_t steps) {
    RunConfig config;
    config.stages = stages;
    config.microbatches = microbatches;
    config.steps = steps;
    config.batch = 1;
    config.model = *swarm::run::named_model("oracle");
    config.model.layers = stages;
    config.model.context = 1;
    return config;
}

Reference train_single(const RunConfig& config) {
    stages::SingleRun run(config, &stages::make_oracle_compute, {});
    return {losses_of(run, config.steps), run.weights_sha256()};
}

std::vector<double> train_single(const RunConfig& config, std::uint64_t steps) {
    stages::SingleRun run(config, &stages::make_oracle_compute, {});
    return losses_of(run, steps);
}

RunWorld::RunWorld(RunWorldOptions options)
    : options_(std::move(options)),
      world_([&] {
          WorldOptions world = options_.world;
          world.seed = options_.seed;
          return world;
      }()),
      checker_(world_, coordinator()),
      checkpoints_(std::make_shared<stages::SafetensorsCheckpoint>(options_.config)),
      resume_(options_.begin) {
    world_.on_event([this](PeerId id, const node::Event& event) {
        checker_.on_event(id, event);
        if (event_observer_) {
            event_observer_(id, event);
        }
    });
    world_.on_send([this](PeerId id, const node::Send& send) {
        checker_.on_send(id, send);
        if (send_observer_) {
            send_observer_(id, send);
        }
    });
    world_.on_report([this](PeerId id, const node::Report& report) { hear(id, report); });
    for (const std::uint64_t number : options_.liars) {
        checker_.add_liar(peer(number));
    }
    add_coordinator();
    while (servers_ < options_.peers) {
        add_server();
    }
}

void RunWorld::add_coordinator() {
    world_.add_peer(coordinator(), [this](swarm::Incarnation) {
        swarm::coordinator::Coordinator::Options options;
        options.config = options_.config;
        options.checkpoints = checkpoints_;
        options.first_state = [config = options_.config](swarm::StageIndex stage) {
            return stages::first_state_hash(config, swarm::run::partition(config)[stage.value]);
        };
        options.resume = resume_;
        options.bugs = options_.bugs;
        options.held_out = options_.held_out;
        options.on_held_out = [this](const swarm::run::HeldOutLosses& losses) {
            held_out_.push_back(losses);
        };
        options.on_patience_over = [this](std::uint64_t step, const std::string&) {
            ended_after_ = step;
        };
        options.ended_after = ended_after_;
        return std::make_unique<swarm::coordinator::Coordinator>(std::move(options));
    });
}

void RunWorld::cut_as(std::vector<std::uint32_t> layers_per_stage) {
    options_.config.layers_per_stage = std::move(layers_per_stage);
    checkpoints_ = std::make_shared<stages::SafetensorsCheckpoint>(options_.config);
}

PeerId RunWorld::add_server() {
    return add_server(++servers_, options_.peer);
}

PeerId RunWorld::add_server(std::uint64_t number, const PeerOptions& machine) {
    const PeerId id = peer(number);
    world_.add_peer(
        id,
        [this, id, memory_bytes = machine.memory_bytes](swarm::Incarnation incarnation) {
            stages::StageServer::Options options;
            options.self = id;
            options.incarnation = incarnation;
            options.coordinator = coordinator();
            options.own_address = "sim:" + std::to_string(id.words[0]);
            options.bugs = options_.bugs;
            options.memory_bytes = memory_bytes;
            options.slice_bytes_max = options_.slice_bytes_max;
            options.keeps_state = options_.servers_keep_state;
            options.cached = kept(id, stages::StateCache::kFileName);
            options.unsent = kept(id, stages::StateCache::kUnsentFileName);
            options.make_compute = [this](const RunConfig& config, const auto& layout) {
                return swarm::Result<std::unique_ptr<stages::StageCompute>>(
                    options_.make_compute(config, layout)
                );
            };
            std::unique_ptr<node::Role> server =
                std::make_unique<stages::StageServer>(std::move(options));
            return is_liar(id) ? as_liar(id, std::move(server), {}) : std::move(server);
        },
        machine
    );
    return id;
}

void RunWorld::add_stranger(std::uint64_t servers) {
    constexpr std::uint64_t kFirst = 2'000'000;
    const PeerId id = peer(kFirst + strangers_++);
    options_.liars.insert(id.words[0]);
    checker_.add_liar(id);
    std::vector<PeerId> victims;
    for (std::uint64_t number = 1; number <= servers; ++number) {
        victims.push_back(peer(number));
    }
    world_.add_peer(id, [this, id, victims](swarm::Incarnation) {
        return as_liar(id, nullptr, victims);
    });
}

std::unique_ptr<node::Role> RunWorld::as_liar(
    PeerId id, std::unique_ptr<node::Role> honest, std::vector<PeerId> victims
) {
    Liar::Options options;
    options.self = id;
    options.coordinator = coordinator();
    options.seed = options_.seed;
    options.victims = std::move(victims);
    options.may_lie = [this, id] { return may_lie(id); };
    options.counts = lies_;
    options.bent = options_.bent;
    return std::make_unique<Liar>(std::move(options), std::move(honest));
}

bool RunWorld::may_lie(PeerId liar) const {
    const auto* const boss = coordinator_role();
    if (boss == nullptr || liars_are_hushed_) {
        return false;
    }
    const swarm::run::Roster& roster = boss->context().roster;
    const auto* const info = roster.find_peer(liar);
    if (!info || info->standing == swarm::protocol::Standing::Observer) {
        return true;
    }
    const std::vector<swarm::SlotId> members = roster.members(info->stage);
    const auto liars =
        static_cast<std::size_t>(std::ranges::count_if(members, [&](swarm::SlotId slot) {
            return is_liar(roster.find(slot)->peer);
        }));
    return 2 * liars < members.size();
}

std::optional<stages::CachedState> RunWorld::kept(PeerId id, const std::string& name) const {
    if (!options_.servers_keep_state) {
        return std::nullopt;
    }
    const auto& files = world_.disk(id).files();
    const auto found = files.find(name);
    if (found == files.end()) {
        return std::nullopt;
    }
    std::istringstream file(
        std::string(reinterpret_cast<const char*>(found->second.data()), found->second.size())
    );
    auto state = stages::parse_cached_state(file);
    return state ? std::optional(std::move(*state)) : std::nullopt;
}

bool RunWorld::run(swarm::Duration limit) {
    return world_.run_until([this] { return finished(); }, limit);
}

void RunWorld::hear(PeerId from, const node::Report& report) {
    checker_.on_report(from, report);
    if (report_observer_) {
        report_observer_(from, report);
    }
    if (const auto* step = std::get_if<node::StepCommitted>(&report)) {
        steps_.push_back(*step);
        committed_at_ = world_.now();
        note(from, "committed step " + std::to_string(step->step));
    } else if (const auto* skip = std::get_if<node::StepSkipped>(&report)) {
        skipped_.push_back(*skip);
    } else if (const auto* share = std::get_if<node::WorkCounted>(&report)) {
        shares_[{share->stage, share->peer}] += share->microbatches;
    } else if (const auto* finished = std::get_if<node::RunFinished>(&report)) {
        weights_sha256_ = finished->weights_sha256;
    } else if (const auto* failed = std::get_if<node::RunFailed>(&report)) {
        if (from == coordinator()) {
            failure_ = *failed;
        } else {
            note(from, "gave up: " + failed->text);
            world_.stop_next(from);  // the process of `swarm serve` does the same
        }
    } else if (const auto* change = std::get_if<node::PeerChanged>(&report)) {
        const bool is_fenced = change->change == node::PeerChange::Fenced;
        fenced_ += is_fenced ? 1 : 0;
        fenced_honest_ += is_fenced && !is_liar(change->peer) ? 1 : 0;
        moves_ += change->change == node::PeerChange::Moved ? 1 : 0;
        const int kind = static_cast<int>(change->change);
        note(change->peer, "change " + std::to_string(kind) + " " + change->reason);
    } else if (const auto* line = std::get_if<node::LogLine>(&report)) {
        note(from, line->text);
    }
}

void RunWorld::note(PeerId about, const std::string& text) {
    std::ostringstream line;
    const std::chrono::duration<double> now = world_.now().time_since_epoch();
    line << std::fixed << std::setprecision(3) << now.count() << " s, "
         << (is_liar(about) ? "liar " : "peer ") << about.words[0] << ": " << text;
    log_.push_back(std::move(line).str());
}

std::string RunWorld::verdict(const Reference& reference) const {
    if (!violations().empty()) {
        return violations().front();
    }
    if (failure_) {
        return "the run failed: " + failure_->text;
    }
    if (!weights_sha256_) {
        return "the run has not finished after step " + std::to_string(steps_.size());
    }
    for (const node::StepCommitted& step : steps_) {
        const double expected = reference.losses.at(step.step);
        if (std::bit_cast<std::uint64_t>(expected) != std::bit_cast<std::uint64_t>(step.loss)) {
            return "the loss of step " + std::to_string(step.step) + " differs";
        }
    }
    return *weights_sha256_ == reference.weights_sha256 ? "" : "the weights differ";
}

std::uint32_t RunWorld::replayed() const {
    std::uint32_t sum = 0;
    for (const node::StepCommitted& step : steps_) {
        sum += step.replayed;
    }
    return sum;
}

const swarm::coordinator::Coordinator* RunWorld::coordinator_role() const {
    return dynamic_cast<const swarm::coordinator::Coordinator*>(world_.role(coordinator()));
}

const stages::StageServer* RunWorld::server(PeerId id) const {
    return dynamic_cast<const stages::StageServer*>(world_.role(id));
}

}  // namespace sim
