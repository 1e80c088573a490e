// Strangers attack the peers that serve a model: they ask a server for all its pages and send
// nothing, and they fill the directory with junk. Another user still gets a whole text. The model
// must be in the cache.
#include "stacking/models/model_digest.hpp"
#include "swarm/cli/answer/open_model.hpp"
#include "tests/golden/model_file.hpp"
#include "tests/process/program.hpp"
#include "tests/unit/net/bad_peer.hpp"
#include "tests/unit/net/mute_port.hpp"
#include "tests/unit/net/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <memory>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace swarm::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kLayers = 30;
constexpr const char* kAnswer = "The capital of France is Paris.\n";

/// Connects to a process and says a Hello; returns null when it is not let in.
std::unique_ptr<BadPeer> come_in(std::uint16_t port) {
    auto peer = std::make_unique<BadPeer>(port);
    if (!peer->start_tls()) {
        return nullptr;
    }
    peer->say_hello(peer->good_hello(protocol::Lane::Control));
    return peer;
}

/// The answers to a stranger that asked for sessions.
struct Answers {
    int opened = 0;
    int refused = 0;
};

/// Asks for sessions whose only hop is the server, and returns the answers.
Answers ask_for_pages(BadPeer& peer, const Digest& model, int sessions, std::uint32_t positions) {
    for (int i = 0; i < sessions; ++i) {
        protocol::SessionOpen open;
        open.id = {peer.identity().peer().words[0] + static_cast<std::uint64_t>(i), 1, 0};
        open.model = model;
        open.layers = {0, kLayers};
        open.positions = positions;
        open.previous = {peer.identity().peer(), ""};
        peer.say_message({0, 0, open});
    }
    Answers answers;
    while (answers.opened + answers.refused < sessions) {
        const auto message = peer.hears_message(seconds(10));
        if (!message) {
            break;
        }
        answers.opened += std::holds_alternative<protocol::SessionOpened>(message->body) ? 1 : 0;
        answers.refused += std::holds_alternative<protocol::SessionTrouble>(message->body) ? 1 : 0;
    }
    return answers;
}

class ServedAttacksTest : public testing::Test {
 protected:
    void SetUp() override {
        ASSERT_TRUE(std::filesystem::exists(golden::smollm2_file())) << golden::kFetchIt;
        const auto model = cli::open_model("smollm2");
        ASSERT_TRUE(model);
        identity_ = *stacking::models::identity_of(model->source);
        directory_ = start({"directory", "--listen", local(directory_port_)});
        ASSERT_TRUE(directory_->wait_for_text("directory at", seconds(10))) << directory_->err();
    }

    static std::string local(std::uint16_t port) { return "127.0.0.1:" + std::to_string(port); }

    std::unique_ptr<Program> start(const std::vector<std::string>& arguments) {
        const std::filesystem::path own = folder_.path() / std::to_string(++started_);
        std::filesystem::create_directories(own);
        return std::make_unique<Program>(arguments, own);
    }

    /// Starts a peer that serves these layers; all of them have pages for 5,800 positions.
    void start_server(const std::string& layers = "0-29") {
        server_ = start(
            {"serve",
             "--model",
             "smollm2",
             "--join",
             local(directory_port_),
             "--listen",
             local(server_port_),
             "--layers",
             layers,
             "--kv-memory",
             "256MiB"}
        );
        ASSERT_TRUE(server_->wait_for_text("serves layers", seconds(30))) << server_->err();
    }

    /// Asks like a person, who asks again when the peers are full; returns false when the answer is
    /// not whole within 15 s.
    bool user_gets_the_text(std::vector<std::string> more = {}) {
        more.insert(
            more.begin(),
            {"generate",
             "--model",
             "smollm2",
             "--join",
             local(directory_port_),
             "--max-tokens",
             "7",
             "What is the capital of France?"}
        );
        const auto until = Clock::now() + seconds(15);
        do {
            const auto answer = start(more);
            if (answer->wait(seconds(60)) == 0) {
                EXPECT_EQ(answer->out(), kAnswer);
                return Clock::now() < until;
            }
            why_ = answer->err();
        } while (Clock::now() < until);
        return false;
    }

    /// Registers a stranger at the directory; its link lives as long as the returned peer.
    std::unique_ptr<BadPeer> squat(const protocol::Register& registration) {
        auto peer = come_in(directory_port_);
        if (peer == nullptr) {
            return nullptr;
        }
        peer->say_message({0, 0, registration});
        const auto answer = peer->hears_message(seconds(10));
        const auto* const registered =
            answer ? std::get_if<protocol::Registered>(&answer->body) : nullptr;
        return registered != nullptr && registered->refusal.empty() ? std::move(peer) : nullptr;
    }

    TemporaryFolder folder_;
    std::uint16_t directory_port_ = free_port();
    std::uint16_t server_port_ = free_port();
    Digest identity_;
    std::unique_ptr<Program> directory_;
    std::unique_ptr<Program> server_;
    std::string why_;
    int started_ = 0;
};

TEST_F(ServedAttacksTest, AUserGetsAWholeTextWhileStrangersAskForAllPages) {
    for (const int strangers : {1, 8}) {
        SCOPED_TRACE(strangers);
        start_server();
        std::vector<std::unique_ptr<BadPeer>> peers;
        int opened = 0;
        for (int i = 0; i < strangers; ++i) {
            auto peer = come_in(server_port_);
            ASSERT_NE(peer, nullptr);
            opened += ask_for_pages(*peer, identity_, 100, 1000).opened;
            peers.push_back(std::move(peer));
        }
        EXPECT_GE(opened, 5);
        EXPECT_TRUE(user_gets_the_text()) << why_;
        EXPECT_TRUE(user_gets_the_text()) << why_;
        server_->signal(SIGINT);
        EXPECT_EQ(server_->wait(seconds(10)), 130);
    }
}

/// Returns how long the server takes to say that it did not reach the peer at this address.
milliseconds told_after(BadPeer& peer, const Digest& model, const std::string& address) {
    static std::uint64_t sessions = 0;
    protocol::SessionOpen open;
    open.id = {peer.identity().peer().words[0] + ++sessions, 1, 0};
    open.hops = 2;
    open.model = model;
    open.layers = {0, kLayers / 2};
    open.positions = 1;
    open.previous = {peer.identity().peer(), ""};
    constexpr std::uint64_t kHigh = ~std::uint64_t{0};  // the peer with the smaller id dials
    open.next = {PeerId{{kHigh, kHigh, kHigh, sessions}}, address};
    const auto asked = Clock::now();
    peer.say_message({0, 0, open});
    while (const auto message = peer.hears_message(seconds(10))) {
        if (const auto* said = std::get_if<protocol::SessionTrouble>(&message->body)) {
            EXPECT_EQ(said->reason, protocol::SessionReason::NextLost);
            break;
        }
    }
    return std::chrono::duration_cast<milliseconds>(Clock::now() - asked);
}

TEST_F(ServedAttacksTest, AServerTellsNobodyWhichDoorsAreOpen) {
    start_server("0-14");
    const auto peer = come_in(server_port_);
    ASSERT_NE(peer, nullptr);
    const MutePort open_door;
    for (const std::uint16_t port : {free_port(), open_door.number(), directory_port_}) {
        const milliseconds took = told_after(*peer, identity_, local(port));
        EXPECT_GE(took, milliseconds(3500)) << "at port " << port;
        EXPECT_LT(took, milliseconds(4500)) << "at port " << port;
    }
}

TEST_F(ServedAttacksTest, SquattersAndJunkInTheDirectoryStopNobody) {
    std::vector<std::unique_ptr<BadPeer>> squatters;
    protocol::Register junk;
    junk.layers = kLayers;
    junk.hosted = {0, kLayers};
    junk.address = "127.0.0.1:9";
    for (unsigned char i = 0; i < 64; ++i) {
        junk.model.bytes.fill(std::byte{i});
        auto peer = squat(junk);
        ASSERT_NE(peer, nullptr);
        squatters.push_back(std::move(peer));
    }
    junk.model = identity_;
    junk.layers = kLayers + 1;
    squatters.push_back(squat(junk));
    junk.layers = kLayers;
    junk.weights.bytes.fill(std::byte{0xfe});
    squatters.push_back(squat(junk));
    ASSERT_NE(squatters.back(), nullptr);
    start_server();
    const std::string err = server_->err();
    const std::string weights = err.substr(err.find(", weights ") + 10, 8);
    EXPECT_TRUE(user_gets_the_text({"--digest", weights})) << why_;
}

}  // namespace
}  // namespace swarm::test
