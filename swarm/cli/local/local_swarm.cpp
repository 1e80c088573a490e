#include "swarm/cli/local/local_swarm.hpp"

#include "swarm/base/try.hpp"
#include "swarm/cli/common/clock.hpp"
#include "swarm/cli/setup/run_setup.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/run/leg_codecs.hpp"

#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <csignal>
#include <utility>

namespace swarm::cli {
namespace {

constexpr auto kGoodbye = std::chrono::seconds(5);
constexpr auto kRestartAfter = std::chrono::seconds(2);
constexpr const char* kCoordinator = "coordinator";
constexpr const char* kGenerator = "generate";
constexpr const char* kSingle = "single";

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
      progress_(console, config, options.log_every),
      report_(config),
      shown_(loop_, config),
      chaos_(config.seed),
      demo_(config.steps),
      resume_timer_(loop_.io()),
      fleet_(
          loop_,
          options,
          directory_,
          {[this](Peer& peer, int exit_code) { on_peer_end(peer, exit_code); },
           [this] { on_child(); }}
      ) {
    loop_.on_signal([this](int number) { end(after_signal(number)); });
    report_.set_line_delay(options.line_delay);
}

int LocalSwarm::train() {
    if (const Result<> shown = shown_.listen(options_.http, console_); !shown) {
        return end_with(console_, shown.error());
    }
    if (const Result<> started = start_coordinator(Begin::New); !started) {
        end(started.error());
    }
    loop_.run_until([this] { return exit_code_.has_value(); });
    fleet_.calm_down();
    wait_for_goodbyes();
    coordinator_.reset();
    progress_.finish();
    return *exit_code_;
}

int LocalSwarm::verify() {
    console_.info("training the same run in one process");
    RunReport single(config_);
    std::optional<int> ended;
    const std::filesystem::path log = fleet_.log_of(kSingle);
    Child::Spec spec{
        {"train",
         (directory_ / kRunFileName).string(),
         "--single",
         "--device",
         options_.device,
         "--threads",
         threads_of_peer(),
         "--dir",
         (directory_ / kSingle).string()},
        log,
        Child::Output::Log,
        Child::Reports::Sent};
    if (run::chooses_codecs(config_) || config_.split == run::SplitMode::Measured) {
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

Result<> LocalSwarm::start_coordinator(Begin begin) {
    coordinator_killed_ = false;
    Child::Spec spec{
        {"train"}, fleet_.log_of(kCoordinator), Child::Output::Log, Child::Reports::Sent};
    std::vector<std::string>& arguments = spec.arguments;
    const bool resumed = begin == Begin::Resumed;
    arguments.push_back(resumed ? "--resume" : (directory_ / kRunFileName).string());
    const std::string listen = resumed ? listens_ : "127.0.0.1:0";
    const std::string directory = (directory_ / "run").string();
    arguments.insert(arguments.end(), {"--dir", directory, "--listen", listen});
    if (options_.prompt) {
        arguments.emplace_back("--hold");
    }
    SWARM_TRY(Child child, Child::start(spec));
    coordinator_ = std::make_unique<ReportedChild>(
        loop_.io(),
        std::move(child),
        [this](const TrainReport& report) { on_report(report); },
        [this](int exit_code) { on_coordinator_end(exit_code); }
    );
    return {};
}

Result<> LocalSwarm::add_peer(std::uint32_t service_ms) {
    std::vector<std::string> flags{
        "--device",
        options_.device,
        "--threads",
        threads_of_peer(),
        "--memory",
        std::to_string(options_.memory_bytes)};
    std::string name = "peer-" + std::to_string(fleet_.peers().size());
    SWARM_TRY(Peer* const peer, fleet_.add(std::move(name), service_ms, std::move(flags)));
    report_.add_peer(peer->id, {service_ms, peer->line_bytes_per_s});
    return start(*peer);
}

/// A newcomer takes the place of a dead peer, so no more peers than these compute at once.
std::string LocalSwarm::threads_of_peer() const {
    return std::to_string(threads_to_train(options_.threads, options_.peers));
}

Result<> LocalSwarm::start(Peer& peer) {
    SWARM_TRY(fleet_.start(peer));
    chaos_.started(peer.id);
    return {};
}

void LocalSwarm::on_report(const TrainReport& report) {
    report_.add(report, clock_now());
    progress_.show(report);
    shown_.add(report);
    if (const auto* const listening = std::get_if<Listening>(&report)) {
        on_listening(listening->address);
    } else if (const auto* const step = std::get_if<node::StepCommitted>(&report)) {
        on_committed(*step);
    } else if (const auto* const changed = std::get_if<node::PeerChanged>(&report)) {
        chaos_.on(*changed);
    } else if (std::holds_alternative<PatienceOver>(report)) {
        fleet_.calm_down();  // there is no step left to disturb
    } else if (std::holds_alternative<node::RunFinished>(report)) {
        on_finished();
    }
}

void LocalSwarm::on_listening(const std::string& address) {
    if (!std::exchange(listens_, address).empty()) {
        return;  // the coordinator was resumed
    }
    if (const Result<> joined = fleet_.join(address); !joined) {
        end(joined.error());
        return;
    }
    const std::vector<std::uint32_t>& paces = options_.service_ms;
    for (std::uint32_t i = 0; i < options_.peers; ++i) {
        if (const Result<> added = add_peer(paces.empty() ? 0 : paces[i % paces.size()]); !added) {
            end(added.error());
            return;
        }
    }
    disturb_by_the_clock();
}

void LocalSwarm::on_committed(const node::StepCommitted& step) {
    chaos_.on(step);
    if (step.step + 1 >= config_.steps) {
        fleet_.calm_down();
        return;
    }
    if (step.step + 1 == churn_.kill_after_step) {
        kill_somebody();
    }
    if (options_.demo) {
        const DemoScript::Act act = demo_.due(step.step);
        const std::optional<PeerId> victim =
            act == DemoScript::Act::None ? std::nullopt : chaos_.pick();
        if (victim && act == DemoScript::Act::Freeze) {
            freeze(*fleet_.find(*victim), DemoScript::kFreezeTime);
            demo_.done(act, *victim);
        } else if (victim) {
            kill(*fleet_.find(*victim), Afterwards::Newcomer);
            demo_.done(act, *victim);
        }
    }
}

void LocalSwarm::on_finished() {
    fleet_.calm_down();
    if (options_.prompt) {
        generate();
    }
}

void LocalSwarm::generate() {
    Child::Spec spec{
        {"generate",
         "--join",
         fleet_.address(),
         "--tokens",
         std::to_string(options_.tokens),
         "--temperature",
         "0.7",  // the likeliest word of a small model is always "the"
         "--seed",
         "1"},
        fleet_.log_of(kGenerator),
        Child::Output::Stdout};
    std::vector<std::string>& arguments = spec.arguments;
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
        console_.error(last_line(fleet_.log_of(kCoordinator)));
    }
    end(exit_code);
}

void LocalSwarm::disturb_by_the_clock() {
    const std::pair<std::optional<Duration>, void (LocalSwarm::*)()> kinds[] = {
        {churn_.kill_every, &LocalSwarm::kill_somebody},
        {churn_.freeze_every, &LocalSwarm::freeze_somebody},
        {churn_.drain_every, &LocalSwarm::drain_somebody},
        {churn_.coordinator_kill_every, &LocalSwarm::kill_coordinator},
        {options_.cut_every, &LocalSwarm::cut_something}};
    for (const auto& [every, act] : kinds) {
        if (every) {
            fleet_.repeat(
                [this, mean = *every] { return chaos_.pause(mean); },
                [this, act = act] { (this->*act)(); }
            );
        }
    }
}

void LocalSwarm::kill_somebody() {
    if (const std::optional<PeerId> victim = chaos_.pick()) {
        kill(*fleet_.find(*victim), Afterwards::Restart);
    }
}

void LocalSwarm::freeze_somebody() {
    if (const std::optional<PeerId> victim = chaos_.pick()) {
        freeze(*fleet_.find(*victim), chaos_.draw(churn_.freeze_shortest, churn_.freeze_longest));
    }
}

void LocalSwarm::drain_somebody() {
    const std::optional<PeerId> leaver = chaos_.pick();
    if (!leaver) {
        return;
    }
    Peer& peer = *fleet_.find(*leaver);
    draining_.insert(peer.id);
    peer.process->signal(SIGINT);
    chaos_.ended(peer.id);
    report_.events().drain(peer.id, clock_now());
    console_.warn(peer.name + " (" + short_name(peer.id) + ") is told to leave");
}

void LocalSwarm::kill_coordinator() {
    if (coordinator_killed_ || report_.losses().empty()) {
        return;
    }
    coordinator_killed_ = true;
    coordinator_->signal(SIGKILL);
    chaos_.coordinator_ended();
    report_.events().kill_coordinator(clock_now());
    console_.warn("the coordinator was killed");
    shown_.note("coordinator killed", std::nullopt, "by swarm local; it starts again after 2 s");
    resume_timer_.expires_after(kRestartAfter);
    resume_timer_.async_wait([this](const boost::system::error_code& cancelled) {
        if (cancelled) {
            return;
        }
        if (const Result<> started = start_coordinator(Begin::Resumed); !started) {
            end(started.error());
        }
    });
}

void LocalSwarm::cut_something() {
    fleet_.cut_connection(chaos_.draw());
    report_.events().cut(clock_now());
    console_.warn("a connection was cut");
}

void LocalSwarm::kill(Peer& peer, Afterwards afterwards) {
    fleet_.kill(peer);
    chaos_.ended(peer.id);
    report_.events().kill(peer.id, clock_now());
    console_.warn(peer.name + " (" + short_name(peer.id) + ") was killed");
    shown_.note_end(peer.id, "killed by swarm local");
    if (afterwards == Afterwards::Newcomer) {
        add_successor(peer);
        return;
    }
    fleet_.after(peer, kRestartAfter, [this, &peer] {
        report_.events().start(peer.id, clock_now());
        if (const Result<> started = start(peer); !started) {
            end(started.error());
        }
    });
}

void LocalSwarm::add_successor(Peer& peer) {
    fleet_.after(peer, kRestartAfter, [this, service_ms = peer.service_ms] {
        if (const Result<> added = add_peer(service_ms); !added) {
            end(added.error());
            return;
        }
        const PeerId newcomer = fleet_.peers().back()->id;
        report_.events().start(newcomer, clock_now());
        if (demo_.killed() && !demo_.newcomer()) {
            demo_.joined(newcomer);
        }
    });
}

void LocalSwarm::freeze(Peer& peer, Duration time) {
    chaos_.frozen(peer.id);
    report_.events().freeze(peer.id, clock_now(), time);
    console_.warn(
        peer.name + " (" + short_name(peer.id) + ") is frozen for " +
        std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(time).count()) + " ms"
    );
    shown_.note("frozen", peer.id, "by swarm local");
    fleet_.freeze(peer, time, [this, id = peer.id] { chaos_.thawed(id); });
}

void LocalSwarm::on_peer_end(Peer& peer, int exit_code) {
    chaos_.ended(peer.id);
    if (draining_.erase(peer.id) > 0) {
        report_.events().left(peer.id, clock_now());
        add_successor(peer);
        return;
    }
    if (exit_code == kDone) {
        return;
    }
    const std::string why = last_line(fleet_.log_of(peer.name));
    const std::string code = "exit code " + std::to_string(exit_code);
    console_.warn(peer.name + " ended with " + code + ": " + why);
    shown_.note_end(peer.id, code);
    if (exit_code == kRejected) {
        end(kRejected);  // the other peers would give the same reason
    }
}

void LocalSwarm::on_child() {
    const std::optional<int> ended = generator_ ? generator_->poll() : std::nullopt;
    if (!ended) {
        return;
    }
    generator_.reset();
    coordinator_->signal(SIGINT);  // the coordinator holds the peers until then
    if (*ended != kDone) {
        console_.error("no text: " + last_line(fleet_.log_of(kGenerator)));
        end(*ended);
    }
}

void LocalSwarm::wait_for_goodbyes() {
    const auto all_ended = [this] {
        return *exit_code_ != kDone ||
               std::none_of(fleet_.peers().begin(), fleet_.peers().end(), [](const auto& peer) {
                   return peer->process.has_value();
               });
    };
    if (!loop_.run_until(all_ended, kGoodbye)) {
        console_.warn("a peer did not hear that the run has ended: it is killed");
    }
    fleet_.end_all();
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
