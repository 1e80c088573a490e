// `--http` of `train` and `local`: what browsers and programs see of a run while peers come and go.
// With SWARM_SCREENSHOTS=FOLDER the page's pictures are kept there.
#include "tests/process/train_bed.hpp"
#include "tests/process/views/browser.hpp"

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace swarm::test {
namespace {

namespace json = boost::json;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

/// A request on a connection of its own.
class Request {
 public:
    Request(std::uint16_t port, const std::string& line) {
        socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const timeval patience{10, 0};
        ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        sockaddr_in there{};
        there.sin_family = AF_INET;
        there.sin_port = htons(port);
        there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const int connected =
            ::connect(socket_, reinterpret_cast<const sockaddr*>(&there), sizeof there);
        EXPECT_EQ(connected, 0);
        const std::string text = line + " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
        EXPECT_EQ(::send(socket_, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    }

    Request(const Request&) = delete;
    Request& operator=(const Request&) = delete;

    ~Request() { ::close(socket_); }

    /// Reads until the condition holds for all that came; false: the server ended it before.
    bool read_until(const std::function<bool(const std::string&)>& condition) {
        while (!condition(answer_)) {
            char bytes[4096];
            const ssize_t count = ::recv(socket_, bytes, sizeof bytes, 0);
            if (count <= 0) {
                return condition(answer_);
            }
            answer_.append(bytes, static_cast<std::size_t>(count));
        }
        return true;
    }

    /// Reads to the end; returns all that came.
    const std::string& whole() {
        read_until([](const std::string&) { return false; });
        return answer_;
    }

 private:
    int socket_ = -1;
    std::string answer_;
};

std::string body_of(const std::string& answer) {
    const std::size_t end = answer.find("\r\n\r\n");
    return end == std::string::npos ? "" : answer.substr(end + 4);
}

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
        ++found;
    }
    return found;
}

class WatchTest : public TrainBed {
 protected:
    void start(const std::string& steps) {
        run_ = std::make_unique<Program>(
            train(
                {"--model",
                 "oracle",
                 "--stages",
                 "2",
                 "--min-peers",
                 "4",
                 "--steps",
                 steps,
                 "--http",
                 std::to_string(port_)}
            ),
            folder.path()
        );
        const std::string url = "http://127.0.0.1:" + std::to_string(port_) + "/";
        ASSERT_TRUE(run_->wait_for_text("watch the run at " + url, seconds(30))) << run_->err();
    }

    [[nodiscard]] std::string get(const std::string& path) const {
        return Request(port_, "GET " + path).whole();
    }

    [[nodiscard]] json::value state() const { return json::parse(body_of(get("/api/state"))); }

    /// Asks for the state until it is so, for 10 s.
    [[nodiscard]] bool comes(const std::function<bool(const json::value&)>& condition) const {
        for (const auto end = Clock::now() + seconds(10); Clock::now() < end;) {
            if (condition(state())) {
                return true;
            }
        }
        return false;
    }

    /// Returns a process of `swarm local` that serves; 0: there is none.
    [[nodiscard]] pid_t a_peer() const {
        const std::string self = std::to_string(run_->pid());
        std::ifstream children("/proc/" + self + "/task/" + self + "/children");
        for (pid_t child = 0; children >> child;) {
            const std::string words = read_text("/proc/" + std::to_string(child) + "/cmdline");
            if (words.find("serve") != std::string::npos) {
                return child;
            }
        }
        return 0;
    }

    static std::size_t workers(const json::value& state) {
        std::size_t found = 0;
        for (const json::value& stage : state.at("stages").as_array()) {
            for (const json::value& peer : stage.at("peers").as_array()) {
                found += peer.at("state").as_string() == "working" ? 1U : 0U;
            }
        }
        return found;
    }

    std::uint16_t port_ = free_port();
    std::unique_ptr<Program> run_;
};

TEST_F(WatchTest, TheStateFollowsTheRunAndAKilledPeer) {
    start("100000");
    EXPECT_EQ(state().at("step").to_number<int>(), 0);
    EXPECT_EQ(workers(state()), 0U);
    start_peers(4, "5");
    ASSERT_TRUE(comes([](const json::value& s) { return s.at("step").to_number<int>() > 5; }));
    const json::value running = state();
    EXPECT_EQ(workers(running), 4U);
    EXPECT_NE(std::string(running.at("join").as_string()).find('@'), std::string::npos);
    EXPECT_TRUE(running.at("end").is_null());
    for (const json::value& stage : running.at("stages").as_array()) {
        double shares = 0;
        for (const json::value& peer : stage.at("peers").as_array()) {
            shares += peer.at("share").to_number<double>();
        }
        EXPECT_NEAR(shares, 1, 1e-9);
    }
    const std::string metrics = get("/metrics");
    EXPECT_NE(metrics.find("swarm_stage_peers{stage=\"1\"} 2"), std::string::npos) << metrics;
    EXPECT_NE(metrics.find("# TYPE swarm_steps_total counter"), std::string::npos);
    peers.back()->signal(SIGKILL);
    EXPECT_TRUE(comes([](const json::value& s) {
        return workers(s) == 3 && json::serialize(s).find("fenced") != std::string::npos;
    })) << json::serialize(state());
}

TEST_F(WatchTest, AStreamTellsEachChangeAndOthersAreAnswered) {
    start("100000");
    Request stream(port_, "GET /events");
    start_peers(4, "5");
    EXPECT_TRUE(stream.read_until([](const std::string& answer) {
        return count(answer, "event: state") > 4 && answer.find("\"step\":9") != std::string::npos;
    }));
    EXPECT_NE(get("/health").find("200 OK"), std::string::npos);
    EXPECT_NE(get("/nothing").find("404 "), std::string::npos);
    EXPECT_NE(Request(port_, "DELETE /api/state").whole().find("405 "), std::string::npos);
}

TEST_F(WatchTest, AStreamTellsOfTheLastChangeAlthoughNoStepFollows) {
    start("100000");
    start_peers(4, "5");
    ASSERT_TRUE(comes([](const json::value& s) { return s.at("step").to_number<int>() > 5; }));
    Request stream(port_, "GET /events");
    for (const auto& peer : peers) {
        peer->signal(SIGKILL);
    }
    // Two stages are empty in the same moment, and then nothing happens.
    EXPECT_TRUE(stream.read_until([](const std::string& answer) {
        const std::size_t last = answer.rfind("data: ");
        return last != std::string::npos && count(answer.substr(last), "stage empty") == 2;
    })) << json::serialize(state());
}

TEST_F(WatchTest, APageOfALocalRunOutlivesItsCoordinatorAndShowsAKillAtOnce) {
    std::ofstream(folder.path() / "plan.toml") << "coordinator_kill_every = \"4s\"\n";
    run_ = std::make_unique<Program>(
        std::vector<std::string>{
            "local",
            "--model",
            "oracle",
            "--stages",
            "2",
            "--peers",
            "4",
            "--steps",
            "100000",
            "--service-ms",
            "5",
            "--churn",
            (folder.path() / "plan.toml").string(),
            "--http",
            std::to_string(port_)},
        folder.path()
    );
    const std::string url = "http://127.0.0.1:" + std::to_string(port_) + "/";
    ASSERT_TRUE(run_->wait_for_text("watch the run at " + url, seconds(30))) << run_->err();
    ASSERT_TRUE(comes([](const json::value& s) { return workers(s) == 4; }));
    EXPECT_TRUE(state().at("join_here_only").as_bool());
    EXPECT_NE(get("/").find("<!doctype html>"), std::string::npos);
    const auto has_event = [](const json::value& s, const std::string& what) {
        return json::serialize(s.at("events")).find(what) != std::string::npos;
    };
    ASSERT_TRUE(comes([&](const json::value& s) { return has_event(s, "coordinator killed"); }));
    const int step = state().at("step").to_number<int>();
    ASSERT_TRUE(comes([&](const json::value& s) {
        return workers(s) == 4 && s.at("step").to_number<int>() > step;
    })) << json::serialize(state());
    const pid_t peer = a_peer();
    ASSERT_GT(peer, 0);
    ASSERT_EQ(::kill(peer, SIGKILL), 0);
    const auto killed = Clock::now();
    EXPECT_TRUE(comes([&](const json::value& s) { return has_event(s, "exit code 137"); }));
    EXPECT_LT(Clock::now() - killed, seconds(2));
    run_->signal(SIGINT);
    EXPECT_EQ(run_->wait(seconds(30)), 130) << run_->err();
}

TEST_F(WatchTest, APortInUseIsOneLine) {
    start("10");
    Program second(
        {"train",
         "--model",
         "oracle",
         "--dir",
         (folder.path() / "second").string(),
         "--listen",
         "127.0.0.1:0",
         "--http",
         std::to_string(port_)},
        folder.path()
    );
    EXPECT_NE(second.wait(seconds(30)), 0);
    EXPECT_NE(second.err().find(std::to_string(port_)), std::string::npos) << second.err();
}

TEST_F(WatchTest, ThePageShowsThePeersAtAnyWidthInBothColours) {
    start("100000");
    start_peers(4, "5");
    ASSERT_TRUE(comes([](const json::value& s) { return s.at("step").to_number<int>() > 5; }));
    Browser browser(folder.path());
    ASSERT_TRUE(browser.runs());
    const auto number = [&](const std::string& expression) {
        const json::value value = browser.evaluate(expression);
        return value.is_number() ? value.to_number<double>() : -1.0;
    };
    for (const int width : {1280, 400}) {
        for (const Colours colours : {Colours::Light, Colours::Dark}) {
            browser.open("http://127.0.0.1:" + std::to_string(port_) + "/", width, colours);
            const auto end = Clock::now() + seconds(10);
            while (number("document.querySelectorAll('#rows tr').length") != 4 && Clock::now() < end
            ) {
            }
            EXPECT_EQ(number("document.querySelectorAll('#rows tr').length"), 4);
            EXPECT_LE(number("document.documentElement.scrollWidth"), width);
            EXPECT_GT(number("document.querySelector('#curve').getAttribute('d').length"), 20);
            EXPECT_EQ(number("document.querySelectorAll('button:not([type])').length"), 0);
            EXPECT_EQ(browser.errors(), std::vector<std::string>{});
            for (const std::string& url : browser.requests()) {
                EXPECT_TRUE(url.starts_with("http://127.0.0.1:")) << url;
            }
            const char* const pictures = std::getenv("SWARM_SCREENSHOTS");
            if (pictures != nullptr) {
                const char* const name = colours == Colours::Dark ? "dark" : "light";
                std::ofstream(
                    std::string(pictures) + "/run-" + std::to_string(width) + "-" + name + ".b64"
                ) << browser.screenshot();
            }
        }
    }
}

TEST_F(WatchTest, ThePageShowsTextsOfOthersAsText) {
    start("10");
    Browser browser(folder.path());
    ASSERT_TRUE(browser.runs());
    browser.open("http://127.0.0.1:" + std::to_string(port_) + "/", 400, Colours::Light);
    constexpr const char* kForged = R"((() => {
      const peer = { id: '<b>p', state: '<b>s', share: 1, forwards_per_s: 1 };
      show({ name: '<b>n', end: '<b>e', step: '<b>1', steps: 2, loss: 1, tokens_per_s: 1,
        replayed: 0, fenced: 0, losses: [], join: '<b>j', join_here_only: true,
        codecs: [{ codecs: '<b>c', wire_bytes: 1500 }], stages: [{ stage: 0, peers: [peer] }],
        events: [{ seconds_ago: 1, what: '<b>w', peer: '<b>q', stage: 1, reason: '<b>r' }] });
      at('joining').hidden = false;
      return document.querySelectorAll('b').length + ' ' +
        document.body.innerText.match(/<b>./g).join('') + ' ' + at('bytes').textContent;
    })())";
    const json::value shown = browser.evaluate(kForged);
    EXPECT_EQ(
        shown, "0 <b>n<b>e<b>1<b>p<b>s<b>c<b>j<b>w<b>q<b>r between peers 1.5 KB by codecs <b>c"
    );
    EXPECT_EQ(browser.errors(), std::vector<std::string>{});
}

}  // namespace
}  // namespace swarm::test
