#include "swarm/cli/local/local_service.hpp"

#include "stacking/row_coding.hpp"
#include "stacking/sessions/directory.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/answer/generate_alone.hpp"
#include "swarm/cli/common/files.hpp"
#include "swarm/cli/local/reported_child.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/cli/terminal/printable.hpp"
#include "swarm/net/address.hpp"
#include "swarm/net/identity.hpp"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <iostream>
#include <memory>
#include <utility>

namespace swarm::cli {
namespace {

namespace json = boost::json;

constexpr auto kReadyWithin = std::chrono::seconds(120);
constexpr auto kRestartServerAfter = std::chrono::milliseconds(200);
constexpr auto kLastAnswers = std::chrono::seconds(2);
constexpr auto kFrozenFor = std::chrono::seconds(3);
constexpr std::uint32_t kStages = 3;

Error cannot(std::string what) {
    return {ErrorCode::Unreachable, Reaction::Fatal, std::move(what)};
}

/// Returns the number of stages of the model, or of each member of the stack.
std::uint32_t stages_of(const LocalOptions& options) {
    return options.run.stages.value_or(
        options.stack.empty() ? std::min(kStages, options.peers) : 1
    );
}

GenerateOptions question_of(const LocalOptions& options) {
    GenerateOptions question;
    question.model = options.run.model.value_or("");
    question.stack = options.stack;
    question.prompt = options.prompt.value_or("");
    question.tokens = options.tokens;
    question.raw = options.raw;
    question.ignore_eos = options.ignore_eos;
    question.temperature = options.temperature;
    question.top_p = options.top_p;
    question.top_k = options.top_k;
    question.stops = options.stops;
    question.system = options.system;
    question.weights = options.weights;
    question.replay = options.replay;
    question.guesses_max = options.guesses_max;
    question.stages = stages_of(options);
    question.path = options.path;
    question.exit_threshold = options.exit_threshold;
    question.threads = options.threads;  // for verify(), when the peers have ended
    if (options.run.codec) {
        question.codecs = stacking::parse_row_codecs(*options.run.codec).value_or(question.codecs);
    }
    return question;
}

}  // namespace

json::object to_json(
    const AnswerRecord& answer,
    const std::vector<ServiceFault>& faults,
    std::optional<bool> is_verified
) {
    json::object report = to_json(answer);
    json::array array;
    for (const ServiceFault& fault : faults) {
        array.push_back(json::object{
            {"kind", fault.kind == ServiceFault::Kind::Kill ? "kill" : "freeze"},
            {"token", fault.token},
            {"peer", short_name(fault.peer)}});
    }
    report["faults"] = std::move(array);
    report["verified"] = is_verified ? json::value(*is_verified) : json::value(nullptr);
    return report;
}

LocalService::LocalService(
    const LocalOptions& options,
    std::vector<ServedPart> parts,
    std::filesystem::path directory,
    Console& console
)
    : options_(options),
      question_(question_of(options)),
      parts_(std::move(parts)),
      directory_(std::move(directory)),
      console_(console),
      fleet_(loop_, options, directory_, {[this](Peer& peer, int exit_code) {
                 on_peer_end(peer, exit_code);
             }}) {
    loop_.on_signal([this](int number) { exit_code_ = after_signal(number); });
}

int LocalService::run() {
    if (const Result<> started = start(); !started) {
        return end_with(console_, started.error());
    }
    const auto all_listed = [this] { return listed_.size() == fleet_.peers().size(); };
    if (!loop_.run_until([&] { return exit_code_ || all_listed(); }, kReadyWithin)) {
        end(cannot("not all peers serve after 120 s; their logs are in " + directory_.string()));
    }
    if (!exit_code_) {
        exit_code_ = options_.api ? answer_clients() : answer();
    }
    fleet_.calm_down();
    fleet_.end_all();  // the peers hold nothing that would be lost
    if (exit_code_ == kDone && options_.verify) {
        exit_code_ = verify();
    }
    return answer_ && exit_code_ != kRejected ? write_report() : *exit_code_;
}

Result<> LocalService::start() {
    SWARM_TRY(start_directory());
    const std::vector<std::uint32_t>& paces = options_.service_ms;
    for (std::uint32_t i = 0; i < options_.peers; ++i) {
        const std::uint32_t service_ms = paces.empty() ? 0 : paces[i % paces.size()];
        std::vector<std::string> flags = flags_of(parts_[i % parts_.size()]);
        std::string name = "peer-" + std::to_string(i + 1);
        SWARM_TRY(Peer* const peer, fleet_.add(std::move(name), service_ms, std::move(flags)));
        SWARM_TRY(fleet_.start(*peer));
    }
    return {};
}

Result<> LocalService::start_directory() {
    net::HostOptions options;
    options.listen_address = "127.0.0.1";
    options.on_tell = [this](const node::Report& report) {
        if (const auto* const host = std::get_if<node::HostListed>(&report)) {
            on_listed(*host);
        }
    };
    listing_.emplace(
        loop_,
        std::make_unique<stacking::sessions::Directory>(),
        net::FileStore::none(),
        net::Identity::make_ephemeral(),
        std::move(options)
    );
    SWARM_TRY(const std::uint16_t port, listing_->listen());
    SWARM_TRY(fleet_.join(net::to_text({"127.0.0.1", port})));
    listing_->start();
    return {};
}

std::vector<std::string> LocalService::flags_of(const ServedPart& part) const {
    std::vector<std::string> flags{
        "--model",
        part.model,
        "--weights",
        options_.weights,
        "--threads",
        std::to_string(threads_to_answer(options_.threads, options_.peers))};
    const bool whole = part.layers.empty();
    flags.emplace_back(whole ? "--stages" : "--layers");
    flags.push_back(whole ? std::to_string(question_.stages) : part.layers);
    if (!part.bridge.empty()) {
        flags.insert(flags.end(), {"--bridge", part.bridge});
    }
    if (options_.exit_threshold <= 1 || part.exits) {
        flags.emplace_back("--exits");
    }
    return flags;
}

void LocalService::on_listed(const node::HostListed& host) {
    if (fleet_.find(host.peer) == nullptr) {
        return;
    }
    if (host.listed) {
        listed_.insert_or_assign(host.peer, host.hosted);
        have_served_.insert(host.peer);
    } else {
        listed_.erase(host.peer);
    }
    disturb();
}

void LocalService::on_token(std::size_t count) {
    const auto add = [&](const std::vector<std::uint32_t>& at, Fault fault) {
        if (std::ranges::find(at, count) != at.end()) {
            due_.push_back(fault);
        }
    };
    add(options_.kill_at, Fault::Kill);
    add(options_.freeze_at, Fault::Freeze);
    disturb();
}

void LocalService::disturb_by_the_clock() {
    for (const auto& [fault, every] :
         {std::pair(Fault::Kill, options_.kill_every),
          std::pair(Fault::Freeze, options_.freeze_every)}) {
        if (every) {
            fleet_.repeat(
                [pause = *every] { return pause; },
                [this, fault = fault] {
                    due_.push_back(fault);
                    disturb();
                }
            );
        }
    }
}

bool LocalService::may_disturb(const Peer& peer) const {
    const auto serves = [&](const Peer& other) {
        return other.process && !other.frozen && listed_.contains(other.id);
    };
    if (!serves(peer)) {
        return false;
    }
    const auto part = [&](const Peer& other) { return other.number % parts_.size(); };
    return std::any_of(fleet_.peers().begin(), fleet_.peers().end(), [&](const auto& other) {
        return other->id != peer.id && serves(*other) && part(*other) == part(peer) &&
               listed_.at(other->id) == listed_.at(peer.id);
    });
}

/// Returns the peers that serve, hop by hop, of all members.
std::vector<PeerId> LocalService::serving() const {
    std::vector<PeerId> peers;
    for (const auto& [member, route] : routes_) {
        peers.insert(peers.end(), route.begin(), route.end());
    }
    return peers;
}

/// A fault that is due waits until some peer may be disturbed. Faults strike hop by hop along the
/// path.
void LocalService::disturb() {
    const std::vector<PeerId> path = serving();
    while (!due_.empty() && !fleet_.is_calm() && !path.empty()) {
        Peer* victim = nullptr;
        for (std::size_t i = 0; i < path.size() && victim == nullptr; ++i) {
            Peer* const peer = fleet_.find(path[(faults_.size() + i) % path.size()]);
            victim = peer != nullptr && may_disturb(*peer) ? peer : nullptr;
        }
        if (victim == nullptr) {
            return;
        }
        disturb(due_.front(), *victim);
        due_.pop_front();
    }
}

void LocalService::disturb(Fault fault, Peer& peer) {
    faults_.push_back({fault, answer_ ? answer_->record().ids.size() : 0, peer.id});
    if (fault == Fault::Freeze) {
        fleet_.freeze(peer, kFrozenFor, [] {});
        return;
    }
    fleet_.kill(peer);
    start_again(peer);
}

/// Begins a new process of the peer, whose last one has ended.
void LocalService::start_again(Peer& peer) {
    listed_.erase(peer.id);
    have_served_.erase(peer.id);
    fleet_.after(peer, kRestartServerAfter, [this, &peer] {
        if (const Result<> started = fleet_.start(peer); !started) {
            end(started.error());
        }
    });
}

void LocalService::on_peer_end(Peer& peer, int exit_code) {
    if (fleet_.is_calm()) {
        return;
    }
    if (!have_served_.contains(peer.id)) {
        end(cannot(peer.name + " ended: " + last_line(fleet_.log_of(peer.name))));
        return;
    }
    console_.warn(
        peer.name + " (" + short_name(peer.id) + ") ended with exit code " +
        std::to_string(exit_code) + "; it starts again"
    );
    start_again(peer);
}

void LocalService::end(const Error& error) {
    if (!exit_code_) {
        exit_code_ = end_with(console_, error);
    }
}

int LocalService::answer() {
    RemoteAnswer::Hooks hooks;
    hooks.on_route = [this](std::uint32_t member, const std::vector<PeerId>& peers) {
        routes_[member] = peers;
    };
    hooks.on_token = [this](std::size_t count) { on_token(count); };
    answer_.emplace(loop_, question_, std::move(hooks), console_);
    if (const Result<> started = answer_->start(fleet_.address()); !started) {
        return end_with(console_, started.error());
    }
    disturb_by_the_clock();
    loop_.run_until([this] { return exit_code_ || answer_->ended(); });
    fleet_.calm_down();
    if (exit_code_) {
        answer_->cancel(*exit_code_);
    }
    const int ended = answer_->finish();
    std::cerr << printable(summary_of(answer_->record()));
    return exit_code_.value_or(ended);
}

/// Serves clients until a signal or a failure.
int LocalService::answer_clients() {
    ApiOptions api;
    api.join = fleet_.address();
    api.model = question_.model;
    api.stack = question_.stack;
    api.codecs = question_.codecs;
    api.guesses_max = question_.guesses_max;
    api.listen = "127.0.0.1:" + std::to_string(options_.api_port);
    ApiEndpoint endpoint(
        loop_,
        api,
        [this](std::uint32_t member, const std::vector<PeerId>& peers) { routes_[member] = peers; },
        console_
    );
    if (const Result<> started = endpoint.start(); !started) {
        return end_with(console_, started.error());
    }
    endpoint.announce();
    disturb_by_the_clock();
    loop_.run_until([&] { return exit_code_ || endpoint.ended(); });
    fleet_.calm_down();
    endpoint.stop();
    static_cast<void>(loop_.run_until([&] { return endpoint.ended(); }, kLastAnswers));
    const int ended = endpoint.finish();
    return exit_code_.value_or(ended);
}

int LocalService::verify() {
    GenerateOptions whole = question_;
    if (!whole.codecs.empty()) {
        whole.codecs.assign(answer_->codecs().begin(), answer_->codecs().end());
    }
    if (whole.path.empty() && whole.exit_threshold > 1 && whole.codecs.empty()) {
        whole.stages = 1;  // the model without a cut
    }
    const Result<std::vector<std::uint32_t>> alone = ids_alone(whole, console_);
    if (!alone) {
        return end_with(console_, alone.error());
    }
    equal_ = *alone == answer_->record().ids;
    if (!*equal_) {
        console_.error("one process gives other tokens");
        return kRunFailed;
    }
    console_.info(
        "verified: one process gives the same " + std::to_string(alone->size()) + " tokens"
    );
    return kDone;
}

int LocalService::write_report() {
    if (options_.json_file.empty()) {
        return *exit_code_;
    }
    const json::object report = to_json(answer_->record(), faults_, equal_);
    const bool written = write_text(console_, options_.json_file, json::serialize(report) + "\n");
    return *exit_code_ == kDone && !written ? kRunFailed : *exit_code_;
}

}  // namespace swarm::cli
