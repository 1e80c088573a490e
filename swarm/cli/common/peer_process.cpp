#include "swarm/cli/common/peer_process.hpp"

#include "swarm/base/try.hpp"
#include "swarm/cli/common/files.hpp"
#include "swarm/cli/common/own_address.hpp"
#include "swarm/cli/common/paced_role.hpp"
#include "swarm/cli/common/swarm_key.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/cli/terminal/service_manager.hpp"
#include "swarm/net/link.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <system_error>
#include <utility>

namespace swarm::cli {
namespace {

constexpr auto kLookEvery = std::chrono::seconds(1);

Result<net::Identity> identity_from(const std::string& key_file) {
    if (key_file.empty()) {
        return net::Identity::make_ephemeral();
    }
    return net::Identity::load_or_create(key_file);
}

Result<std::optional<net::Address>> address_if_any(const std::string& text) {
    if (text.empty()) {
        return std::optional<net::Address>();
    }
    SWARM_TRY(const net::Address address, net::parse_address(text));
    return std::optional(address);
}

Result<std::vector<net::Address>> addresses_if_any(const std::string& text) {
    return text.empty() ? std::vector<net::Address>() : net::parse_addresses(text);
}

std::shared_ptr<net::RateLimit> limit_of(std::uint64_t bytes_per_s) {
    return bytes_per_s > 0 ? std::make_shared<net::RateLimit>(bytes_per_s) : nullptr;
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

/// Port 0 stands for a free port for each seat.
net::Address of_seat(net::Address first, std::uint32_t number) {
    if (first.port != 0) {
        first.port = static_cast<std::uint16_t>(first.port + number);
    }
    return first;
}

/// Returns the name of a file or folder of a seat; the first seat has the given name.
std::string of_seat(const std::string& first, std::uint32_t number) {
    return first.empty() || number == 0 ? first : first + "." + std::to_string(number + 1);
}

bool has_ports(const net::Address& first, std::uint32_t seats) {
    return first.port + seats - 1 <= std::numeric_limits<std::uint16_t>::max();
}

}  // namespace

int PeerProcess::run(const MakeRole& make_role) {
    if (const Result<> started = start(make_role); !started) {
        return end_with(console_, started.error());
    }
    loop_.on_signal([this](int number) { on_signal(number); });
    loop_.give_idle_memory_back(options_.memory_looks);
    tell_service_manager("READY=1");
    const auto failed = [](const Seat& seat) { return seat.host->failure().has_value(); };
    const auto ended = [&] { return exit_code_ || std::ranges::any_of(seats_, failed); };
    while (!loop_.run_until(ended, kLookEvery)) {
        leave_if_asked();
    }
    if (!was_sent_away()) {  // else it comes back
        tell_service_manager("STOPPING=1");
    }
    for (Seat& seat : seats_) {
        seat.host->stop();
    }
    const auto finished = [](const Seat& seat) { return seat.host->finished(); };
    static_cast<void>(
        loop_.run_until([&] { return std::ranges::all_of(seats_, finished); }, kGoodbye)
    );
    for (const Seat& seat : seats_) {
        if (failed(seat)) {
            return end_with(console_, *seat.host->failure());
        }
    }
    return signal_ ? after_signal(*signal_) : *exit_code_;
}

Result<> PeerProcess::start(const MakeRole& make_role) {
    SWARM_TRY(const Means means, check_means());
    for (std::uint32_t number = 0; number < options_.flags.seats; ++number) {
        SWARM_TRY(start(number, means, make_role));
    }
    return {};
}

Result<PeerProcess::Means> PeerProcess::check_means() const {
    const PeerFlags& flags = options_.flags;
    Means means;
    SWARM_TRY(means.towards, address_if_any(options_.towards));
    SWARM_TRY(means.listen, parse_listen_address(flags.listen));
    SWARM_TRY(means.advertise, addresses_if_any(flags.advertise));
    SWARM_TRY(check_source(flags.dial_from));
    SWARM_TRY(means.swarm_key, read_swarm_key(flags.swarm_key_file));
    const auto lacks_ports = [&](const net::Address& first) {
        return !has_ports(first, flags.seats);
    };
    if (lacks_ports(means.listen) || std::ranges::any_of(means.advertise, lacks_ports)) {
        const std::string seats = std::to_string(flags.seats);
        return Error{
            ErrorCode::Usage,
            Reaction::Reject,
            "--host " + seats + " needs " + seats +
                " ports in a row; there are not so many to 65535"};
    }
    means.send_limit = limit_of(flags.limit_up_bytes_per_s);
    means.receive_limit = limit_of(flags.limit_down_bytes_per_s);
    means.device = flags.seats > 1 ? std::make_shared<net::SharedDevice>() : nullptr;
    return means;
}

Result<> PeerProcess::start(std::uint32_t number, const Means& means, const MakeRole& make_role) {
    Seat& seat = seats_.emplace_back();
    const std::string key_file = of_seat(options_.flags.key_file, number);
    const std::filesystem::path folder = store_folder(number);
    SWARM_TRY(net::Identity identity, identity_from(key_file));
    const bool is_vouched = key_file.empty() && options_.owner != nullptr;
    if (is_vouched) {
        identity.let_vouch(*options_.owner);
    }
    net::FileStore store = net::FileStore::none();
    if (!folder.empty()) {
        SWARM_TRY(store, net::FileStore::open(folder));
    }
    if (!options_.store_folder.empty() && !key_file.empty()) {
        SWARM_TRY(seat.key_lock, net::FileStore::open(key_file + ".store"));
    }
    const auto forward_units = std::make_shared<double>(0);
    auto role = std::make_unique<PacedRole>(forward_units);
    PacedRole& paced = *role;
    const net::Address listen = of_seat(means.listen, number);
    net::HostOptions host_options;
    host_options.swarm_key = means.swarm_key;
    host_options.first_contact = options_.first_contact;
    host_options.listen_address = listen.host;
    host_options.listen_port = listen.port;
    host_options.dial_from = options_.flags.dial_from;
    host_options.dials_private = options_.flags.dial_private;
    host_options.send_limit = means.send_limit;
    host_options.receive_limit = means.receive_limit;
    host_options.on_tell = [this, &seat](const node::Report& report) { on_tell(seat, report); };
    host_options.compute.service = std::chrono::milliseconds(options_.flags.service_ms);
    host_options.compute.device = means.device;
    const Incarnation incarnation = host_options.incarnation;
    seat.host.emplace(loop_, std::move(role), std::move(store), identity, host_options);
    SWARM_TRY(const std::uint16_t port, seat.host->listen());
    const std::optional<net::Address>& towards = means.towards;
    std::vector<net::Address> addresses = means.advertise;
    for (net::Address& address : addresses) {
        address = of_seat(std::move(address), number);
    }
    if (addresses.empty()) {
        addresses = advertised_addresses({listen.host, port}, towards ? &*towards : nullptr);
    }
    paced.wrap(make_role(
        {identity.peer(),
         is_vouched ? options_.owner->peer() : identity.peer(),
         incarnation,
         net::to_text(addresses),
         forward_units,
         folder.string()}
    ));
    seat.host->start();
    return {};
}

/// Most roles keep nothing on disk, but the lock of the store keeps two processes from being one
/// peer.
std::filesystem::path PeerProcess::store_folder(std::uint32_t number) const {
    if (!options_.store_folder.empty()) {
        return of_seat(options_.store_folder, number);
    }
    if (options_.flags.key_file.empty()) {
        return {};
    }
    return of_seat(options_.flags.key_file, number) + ".store";
}

void PeerProcess::on_tell(Seat& seat, const node::Report& report) {
    if (const auto* const line = std::get_if<node::LogLine>(&report)) {
        console_.log(line->level, line->text);
    } else if (const auto* const status = std::get_if<node::ServerStatus>(&report)) {
        show_status(seat, *status);
    } else if (const auto* const failed = std::get_if<node::RunFailed>(&report)) {
        console_.error(failed->text);
        exit_code_ = failed->exit_code;
    } else if (const auto* const done = std::get_if<node::ServerDone>(&report)) {
        console_.info(done->reason);
        seat.done = true;
        if (std::ranges::all_of(seats_, &Seat::done)) {
            exit_code_ = exit_code_.value_or(kDone);
        }
    } else if (options_.on_report) {
        options_.on_report(report);
    }
}

void PeerProcess::show_status(Seat& seat, const node::ServerStatus& status) {
    if (!seat.status) {
        const auto on = console_.is_terminal() ? PeerStatus::On::Terminal : PeerStatus::On::File;
        seat.status.emplace(on, options_.flags.log_every);
    }
    const PeerStatus::Traffic traffic{seat.host->sent_bytes(), seat.host->received_bytes()};
    const auto line = seat.status->line_of(status, traffic, net::clock_now());
    if (!line) {
        return;
    }
    seat.line = *line;
    std::string text;
    for (const Seat& each : seats_) {
        text += (text.empty() || each.line.empty() ? "" : "; ") + each.line;
    }
    tell_service_manager("STATUS=" + text);
    console_.status(text);
}

void PeerProcess::on_signal(int number) {
    const StopPress press = presses_.note(net::clock_now());
    if (press == StopPress::Next) {
        std::_Exit(after_signal(number));
    }
    if (press == StopPress::Echo) {
        return;
    }
    signal_ = number;
    if (options_.drain_note.empty()) {
        exit_code_ = after_signal(number);
        return;
    }
    console_.info(options_.drain_note);
    drain();
}

void PeerProcess::drain() {
    for (Seat& seat : seats_) {
        seat.host->ask({node::DrainRequest{}});
    }
}

void PeerProcess::leave_if_asked() {
    if (sent_away_ || signal_ || !options_.may_stay || options_.may_stay()) {
        return;
    }
    sent_away_ = true;
    console_.info(options_.leave_note);
    if (options_.drain_note.empty()) {
        exit_code_ = kDone;
    } else {
        drain();
    }
}

}  // namespace swarm::cli
