#include "swarm/cli/local/local_stack.hpp"

#include "stacking/row_coding.hpp"
#include "stacking/sessions/directory.hpp"
#include "swarm/cli/exit_code.hpp"
#include "swarm/cli/local/reported_child.hpp"
#include "swarm/cli/model/generate_alone.hpp"
#include "swarm/cli/model/model_store.hpp"
#include "swarm/cli/stack/open_stack.hpp"
#include "swarm/cli/train.hpp"
#include "swarm/net/address.hpp"
#include "swarm/net/identity.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <csignal>
#include <iostream>
#include <set>
#include <utility>

namespace swarm::cli {
namespace {

namespace json = boost::json;

constexpr auto kReadyWithin = std::chrono::seconds(120);
constexpr auto kRestartAfter = std::chrono::milliseconds(200);
constexpr auto kFrozenFor = std::chrono::seconds(3);
constexpr std::uint32_t kStages = 3;

Error cannot(std::string what) {
    return {ErrorCode::Unreachable, Reaction::Fatal, std::move(what)};
}

/// In which the model is served; of a stack each member.
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
    question.weights = options.weights;
    question.replay = options.replay;
    question.stages = stages_of(options);
    question.path = options.path;
    question.exit_threshold = options.exit_threshold;
    if (options.run.codec) {
        question.codecs = stacking::parse_row_codecs(*options.run.codec).value_or(question.codecs);
    }
    return question;
}

}  // namespace

LocalStack::LocalStack(
    const LocalOptions& options,
    std::vector<Served> served,
    std::filesystem::path directory,
    Console& console
)
    : options_(options),
      question_(question_of(options)),
      served_(std::move(served)),
      directory_(std::move(directory)),
      console_(console),
      lines_(options),
      child_signals_(loop_.io(), SIGCHLD) {
    loop_.on_signal([this](int number) { exit_code_ = after_signal(number); });
    await_children();
}

LocalStack::~LocalStack() = default;

int LocalStack::run() {
    if (const Result<> started = start(); !started) {
        return end_with(console_, started.error());
    }
    const auto all_listed = [this] {
        return std::all_of(peers_.begin(), peers_.end(), [](const auto& peer) {
            return peer->listed.has_value();
        });
    };
    if (!loop_.run_until([&] { return exit_code_ || all_listed(); }, kReadyWithin)) {
        end(cannot("not all peers serve after 120 s; their logs are in " + directory_.string()));
    }
    if (!exit_code_) {
        exit_code_ = answer();
    }
    calm_ = true;
    for (auto& peer : peers_) {
        peer->process.reset();  // they hold nothing that would be lost
    }
    if (exit_code_ == kDone && options_.verify) {
        exit_code_ = verify();
    }
    return answer_ && exit_code_ != kRejected ? write_report() : *exit_code_;
}

Result<> LocalStack::start() {
    if (const Result<> started = start_directory(); !started) {
        return started.error();
    }
    for (std::uint32_t i = 0; i < options_.peers; ++i) {
        Peer& peer = *peers_.emplace_back(std::make_unique<Peer>(loop_.io()));
        peer.name = "peer-" + std::to_string(i + 1);
        peer.serves = served_[i % served_.size()];
        const std::vector<std::uint32_t>& paces = options_.service_ms;
        peer.service_ms = paces.empty() ? 0 : paces[i % paces.size()];
        const auto identity = net::Identity::load_or_create(directory_ / (peer.name + ".pem"));
        if (!identity) {
            return identity.error();
        }
        peer.id = identity->peer();
        Result<LocalLines::Place> place = lines_.next_place();
        if (!place) {
            return place.error();
        }
        peer.addresses = std::move(place->serve_flags);
        if (const Result<> started = start_peer(peer); !started) {
            return started.error();
        }
    }
    return {};
}

Result<> LocalStack::start_directory() {
    Result<net::FileStore> store = net::FileStore::open(scratch_.path());
    if (!store) {
        return store.error();
    }
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
        std::move(*store),
        net::Identity::make_ephemeral(),
        std::move(options)
    );
    const Result<std::uint16_t> port = listing_->listen();
    if (!port) {
        return port.error();
    }
    Result<std::string> front = lines_.in_front_of(net::to_text({"127.0.0.1", *port}));
    if (!front) {
        return front.error();
    }
    address_ = std::move(*front);
    listing_->start();
    return {};
}

Result<> LocalStack::start_peer(Peer& peer) {
    Child::Spec spec{
        {"serve",
         "--model",
         peer.serves.model,
         "--join",
         address_,
         "--weights",
         options_.weights,
         "--key",
         (directory_ / (peer.name + ".pem")).string(),
         "--service-ms",
         std::to_string(peer.service_ms)},
        directory_ / (peer.name + ".log")};
    const bool whole = peer.serves.layers.empty();
    spec.arguments.push_back(whole ? "--stages" : "--layers");
    spec.arguments.push_back(whole ? std::to_string(question_.stages) : peer.serves.layers);
    if (!peer.serves.bridge.empty()) {
        spec.arguments.insert(spec.arguments.end(), {"--bridge", peer.serves.bridge});
    }
    if (options_.exit_threshold <= 1) {
        spec.arguments.push_back("--exits");
    }
    spec.arguments.insert(spec.arguments.end(), peer.addresses.begin(), peer.addresses.end());
    Result<Child> child = Child::start(spec);
    if (!child) {
        return child.error();
    }
    peer.process.emplace(std::move(*child));
    return {};
}

void LocalStack::on_listed(const node::HostListed& host) {
    if (Peer* const peer = find(host.peer)) {
        peer->listed = host.listed ? std::optional(host.hosted) : std::nullopt;
        disturb();
    }
}

LocalStack::Peer* LocalStack::find(PeerId id) {
    const auto at = std::find_if(peers_.begin(), peers_.end(), [&](const auto& peer) {
        return peer->id == id;
    });
    return at == peers_.end() ? nullptr : at->get();
}

void LocalStack::on_token(std::size_t count) {
    const auto add = [&](const std::vector<std::uint32_t>& at, Fault fault) {
        if (std::ranges::find(at, count) != at.end()) {
            due_.push_back(fault);
        }
    };
    add(options_.kill_at, Fault::Kill);
    add(options_.freeze_at, Fault::Freeze);
    disturb();
}

void LocalStack::wind(Clockwork& clockwork) {
    clockwork.timer.expires_after(clockwork.every);
    clockwork.timer.async_wait([this, &clockwork](const boost::system::error_code& stopped) {
        if (!stopped && !calm_) {
            due_.push_back(clockwork.fault);
            disturb();
            wind(clockwork);
        }
    });
}

bool LocalStack::may_disturb(const Peer& peer) const {
    if (!peer.process || peer.frozen || !peer.listed) {
        return false;
    }
    return std::any_of(peers_.begin(), peers_.end(), [&](const auto& other) {
        return other->id != peer.id && other->process && !other->frozen &&
               other->serves == peer.serves && other->listed == peer.listed;
    });
}

/// Hop by hop, of all members.
std::vector<PeerId> LocalStack::serving() const {
    std::vector<PeerId> peers;
    for (const auto& [member, route] : routes_) {
        peers.insert(peers.end(), route.begin(), route.end());
    }
    return peers;
}

/// What is due waits until somebody may be disturbed; hop by hop along the path.
void LocalStack::disturb() {
    const std::vector<PeerId> path = serving();
    while (!due_.empty() && !calm_ && !path.empty()) {
        Peer* victim = nullptr;
        for (std::size_t i = 0; i < path.size() && victim == nullptr; ++i) {
            Peer* const peer = find(path[(faults_.size() + i) % path.size()]);
            victim = peer != nullptr && may_disturb(*peer) ? peer : nullptr;
        }
        if (victim == nullptr) {
            return;
        }
        disturb(due_.front(), *victim);
        due_.pop_front();
    }
}

void LocalStack::disturb(Fault fault, Peer& peer) {
    const bool kills = fault == Fault::Kill;
    faults_.push_back(json::object{
        {"kind", kills ? "kill" : "freeze"},
        {"token", answer_->ids().size()},
        {"peer", short_name(peer.id)}});
    if (kills) {
        peer.process->signal(SIGKILL);
        peer.process->wait();
        peer.process.reset();
        peer.listed.reset();
    } else {
        peer.process->signal(SIGSTOP);
        peer.frozen = true;
    }
    peer.timer.expires_after(kills ? Duration(kRestartAfter) : Duration(kFrozenFor));
    peer.timer.async_wait([this, &peer, kills](const boost::system::error_code& stopped) {
        if (stopped || calm_) {
            return;
        }
        if (!kills) {
            peer.frozen = false;
            peer.process->signal(SIGCONT);
        } else if (const Result<> started = start_peer(peer); !started) {
            end(started.error());
        }
    });
}

void LocalStack::await_children() {
    child_signals_.async_wait([this](const boost::system::error_code& stopped, int) {
        if (!stopped) {
            on_child_signal();
            await_children();
        }
    });
}

void LocalStack::on_child_signal() {
    for (auto& peer : peers_) {
        if (calm_ || !peer->process || !peer->process->poll()) {
            continue;
        }
        peer->process.reset();
        const std::string last = last_line(directory_ / (peer->name + ".log"));
        end(cannot(peer->name + " ended: " + last));
    }
}

void LocalStack::end(const Error& error) {
    if (!exit_code_) {
        exit_code_ = end_with(console_, error);
    }
}

int LocalStack::answer() {
    RemoteAnswer::Hooks hooks;
    hooks.on_route = [this](std::uint32_t member, const std::vector<PeerId>& peers) {
        routes_[member] = peers;
    };
    hooks.on_token = [this](std::size_t count) { on_token(count); };
    answer_.emplace(loop_, question_, std::move(hooks), console_);
    if (const Result<> started = answer_->start(address_); !started) {
        return end_with(console_, started.error());
    }
    for (const auto& [fault, every] :
         {std::pair(Fault::Kill, options_.kill_every),
          std::pair(Fault::Freeze, options_.freeze_every)}) {
        if (every) {
            wind(*clockworks_.emplace_back(std::make_unique<Clockwork>(loop_.io(), fault, *every)));
        }
    }
    loop_.run_until([this] { return exit_code_ || answer_->ended(); });
    calm_ = true;
    if (exit_code_) {
        answer_->cancel(*exit_code_);
    }
    const int ended = answer_->finish();
    std::cerr << answer_->summary();
    return exit_code_.value_or(ended);
}

int LocalStack::verify() {
    GenerateOptions whole = question_;
    if (!whole.codecs.empty()) {
        whole.codecs.assign(answer_->codecs().begin(), answer_->codecs().end());
    }
    if (whole.path.empty() && whole.exit_threshold > 1 && whole.codecs.empty()) {
        whole.stages = 1;  // the model as nobody cut it
    }
    const Result<std::vector<std::uint32_t>> alone = ids_alone(whole, console_);
    if (!alone) {
        return end_with(console_, alone.error());
    }
    equal_ = *alone == answer_->ids();
    if (!*equal_) {
        console_.error("one process gives other tokens");
        return kRunFailed;
    }
    console_.info(
        "verified: one process gives the same " + std::to_string(alone->size()) + " tokens"
    );
    return kDone;
}

int LocalStack::write_report() {
    if (options_.json_file.empty()) {
        return *exit_code_;
    }
    json::object report = answer_->to_json();
    report["faults"] = faults_;
    report["verified"] = equal_ ? json::value(*equal_) : json::value(nullptr);
    const bool written = write_text(console_, options_.json_file, json::serialize(report) + "\n");
    return *exit_code_ == kDone && !written ? kRunFailed : *exit_code_;
}

}  // namespace swarm::cli
