// `swarm serve`: a stage server role on a host.
#include "stages/stage_server.hpp"
#include "swarm/cli/compute_factory.hpp"
#include "swarm/cli/console.hpp"
#include "swarm/cli/exit_code.hpp"
#include "swarm/cli/own_address.hpp"
#include "swarm/cli/paced_role.hpp"
#include "swarm/cli/run_setup.hpp"
#include "swarm/cli/temporary_directory.hpp"
#include "swarm/cli/train.hpp"
#include "swarm/cli/verbs.hpp"
#include "swarm/net/host.hpp"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

namespace swarm::cli {
namespace {

constexpr auto kGoodbye = std::chrono::seconds(5);

Result<net::Identity> identity_from(const std::string& key_file) {
    if (key_file.empty()) {
        return net::Identity::make_ephemeral();
    }
    std::error_code ignored;  // what is missing shows when the file is written
    std::filesystem::create_directories(std::filesystem::path(key_file).parent_path(), ignored);
    return net::Identity::load_or_create(key_file);
}

class Service {
 public:
    Service(const ServeOptions& options, Console& console) : options_(options), console_(console) {}

    int run() {
        if (const Result<> started = start(); !started) {
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

 private:
    Result<> start() {
        const Result<net::Address> coordinator = net::parse_address(options_.join);
        const Result<net::Address> listen = parse_listen_address(options_.listen);
        Result<std::string> swarm_key = read_swarm_key(options_.swarm_key_file);
        const Result<net::Identity> identity = identity_from(options_.key_file);
        Result<net::FileStore> store = net::FileStore::open(store_folder());
        std::optional<Error> error;
        const auto note = [&](const auto& result) {
            if (!result && !error) {
                error = result.error();
            }
        };
        note(coordinator);
        note(listen);
        note(swarm_key);
        note(identity);
        note(store);
        if (error) {
            return *error;
        }
        return start(*coordinator, *listen, std::move(*swarm_key), *identity, std::move(*store));
    }

    Result<> start(
        const net::Address& coordinator,
        const net::Address& listen,
        std::string swarm_key,
        const net::Identity& identity,
        net::FileStore store
    ) {
        auto role = std::make_unique<PacedRole>(forward_units_);
        PacedRole& paced = *role;
        net::HostOptions host_options;
        host_options.swarm_key = std::move(swarm_key);
        host_options.listen_address = listen.host;
        host_options.listen_port = listen.port;
        host_options.on_tell = [this](const node::Report& report) { on_tell(report); };
        host_options.compute.service = std::chrono::milliseconds(options_.service_ms);
        const Incarnation incarnation = host_options.incarnation;
        host_.emplace(loop_, std::move(role), std::move(store), identity, host_options);
        const Result<std::uint16_t> port = host_->listen();
        if (!port) {
            return port.error();
        }
        stages::StageServer::Options server;
        server.self = identity.peer();
        server.incarnation = incarnation;
        server.coordinator_address = options_.join;
        server.own_address =
            net::to_text(net::Address{advertised_host(listen.host, &coordinator), *port});
        server.make_compute = measured_factory();
        server.first_contact_within = options_.wait;
        server.memory_bytes = options_.memory_bytes;
        paced.wrap(std::make_unique<stages::StageServer>(std::move(server)));
        console_.info(
            "peer " + short_name(identity.peer()) + " joins " + options_.join +
            "; Ctrl-C leaves cleanly"
        );
        host_->start();
        return {};
    }

    /// A stage server keeps nothing on disk, but the store's lock keeps two processes from being
    /// one peer.
    std::filesystem::path store_folder() {
        if (options_.key_file.empty()) {
            return scratch_.emplace().path();
        }
        return options_.key_file + ".store";
    }

    /// Notes how many work units a forward of the assigned stage has.
    stages::ComputeFactory measured_factory() {
        return [this, factory = make_compute_factory(options_.device)](
                   const run::RunConfig& config, const run::StageLayout& layout
               ) {
            *forward_units_ =
                static_cast<double>(config.batch) * config.model.context * layout.layers;
            return factory(config, layout);
        };
    }

    void on_tell(const node::Report& report) {
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
        }
    }

    void on_signal(int number) {
        if (signal_) {
            std::_Exit(after_signal(number));
        }
        signal_ = number;
        console_.info("leaving at the next commit, in 60 s at the latest; once more leaves at once"
        );
        host_->ask({node::DrainRequest{}});
    }

    const ServeOptions& options_;
    Console& console_;
    std::optional<TemporaryDirectory> scratch_;
    std::shared_ptr<double> forward_units_ = std::make_shared<double>(0);
    net::EventLoop loop_;
    std::optional<net::Host> host_;
    std::optional<int> exit_code_;
    std::optional<int> signal_;
};

}  // namespace

int serve(const ServeOptions& options) {
    Console console;
    return Service(options, console).run();
}

}  // namespace swarm::cli
