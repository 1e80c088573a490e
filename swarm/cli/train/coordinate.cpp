#include "swarm/cli/train/coordinate.hpp"

#include "stages/files/checkpoint.hpp"
#include "stages/worker/first_state.hpp"
#include "swarm/base/idle_memory.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/common/clock.hpp"
#include "swarm/cli/common/files.hpp"
#include "swarm/cli/common/own_address.hpp"
#include "swarm/cli/common/swarm_key.hpp"
#include "swarm/cli/owners/owner_key.hpp"
#include "swarm/cli/owners/qr_code.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/cli/terminal/stop_presses.hpp"
#include "swarm/cli/train/best_keeper.hpp"
#include "swarm/cli/train/train_reports.hpp"
#include "swarm/cli/web/run_web.hpp"
#include "swarm/coordinator/coordinator.hpp"
#include "swarm/net/host.hpp"
#include "swarm/run/run_file/config_changes.hpp"
#include "swarm/run/versions.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

namespace swarm::cli {
namespace {

constexpr auto kGoodbye = std::chrono::seconds(5);

/// Ends the line about a disk that failed.
constexpr const char* kGoOn = "; then go on with --resume: nothing that was committed is lost";

/// Names the addresses after the first, for peers that cannot use that one.
std::string others_of(const std::vector<net::Address>& addresses, const PeerId& owner) {
    std::string text;
    for (std::size_t i = 1; i < addresses.size(); ++i) {
        text += (i == 1 ? "\nor, from a network where that does not answer, with " : ", ") +
                join_text(owner, net::to_text(addresses[i]));
    }
    return text;
}

/// One life of the coordinator, until the run ends or begins again from a checkpoint.
class Coordination {
 public:
    Coordination(
        const TrainOptions& options,
        RunDirectory directory,
        const TrainingText& text,
        TrainReports& reports,
        Console& console
    )
        : options_(options),
          directory_(std::move(directory)),
          text_(text),
          console_(console),
          reports_(reports),
          best_(directory_.path) {}

    /// Returns the exit code. nullopt: the next life may go on from the newest checkpoint, because
    /// a stage is lost or the stages are to be cut anew.
    std::optional<int> run() {
        if (const Result<> started = start(); !started) {
            return end_with(console_, started.error());
        }
        loop_.on_signal([this](int number) { on_signal(number); });
        loop_.run_until([this] {
            return exit_code_ || coordinator_->complete() || !cut_anew().empty() ||
                   host_->failure() || lost_rows();
        });
        host_->stop();
        if (!loop_.run_until([this] { return host_->finished(); }, kGoodbye)) {
            console_.warn("some peers did not take the goodbye");
        }
        pruner_.join();
        if (host_->failure()) {
            stages::remove_unfinished_checkpoints(directory_.path);
            console_.error(host_->failure()->detail + kGoOn);
            exit_code_ = kRunFailed;
        }
        if (lost_rows()) {
            console_.error(text_.rows->failure()->detail + kGoOn);
            exit_code_ = kRunFailed;
        }
        if (coordinator_->lost_stage() || (!exit_code_ && !cut_anew().empty())) {
            return std::nullopt;
        }
        return exit_code_.value_or(kDone);
    }

    /// The address on which the host listened; peers redial it.
    [[nodiscard]] const std::string& address() const { return address_; }

    /// New layers of each stage; empty: the stages stay as they are.
    [[nodiscard]] const std::vector<std::uint32_t>& cut_anew() const {
        return coordinator_->cut_anew();
    }

    [[nodiscard]] std::uint64_t step() const { return coordinator_->context().version.step; }

    /// Writes the new layers of each stage to run.toml.
    Result<> write_cut() {
        directory_.config.layers_per_stage = cut_anew();
        return write_run_files(directory_);
    }

 private:
    /// A shard was changed under the run: the step that reads it is not counted.
    [[nodiscard]] bool lost_rows() const { return text_.rows && text_.rows->failure(); }

    Result<> start() {
        SWARM_TRY(const net::Address listen, parse_listen_address(options_.listen));
        SWARM_TRY(std::string swarm_key, read_swarm_key(options_.swarm_key_file));
        if (!directory_.resumed.empty()) {
            checkpoint_ = directory_.resumed.front().version().step;
        }
        recall_losses(*directory_.store);
        SWARM_TRY(
            net::Identity identity, net::Identity::load_or_create(directory_.path / "key.pem")
        );
        const auto owner = owner_key(listen, console_);
        if (owner) {
            identity.let_vouch(*owner);
        }
        auto role = std::make_unique<coordinator::Coordinator>(coordinator_options());
        coordinator_ = role.get();
        net::HostOptions host_options;
        host_options.swarm_key = std::move(swarm_key);
        host_options.listen_address = listen.host;
        host_options.listen_port = listen.port;
        host_options.on_tell = [this](const node::Report& report) { on_tell(report); };
        host_.emplace(loop_, std::move(role), std::move(*directory_.store), identity, host_options);
        SWARM_TRY(const std::uint16_t port, host_->listen());
        const net::Address listening{listen.host, port};
        address_ = net::to_text(listening);
        announce(advertised_addresses(listening, nullptr), owner ? owner->peer() : identity.peer());
        loop_.give_idle_memory_back(IdleMemory::kLooks
        );  // a first state and checkpoints are large, and pass
        SWARM_TRY(show());
        host_->start();
        return {};
    }

    /// Shows the run to browsers, if that is asked for.
    Result<> show() {
        if (options_.http.empty()) {
            return {};
        }
        web_.emplace(loop_, reports_.state());
        SWARM_TRY(const std::string url, web_->listen(options_.http));
        console_.info("watch the run at " + url);
        return {};
    }

    void report_to_all(const TrainReport& report) {
        reports_.add(report);
        if (web_) {
            web_->changed(clock_now());
        }
    }

    coordinator::Coordinator::Options coordinator_options() {
        coordinator::Coordinator::Options options{
            directory_.config,
            text_.corpus,
            std::make_shared<stages::SafetensorsCheckpoint>(
                directory_.config, directory_.tokenizer
            ),
            [config = directory_.config](StageIndex stage) {
                return stages::first_state_hash(config, run::partition(config)[stage.value]);
            }};
        options.tokenizer = directory_.tokenizer;
        options.rows = text_.rows.get();
        options.held_out = text_.held_out;
        options.best_held_out = best_.best_loss();
        options.on_held_out = [this](const run::HeldOutLosses& losses) { on_held_out(losses); };
        options.on_patience_over = [this](std::uint64_t step, const std::string& reason) {
            on_patience_over({step, directory_.config.eval.patience, reason});
        };
        if (directory_.is_over()) {
            options.ended_after = directory_.ended->step;
        }
        options.settings = run::peer_settings(directory_.config);
        options.resume = as_run_state(std::move(directory_.resumed));
        if (options.resume) {  // files count steps, versions count exchanges, too
            std::uint64_t& version = options.resume->version.step;
            version = run::version_after(directory_.config, version);
        }
        options.stage_lost_after = options_.stage_lost_after;
        return options;
    }

    /// Reports the losses that earlier processes of this run have committed.
    void recall_losses(const net::FileStore& store) {
        const Result<std::vector<std::string>> records = store.load();
        if (!records) {
            return;  // the role will meet the same error and report it
        }
        if (const Result<coordinator::RunHistory> history = coordinator::replay_log(*records);
            history) {
            for (const auto& [step, loss] : history->losses) {
                reports_.add(PastLoss{step, loss});
            }
        }
    }

    void announce(const std::vector<net::Address>& addresses, const PeerId& owner) {
        const std::string text = net::to_text(addresses.front());
        const std::string join = join_text(owner, text);
        const std::string key =
            options_.swarm_key_file.empty() ? "" : " --swarm-key " + options_.swarm_key_file;
        const run::RunConfig& config = directory_.config;
        const std::uint32_t peers = std::max(config.min_peers, config.stages);
        console_.info(
            "waiting for " + std::to_string(peers) + (peers == 1 ? " peer" : " peers") +
            ", at least one for each of " + std::to_string(config.stages) +
            " stages; on each of them type\n  swarm serve --join " + join + key +
            others_of(addresses, owner)
        );
        if (options_.qr) {
            show_qr_code(join, console_);
        }
        reports_.add(Listening{text, join});
    }

    void on_tell(const node::Report& report) {
        if (const auto* const line = std::get_if<node::LogLine>(&report)) {
            console_.log(line->level, line->text);
        } else if (const auto* const written = std::get_if<node::CheckpointWritten>(&report)) {
            console_.info("wrote " + (directory_.path / written->where).string());
            checkpoint_ = run::steps_before(directory_.config, written->version.step);
            prune(*checkpoint_, written->where);
        }
        if (const std::optional<TrainReport> wanted = as_train_report(report)) {
            report_to_all(*wanted);
            warn_of_repeats();
        }
        if (const auto* const failed = std::get_if<node::RunFailed>(&report)) {
            // After a lost stage coordinate() prints what follows.
            if (!coordinator_->lost_stage()) {
                console_.error(failed->text);
            }
            exit_code_ = failed->exit_code;
        } else if (std::holds_alternative<node::RunFinished>(report)) {
            finished_ = true;
            if (options_.hold) {
                console_.info("trained; the peers stay until Ctrl-C");
            } else {
                release();
            }
        }
    }

    void warn_of_repeats() {
        if (text_.rows) {
            for (const std::string& repeat : text_.rows->take_repeats()) {
                console_.warn(repeat);
            }
        }
    }

    void on_held_out(const run::HeldOutLosses& losses) {
        report_to_all(describe(directory_.config, text_.held_out, losses));
        beside_the_loop([this, losses] { return best_.evaluated(losses.step, losses.loss); });
    }

    void on_patience_over(const PatienceEnd& end) {
        report_to_all(PatienceOver{end.step, end.reason});
        beside_the_loop([this, end] { return write_patience_end(directory_.path, end); });
    }

    /// Marks the best checkpoint, and removes old ones.
    void prune(std::uint64_t step, const std::string& newest) {
        beside_the_loop([this, step, newest] { return best_.written(step, newest); });
        beside_the_loop([this, newest] {
            return stages::prune_checkpoints(directory_.path, newest, directory_.config);
        });
    }

    /// A disk may take long. What is posted runs in order, on one thread.
    template <class Work>
    void beside_the_loop(Work work) {
        boost::asio::post(pruner_, [this, work] {
            if (const Result<> done = work(); !done) {
                loop_.post([this, error = done.error()] { console_.warn(error.detail); });
            }
        });
    }

    void on_signal(int number) {
        const StopPress press = presses_.note(clock_now());
        if (press == StopPress::Echo) {
            return;
        }
        if (press == StopPress::Next && !(finished_ && options_.hold && !released_)) {
            std::_Exit(after_signal(number));
        }
        if (finished_ && options_.hold) {
            release();
        } else {
            console_.info(what_is_kept());
            exit_code_ = after_signal(number);
        }
    }

    /// Says after a signal from where --resume goes on.
    std::string what_is_kept() const {
        const std::uint64_t step =
            run::steps_before(directory_.config, coordinator_->context().version.step);
        if (step == 0) {
            return "stopping before the first step; begin again with --resume";
        }
        std::string text = "stopping after step " + std::to_string(step) +
                           "; --resume goes on from there while a peer of each stage lives";
        if (checkpoint_) {
            return text + ", else from the checkpoint of step " + std::to_string(*checkpoint_);
        }
        return text + "; there is no checkpoint yet, see [run] checkpoint_every";
    }

    void release() {
        released_ = true;
        host_->ask({node::ReleaseRequest{}});
    }

    const TrainOptions& options_;
    RunDirectory directory_;
    const TrainingText& text_;
    Console& console_;
    TrainReports& reports_;
    std::string address_;
    net::EventLoop loop_;
    const coordinator::Coordinator* coordinator_ = nullptr;  // owned by the host
    std::optional<net::Host> host_;
    std::optional<std::uint64_t> checkpoint_;  // step of the newest one; none: there is none
    std::optional<int> exit_code_;
    bool finished_ = false;
    bool released_ = false;
    StopPresses presses_;
    std::optional<RunWeb> web_;
    BestKeeper best_;  // used by pruner_ alone once the run goes on
    boost::asio::thread_pool pruner_{1};  // last, because its work uses the members above
};

}  // namespace

int coordinate(
    const TrainOptions& given, RunDirectory directory, const TrainingText& text, Console& console
) {
    TrainOptions options = given;
    TrainReports reports(console, options, directory.config, directory.path);
    for (;;) {
        options.directory = directory.path.string();
        bool cut = false;
        {  // the folder is locked until this life is over
            Coordination life(options, std::move(directory), text, reports, console);
            if (const std::optional<int> exit_code = life.run()) {
                const bool written = reports.finish();
                return *exit_code == kDone && !written ? kRunFailed : *exit_code;
            }
            cut = !life.cut_anew().empty();
            if (cut) {
                reports.add(StagesCut{life.step(), life.cut_anew()});
                if (const Result<> written = life.write_cut(); !written) {
                    static_cast<void>(reports.finish());
                    return end_with(console, written.error());
                }
            }
            options.listen = life.address();
        }
        options.resume = true;
        options.run_file.clear();
        options.run = {};  // run.toml has all values
        Result<RunDirectory> newest = open_run_directory(options);
        if (!newest) {
            static_cast<void>(reports.finish());
            return end_with(console, newest.error());
        }
        if (newest->resumed.empty()) {
            console.error(
                "a stage had no peer for too long, and there is no checkpoint to go on from; set "
                "[run] checkpoint_every"
            );
            static_cast<void>(reports.finish());
            return kRunFailed;
        }
        for (const std::string& notice : newest->notices) {
            console.warn(notice);
        }
        directory = std::move(*newest);
        if (!cut) {
            console.warn("a stage had no peer for too long: its peers get the newest checkpoint");
        }
    }
}

}  // namespace swarm::cli
