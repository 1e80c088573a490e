#include "tests/process/views/browser.hpp"

#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace swarm::test {
namespace {

namespace json = boost::json;
using Steady = std::chrono::steady_clock;

constexpr auto kPageTime = std::chrono::seconds(60);
constexpr const char* kMissing =
    "no headless browser: `apt-get install chromium-headless-shell` (./swarm.sh test does), or "
    "chromium; what it said is in browser.log";

/// Runs after fork(), where only async-signal-safe calls are allowed.
[[noreturn]] void become(pid_t parent, int in, int out, const char* log, char* const* arguments) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) {
        ::_exit(127);
    }
    ::setpgid(0, 0);  // the processes of the browser end with it
    // The descriptors first move away, because `in` may itself be 3 or 4.
    const int high_in = ::fcntl(in, F_DUPFD, 10);
    const int high_out = ::fcntl(out, F_DUPFD, 10);
    ::dup2(high_in, 3);
    ::dup2(high_out, 4);
    const int log_fd = ::open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(log_fd, STDOUT_FILENO);
    ::dup2(log_fd, STDERR_FILENO);
    ::execvp("chromium-headless-shell", arguments);
    ::execvp("chromium", arguments);
    ::_exit(127);
}

std::string text_of(const json::value& value) {
    const json::string& text = value.as_string();
    return {text.data(), text.size()};
}

}  // namespace

Browser::Browser(const std::filesystem::path& folder) : deadline_(Steady::now() + kPageTime) {
    start(folder);
    const json::object target = call("Target.createTarget", {{"url", "about:blank"}});
    if (!target.contains("targetId")) {
        ADD_FAILURE() << kMissing;
        return;
    }
    const json::object attached =
        call("Target.attachToTarget", {{"targetId", target.at("targetId")}, {"flatten", true}});
    session_ = text_of(attached.at("sessionId"));
    call("Network.enable", {});
    call("Page.enable", {});
    call("Runtime.enable", {});
    call("Log.enable", {});
}

Browser::~Browser() {
    ::close(to_);
    ::close(from_);
    ::kill(-pid_, SIGKILL);
    ::kill(pid_, SIGKILL);  // the browser may not have made its group yet
    ::waitpid(pid_, nullptr, 0);
}

void Browser::start(const std::filesystem::path& folder) {
    std::array<int, 2> commands{};
    std::array<int, 2> answers{};
    std::signal(SIGPIPE, SIG_IGN);  // a missing browser reads nothing
    ASSERT_EQ(::pipe2(commands.data(), O_CLOEXEC), 0);
    ASSERT_EQ(::pipe2(answers.data(), O_CLOEXEC), 0);
    std::vector<std::string> arguments{
        "chromium",
        "--headless",
        "--no-sandbox",  // root has no sandbox; the page is our own
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--hide-scrollbars",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        "--remote-debugging-pipe",
        "--user-data-dir=" + (folder / "profile").string(),
        "about:blank"};
    std::vector<char*> pointers;
    for (std::string& argument : arguments) {
        pointers.push_back(argument.data());
    }
    pointers.push_back(nullptr);
    const std::string log = (folder / "browser.log").string();
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) {
        become(parent, commands[0], answers[1], log.c_str(), pointers.data());
    }
    ::close(commands[0]);
    ::close(answers[1]);
    to_ = commands[1];
    from_ = answers[0];
}

json::object Browser::receive() {
    for (;;) {
        if (const std::size_t end = buffer_.find('\0'); end != std::string::npos) {
            const std::string text = buffer_.substr(0, end);
            buffer_.erase(0, end + 1);
            return json::parse(text).as_object();
        }
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Steady::now());
        pollfd waited{from_, POLLIN, 0};
        if (left.count() <= 0 || ::poll(&waited, 1, static_cast<int>(left.count())) != 1) {
            return {};
        }
        std::array<char, 65'536> bytes{};
        const ssize_t count = ::read(from_, bytes.data(), bytes.size());
        if (count <= 0) {
            return {};
        }
        buffer_.append(bytes.data(), static_cast<std::size_t>(count));
    }
}

void Browser::note(const json::object& message) {
    const json::value* const method = message.if_contains("method");
    if (method == nullptr) {
        return;
    }
    if (method->as_string() == "Page.loadEventFired") {
        loaded_ = true;
    } else if (method->as_string() == "Network.requestWillBeSent") {
        requests_.push_back(text_of(message.at("params").at("request").at("url")));
    } else if (method->as_string() == "Runtime.exceptionThrown") {
        errors_.push_back(json::serialize(message.at("params")));
    } else if (method->as_string() == "Log.entryAdded" &&
               message.at("params").at("entry").at("level").as_string() == "error") {
        errors_.push_back(json::serialize(message.at("params")));
    }
}

json::object Browser::call(const std::string& method, json::object params) {
    json::object command{{"id", ++last_id_}, {"method", method}, {"params", std::move(params)}};
    if (!session_.empty()) {
        command["sessionId"] = session_;
    }
    const std::string text = json::serialize(command) + '\0';
    const ssize_t written =
        ::write(to_, text.data(), text.size());  // the text is smaller than a pipe
    if (written != static_cast<ssize_t>(text.size())) {
        return {};
    }
    for (;;) {
        const json::object message = receive();
        if (message.empty()) {
            ADD_FAILURE() << "the browser does not answer " << method;
            return {};
        }
        note(message);
        const json::value* const id = message.if_contains("id");
        if (id != nullptr && id->to_number<int>() == last_id_) {
            const json::value* const result = message.if_contains("result");
            EXPECT_NE(result, nullptr) << json::serialize(message);
            return result == nullptr ? json::object{} : result->as_object();
        }
    }
}

void Browser::open(const std::filesystem::path& page, int width, Colours colours) {
    open("file://" + page.string(), width, colours);
}

void Browser::open(const std::string& url, int width, Colours colours) {
    deadline_ = Steady::now() + kPageTime;
    call(
        "Emulation.setDeviceMetricsOverride",
        {{"width", width}, {"height", 900}, {"deviceScaleFactor", 1}, {"mobile", false}}
    );
    const char* const scheme = colours == Colours::Dark ? "dark" : "light";
    const json::object feature{{"name", "prefers-color-scheme"}, {"value", scheme}};
    call("Emulation.setEmulatedMedia", {{"features", json::array{feature}}});
    loaded_ = false;
    requests_.clear();
    errors_.clear();
    call("Page.navigate", {{"url", url}});
    while (!loaded_) {
        const json::object message = receive();
        if (message.empty()) {
            ADD_FAILURE() << url << " was not loaded";
            return;
        }
        note(message);
    }
}

json::value Browser::evaluate(const std::string& expression) {
    deadline_ = Steady::now() + kPageTime;
    const json::object result = call(
        "Runtime.evaluate",
        {{"expression", expression}, {"returnByValue", true}, {"awaitPromise", true}}
    );
    const json::value* const outcome = result.if_contains("result");
    const bool threw = result.contains("exceptionDetails");
    EXPECT_FALSE(threw) << json::serialize(result);
    if (outcome == nullptr || threw || !outcome->as_object().contains("value")) {
        return nullptr;
    }
    return outcome->at("value");
}

bool Browser::wait_until(const std::string& expression, std::chrono::milliseconds patience) {
    const json::value holds = evaluate(
        "new Promise(done => { const look = () => { if (" + expression +
        ") { changes.disconnect(); done(true); } };"
        "const changes = new MutationObserver(look);"
        "changes.observe(document, { subtree: true, childList: true, characterData: true,"
        " attributes: true });"
        "setTimeout(() => { changes.disconnect(); done(false); }, " +
        std::to_string(patience.count()) + "); look(); })"
    );
    return holds.is_bool() && holds.as_bool();
}

std::string Browser::screenshot() {
    const json::object result =
        call("Page.captureScreenshot", {{"format", "png"}, {"captureBeyondViewport", true}});
    return result.contains("data") ? text_of(result.at("data")) : "";
}

}  // namespace swarm::test
