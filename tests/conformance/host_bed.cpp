// The conformance bed of real hosts: one host per peer, all on one loop, with loopback sockets and
// a temporary folder.
#include "swarm/net/host.hpp"
#include "tests/conformance/bed.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <sys/resource.h>
#include <unistd.h>
#include <utility>

namespace swarm::test {
namespace {

constexpr auto kPatience = std::chrono::seconds(10);

/// Limits the size of every file of this process, until the destructor lifts the limit.
class FileSizeLimit {
 public:
    explicit FileSizeLimit(rlim_t bytes) {
        std::signal(SIGXFSZ, SIG_IGN);  // write() then fails instead
        ::getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit limited{bytes, before_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &limited);
    }

    FileSizeLimit(const FileSizeLimit&) = delete;
    FileSizeLimit& operator=(const FileSizeLimit&) = delete;

    ~FileSizeLimit() { ::setrlimit(RLIMIT_FSIZE, &before_); }

 private:
    rlimit before_{};
};

class HostBed final : public Bed {
 public:
    HostBed() {
        for (const Who who : {Who::Anna, Who::Bert, Who::Cleo}) {
            processes_.emplace(who, Process{net::Identity::make_ephemeral(), {}, {}, {}});
        }
    }

    ~HostBed() override {
        processes_.clear();
        loop_.reset();
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }

    [[nodiscard]] PeerId id_of(Who who) const override {
        return processes_.at(who).identity.peer();
    }

    void start(Who who, MakeRole make_role) override {
        processes_.at(who).make_role = std::move(make_role);
        launch(who);
    }

    void stop(Who who) override {
        processes_.at(who).host->stop();
        EXPECT_TRUE(run_until([&] { return !is_running(who); }));
    }

    void crash(Who who) override { processes_.at(who).host->kill(); }

    void restart(Who who) override {
        crash(who);
        EXPECT_TRUE(run_until([&] { return !is_running(who); }));
        processes_.at(who).host.reset();
        launch(who);
    }

    void ask(Who who, node::Asked asked) override {
        processes_.at(who).host->ask(std::move(asked));
    }

    void fill_disk(Who) override { limit_.emplace(1U << 20); }

    [[nodiscard]] bool is_running(Who who) const override {
        const auto& host = processes_.at(who).host;
        return host && !host->finished();
    }

    bool run_until(const std::function<bool()>& done) override {
        return loop_->run_until(done, kPatience);
    }

 private:
    struct Process {
        net::Identity identity;
        MakeRole make_role;
        std::unique_ptr<net::Host> host;
        std::string address;
    };

    void launch(Who who) {
        Process& process = processes_.at(who);
        const std::string name = std::to_string(static_cast<int>(who));
        Result<net::FileStore> store = net::FileStore::open(folder_ / name);
        ASSERT_TRUE(store.has_value()) << store.error().detail;
        net::HostOptions options;
        options.listen_address = "127.0.0.1";
        process.host = std::make_unique<net::Host>(
            *loop_, process.make_role(), std::move(*store), process.identity, std::move(options)
        );
        const Result<std::uint16_t> port = process.host->listen();
        ASSERT_TRUE(port.has_value()) << port.error().detail;
        process.address = "127.0.0.1:" + std::to_string(*port);
        for (auto& [other, known] : processes_) {
            if (known.host) {
                known.host->know_address(process.identity.peer(), process.address);
            }
            process.host->know_address(known.identity.peer(), known.address);
        }
        process.host->start();
    }

    std::filesystem::path folder_ =
        std::filesystem::path(testing::TempDir()) / ("conformance-" + std::to_string(::getpid()));
    std::optional<FileSizeLimit> limit_;
    std::unique_ptr<net::EventLoop> loop_ = std::make_unique<net::EventLoop>();
    std::map<Who, Process> processes_;
};

}  // namespace

std::unique_ptr<Bed> make_host_bed() {
    return std::make_unique<HostBed>();
}

}  // namespace swarm::test
