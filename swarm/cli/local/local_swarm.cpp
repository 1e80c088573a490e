#include "swarm/cli/local/local_swarm.hpp"

#include "stages/checkpoint_manifest.hpp"
#include "swarm/cli/exit_code.hpp"
#include "swarm/cli/run_setup.hpp"
#include "swarm/cli/train.hpp"
#include "swarm/net/identity.hpp"
#include "swarm/run/leg_codecs.hpp"

#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <csignal>
#include <utility>

namespace swarm::cli {
namespace {

constexpr auto kGoodbye = std::chrono::seconds(5);

}  // namespace

LocalSwarm::LocalSwarm(
    const LocalOptions& options,
    const ChurnPlan& churn,
    const run::RunConfig& config,
    std::filesystem::path directory,
    Console& console
)
    : options_(options),
      churn_(churn),
      config_(config),
      directory_(std::move(directory)),
      console_(console),
      progress_(console, config),
      report_(config),
      chaos_(config.seed),
      lines_(options),
      demo_(config.steps),
      service_ms_(options.service_ms),
      child_signals_(loop_.io(), SIGCHLD),
      resume_timer_(loop_.io()) {
    loop_.on_signal([this](int number) { end(after_signal(number)); });
    report_.set_line_delay(options.line_delay);
    await_children();
}

LocalSwarm::~LocalSwarm() = default;

int LocalSwarm::train() {
    if (const Result<> started = start_coordinator(false); !started) {
        end(started.error());
    }
    loop_.run_until([this] { return exit_code_.has_value(); });
    calm_down();
    wait_for_goodbyes();
    coordinator_.reset();
    return *exit_code_;
}

int LocalSwarm::verify() {
    console_.info("training the same run in one process");
    RunReport single(config_);
    std::optional<int> ended;
    const std::filesystem::path log = directory_ / "single.log";
    Child::Spec spec{
        {"train",
         (directory_ / kRunFileName).string(),
         "--single",
         "--device",
         options_.device,
         "--dir",
         (directory_ / "single").string()},
        log,
        false,
        true};
    if (run::chooses_codecs(config_) || config_.split == run::kMeasuredSplit) {
        spec.arguments.insert(
            spec.arguments.end(), {"--codecs-from", (directory_ / "run").string()}
        );
    }
    Result<Child> child = Child::start(spec);
    if (!child) {
        return end_with(console_, child.error());
    }
    exit_code_.reset();
    ReportedChild reported(
        loop_.io(),
        std::move(*child),
        [&](const TrainReport& report) { single.add(report, clock_now()); },
        [&](int exit_code) { ended = exit_code; }
    );
    loop_.run_until([&] { return ended || exit_code_; });
    if (exit_code_) {
        return *exit_code_;
    }
    if (*ended != kDone) {
        console_.error("the run in one process failed: " + last_line(log));
        return *ended;
    }
    const Verification result =
        compare_runs(report_.losses(), report_.weights(), single.losses(), single.weights());
    report_.set_verification(result);
    if (!result.equal) {
        console_.error("not equal to one process: " + *result.first_difference);
        return kRunFailed;
    }
    console_.info("equal to one process: every loss and all weights, bit for bit");
    return kDone;
}

Result<> LocalSwarm::start_coordinator(bool resume) {
    coordinator_killed_ = false;
    Child::Spec spec{{"train"}, directory_ / "coordinator.log", false, true};
    std::vector<std::string>& arguments = spec.arguments;
    if (resume) {
        arguments.emplace_back("--resume");
    } else {
        arguments.push_back((directory_ / kRunFileName).string());
    }
    const std::string listen = resume ? listens_ : "127.0.0.1:0";
    const std::string directory = (directory_ / "run").string();
    arguments.insert(arguments.end(), {"--dir", directory, "--listen", listen});
    if (options_.prompt) {
        arguments.emplace_back("--hold");
    }
    Result<Child> child = Child::start(spec);
    if (!child) {
        return child.error();
    }
    coordinator_ = std::make_unique<ReportedChild>(
        loop_.io(),
        std::move(*child),
        [this](const TrainReport& report) { on_report(report); },
        [this](int exit_code) { on_coordinator_end(exit_code); }
    );
    return {};
}

Result<> LocalSwarm::add_peer(std::uint32_t service_ms) {
    auto peer = std::make_unique<Peer>(loop_.io());
    peer->name = "peer-" + std::to_string(peers_.size());
    peer->service_ms = service_ms;
    const Result<net::Identity> identity =
        net::Identity::load_or_create(directory_ / (peer->name + ".pem"));
    if (!identity) {
        return identity.error();
    }
    peer->id = identity->peer();
    Result<LocalLines::Place> place = lines_.next_place();
    if (!place) {
        return place.error();
    }
    peer->addresses = std::move(place->serve_flags);
    report_.add_peer(peer->id, {service_ms, place->bytes_per_s});
    peers_.push_back(std::move(peer));
    return start_peer(*peers_.back());
}

Result<> LocalSwarm::start_peer(Peer& peer) {
    Child::Spec spec{
        {"serve",
         "--join",
         address_,
         "--device",
         options_.device,
         "--key",
         (directory_ / (peer.name + ".pem")).string(),
         "--service-ms",
         std::to_string(peer.service_ms),
         "--memory",
         std::to_string(options_.memory_bytes)},
        directory_ / (peer.name + ".log")};
    spec.arguments.insert(spec.arguments.end(), peer.addresses.begin(), peer.addresses.end());
    Result<Child> child = Child::start(spec);
    if (!child) {
        return child.error();
    }
    peer.process.emplace(std::move(*child));
    peer.expected_to_end = false;
    chaos_.started(peer.id);
    return {};
}

void LocalSwarm::on_report(const TrainReport& report) {
    report_.add(report, clock_now());
    progress_.show(report);
    if (const auto* const listening = std::get_if<Listening>(&report)) {
        on_listening(listening->address);
    } else if (const auto* const step = std::get_if<node::StepCommitted>(&report)) {
        on_committed(*step);
    } else if (const auto* const changed = std::get_if<node::PeerChanged>(&report)) {
        chaos_.on(*changed);
    } else if (std::holds_alternative<node::RunFinished>(report)) {
        on_finished();
    }
}

void LocalSwarm::on_listening(const std::string& address) {
    if (!std::exchange(listens_, address).empty()) {
        return;  // it was resumed
    }
    Result<std::string> front = lines_.in_front_of(address);
    if (!front) {
        end(front.error());
        return;
    }
    address_ = std::move(*front);
    for (std::uint32_t i = 0; i < options_.peers; ++i) {
        const std::uint32_t service_ms =
            service_ms_.empty() ? 0 : service_ms_[i % service_ms_.size()];
        if (const Result<> added = add_peer(service_ms); !added) {
            end(added.error());
            return;
        }
    }
    disturb_by_the_clock();
}

void LocalSwarm::on_committed(const node::StepCommitted& step) {
    chaos_.on(step);
    if (step.step + 1 >= config_.steps) {
        calm_down();
    } else if (options_.demo) {
        const DemoScript::Act act = demo_.due(step.step);
        const std::optional<PeerId> victim =
            act == DemoScript::Act::None ? std::nullopt : chaos_.pick();
        if (victim && act == DemoScript::Act::Freeze) {
            freeze(*find(*victim), DemoScript::kFreezeTime);
            demo_.done(act, *victim);
        } else if (victim) {
            kill(*find(*victim), false);
            demo_.done(act, *victim);
        }
    }
}

void LocalSwarm::on_finished() {
    calm_down();
    if (options_.prompt) {
        generate();
    }
}

void LocalSwarm::generate() {
    Child::Spec spec{
        {"generate",
         "--join",
         address_,
         "--tokens",
         std::to_string(options_.tokens),
         "--temperature",
         "0.7",  // the likeliest letter of a small model is always "the"
         "--seed",
         "1"},
        directory_ / "generate.log",
        true};
    std::vector<std::string>& arguments = spec.arguments;
    if (!config_.tokenizer_sha256.empty()) {
        const std::string file = (directory_ / "run" / stages::kTokenizerFile).string();
        arguments.insert(arguments.end(), {"--tokenizer", file});
    }
    arguments.insert(arguments.end(), {"--", *options_.prompt});
    Result<Child> child = Child::start(spec);
    if (!child) {
        end(child.error());
        return;
    }
    generator_.emplace(std::move(*child));
}

void LocalSwarm::on_coordinator_end(int exit_code) {
    if (coordinator_killed_) {
        return;  // resume_timer_ starts the next one
    }
    if (exit_code != kDone) {
        console_.error(last_line(directory_ / "coordinator.log"));
    }
    end(exit_code);
}

void LocalSwarm::wait_for_goodbyes() {
    const bool gone = loop_.run_until(
        [this] {
            return *exit_code_ != kDone ||
                   std::all_of(peers_.begin(), peers_.end(), [](const auto& peer) {
                       return !peer->process || peer->process->poll();
                   });
        },
        kGoodbye
    );
    if (!gone) {
        console_.warn("a peer did not hear that the run has ended: it is killed");
    }
    for (const auto& peer : peers_) {
        peer->process.reset();
    }
    generator_.reset();
}

void LocalSwarm::end(int exit_code) {
    exit_code_ = exit_code_.value_or(exit_code);
}

void LocalSwarm::end(const Error& error) {
    console_.error(error.detail);
    end(kRunFailed);
}

}  // namespace swarm::cli
