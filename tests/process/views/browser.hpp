// A headless Chromium in which a test opens a page and looks at it. The DevTools protocol runs over
// a pipe, so there is no port and no other library.
// Invariants: no browser outlives its object; every wait has a deadline; the browser fetches only
// from files and from 127.0.0.1, because names do not resolve.
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
    /// `folder`: the browser writes its profile and its messages there.
    explicit Browser(const std::filesystem::path& folder);
    Browser(const Browser&) = delete;
    Browser& operator=(const Browser&) = delete;
    ~Browser();

    /// Fails the test and returns false when there is no browser.
    [[nodiscard]] bool runs() const { return !session_.empty(); }

    /// Waits until the page has been loaded.
    void open(const std::filesystem::path& page, int width, Colours colours);
    void open(const std::string& url, int width, Colours colours);
    /// Returns the value of a JavaScript expression in the page; waits for that of a promise.
    boost::json::value evaluate(const std::string& expression);
    /// Waits in the page, after each of its changes, until the expression holds; false: it did not
    /// within the patience, which is less than a minute.
    bool wait_until(const std::string& expression, std::chrono::milliseconds patience);
    /// Returns the whole page as base64 of a PNG.
    std::string screenshot();

    /// Returns the addresses that the open page asked for, its own included.
    [[nodiscard]] const std::vector<std::string>& requests() const { return requests_; }

    /// Returns what went wrong in the page so far: exceptions, and errors on its console.
    [[nodiscard]] const std::vector<std::string>& errors() const { return errors_; }

 private:
    void start(const std::filesystem::path& folder);
    boost::json::object call(const std::string& method, boost::json::object params);
    /// Returns the next message; empty at the deadline or when the browser has ended.
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
    std::vector<std::string> errors_;
};

}  // namespace swarm::test
