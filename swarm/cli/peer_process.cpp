#include "swarm/cli/peer_process.hpp"

#include "swarm/cli/exit_code.hpp"
#include "swarm/cli/own_address.hpp"
#include "swarm/cli/paced_role.hpp"
#include "swarm/cli/run_setup.hpp"
#include "swarm/cli/train.hpp"

#include <cstdlib>
#include <system_error>
#include <utility>

namespace swarm::cli {
namespace {

Result<net::Identity> identity_from(const std::string& key_file) {
    if (key_file.empty()) {
        return net::Identity::make_ephemeral();
    }
    std::error_code ignored;  // what is missing shows when the file is written
    std::filesystem::create_directories(std::filesystem::path(key_file).parent_path(), ignored);
    return net::Identity::load_or_create(key_file);
}

Result<std::optional<net::Address>> address_if_any(const std::string& text) {
    if (text.empty()) {
        return std::optional<net::Address>();
    }
    const Result<net::Address> address = net::parse_address(text);
    if (!address) {
        return address.error();
    }
    return std::optional(*address);
}

Result<> check_source(const std::string& address) {
    if (address.empty() || net::is_ip(address)) {
        return {};
    }
    return Error{
        ErrorCode::Usage,
        Reaction::Reject,
        "--dial-from wants an IP address of this machine, not '" + address + "'"};
}

}  // namespace

int PeerProcess::run(const MakeRole& make_role) {
    if (const Result<> started = start(make_role); !started) {
        return end_with(console_, started.error());
    }
    loop_.on_signal([this](int number) { on_signal(number); });
    loop_.run_until([this] { return exit_code_ || host_->failure(); });
    host_->stop();
    static_cast<void>(loop_.run_until([this] { return host_->finished(); }, kGoodbye));
    if (host_->failure()) {
        console_.error(host_->failure()->detail);
        return kRunFailed;
    }
    return signal_ ? after_signal(*signal_) : *exit_code_;
}

Result<> PeerProcess::start(const MakeRole& make_role) {
    const Result<std::optional<net::Address>> towards = address_if_any(options_.towards);
    const Result<net::Address> listen = parse_listen_address(options_.listen);
    const Result<std::optional<net::Address>> advertise = address_if_any(options_.advertise);
    const Result<> source = check_source(options_.dial_from);
    Result<std::string> swarm_key = read_swarm_key(options_.swarm_key_file);
    const Result<net::Identity> identity = identity_from(options_.key_file);
    Result<net::FileStore> store = net::FileStore::open(store_folder());
    if (!options_.store_folder.empty() && !options_.key_file.empty()) {
        key_lock_.emplace(net::FileStore::open(options_.key_file + ".store"));
    }
    std::optional<Error> error;
    const auto note = [&](const auto& result) {
        if (!result && !error) {
            error = result.error();
        }
    };
    note(towards);
    note(listen);
    note(advertise);
    note(source);
    note(swarm_key);
    note(identity);
    note(store);
    if (key_lock_) {
        note(*key_lock_);
    }
    if (error) {
        return *error;
    }
    return start(*towards, *listen, std::move(*swarm_key), *identity, std::move(*store), make_role);
}

Result<> PeerProcess::start(
    const std::optional<net::Address>& towards,
    const net::Address& listen,
    std::string swarm_key,
    const net::Identity& identity,
    net::FileStore store,
    const MakeRole& make_role
) {
    auto role = std::make_unique<PacedRole>(options_.forward_units);
    PacedRole& paced = *role;
    net::HostOptions host_options;
    host_options.swarm_key = std::move(swarm_key);
    host_options.listen_address = listen.host;
    host_options.listen_port = listen.port;
    host_options.dial_from = options_.dial_from;
    host_options.on_tell = [this](const node::Report& report) { on_tell(report); };
    host_options.compute.service = std::chrono::milliseconds(options_.service_ms);
    const Incarnation incarnation = host_options.incarnation;
    host_.emplace(loop_, std::move(role), std::move(store), identity, host_options);
    const Result<std::uint16_t> port = host_->listen();
    if (!port) {
        return port.error();
    }
    std::string address = options_.advertise;
    if (address.empty()) {
        const std::string host = advertised_host(listen.host, towards ? &*towards : nullptr);
        address = net::to_text(net::Address{host, *port});
    }
    paced.wrap(make_role({identity.peer(), incarnation, std::move(address)}));
    host_->start();
    return {};
}

/// Most roles keep nothing on disk, but the store's lock keeps two processes from being one peer.
std::filesystem::path PeerProcess::store_folder() {
    if (!options_.store_folder.empty()) {
        return options_.store_folder;
    }
    if (options_.key_file.empty()) {
        return scratch_.emplace().path();
    }
    return options_.key_file + ".store";
}

void PeerProcess::on_tell(const node::Report& report) {
    if (const auto* const line = std::get_if<node::LogLine>(&report)) {
        console_.log(line->level, line->text);
    } else if (const auto* const status = std::get_if<node::ServerStatus>(&report)) {
        console_.status(
            "stage " + std::to_string(status->stage.value) + ", step " +
            std::to_string(status->version.step) + ": " + status->text
        );
    } else if (const auto* const failed = std::get_if<node::RunFailed>(&report)) {
        console_.error(failed->text);
        exit_code_ = failed->exit_code;
    } else if (const auto* const done = std::get_if<node::ServerDone>(&report)) {
        console_.info(done->reason);
        exit_code_ = exit_code_.value_or(kDone);
    } else if (options_.on_report) {
        options_.on_report(report);
    }
}

void PeerProcess::on_signal(int number) {
    if (signal_) {
        std::_Exit(after_signal(number));
    }
    signal_ = number;
    if (options_.drain_note.empty()) {
        exit_code_ = after_signal(number);
        return;
    }
    console_.info(options_.drain_note);
    host_->ask({node::DrainRequest{}});
}

}  // namespace swarm::cli
