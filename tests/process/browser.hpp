// A headless Chromium that a test asks what a page looks like: the DevTools protocol over a pipe,
// so there is no port and no other library.
// Invariants: no browser outlives its object; every wait has a deadline; nothing but file: is
// fetched, since names do not resolve.
// Threading: one thread. Errors: a failed test that says which Debian package is missing.
// Source: chromedevtools.github.io/devtools-protocol; --remote-debugging-pipe: fd 3 in, fd 4 out,
// each message ends with a zero byte.
#pragma once

#include <boost/json.hpp>

#include <chrono>
#include <filesystem>
#include <string>
#include <sys/types.h>
#include <vector>

namespace swarm::test {

enum class Colours { Light, Dark };

class Browser {
 public:
    /// `folder`: for its profile and its own messages.
    explicit Browser(const std::filesystem::path& folder);
    Browser(const Browser&) = delete;
    Browser& operator=(const Browser&) = delete;
    ~Browser();

    /// False, with a failure, when there is no browser.
    [[nodiscard]] bool runs() const { return !session_.empty(); }

    /// Until the page has been loaded.
    void open(const std::filesystem::path& page, int width, Colours colours);
    /// The value of a JavaScript expression in the page.
    boost::json::value evaluate(const std::string& expression);
    /// The whole page as base64 of a PNG.
    std::string screenshot();

    /// The addresses that the open page asked for, its own included.
    [[nodiscard]] const std::vector<std::string>& requests() const { return requests_; }

 private:
    void start(const std::filesystem::path& folder);
    boost::json::object call(const std::string& method, boost::json::object params);
    /// The next message; empty at the deadline or when the browser has ended.
    boost::json::object receive();
    void note(const boost::json::object& message);

    std::chrono::steady_clock::time_point deadline_;
    pid_t pid_ = -1;
    int to_ = -1;
    int from_ = -1;
    std::string buffer_;
    std::string session_;
    int last_id_ = 0;
    bool loaded_ = false;
    std::vector<std::string> requests_;
};

}  // namespace swarm::test
