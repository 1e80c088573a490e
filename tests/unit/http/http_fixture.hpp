// The fixture of the server's tests: a server on a port of 127.0.0.1 whose role is a function of
// the test, and clients on plain sockets. Loop and clients share the test's thread.
#pragma once

#include "swarm/http/http_server.hpp"

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <functional>
#include <map>
#include <memory>
#include <netinet/in.h>
#include <optional>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>
#include <variant>
#include <vector>

namespace swarm::http {

inline constexpr auto kPatience = std::chrono::seconds(15);
inline constexpr auto kMoment = std::chrono::milliseconds(200);

/// An answer as a client reads it.
struct Answer {
    int status = 0;
    std::map<std::string, std::string> fields;
    std::string body;
};

/// Takes the head of an answer from the front of the text, if it is there.
inline std::optional<Answer> take_head(std::string& text) {
    const std::size_t end = text.find("\r\n\r\n");
    if (end == std::string::npos) {
        return std::nullopt;
    }
    Answer answer;
    answer.status = std::atoi(text.substr(9, 3).c_str());
    for (std::size_t at = text.find("\r\n"); at < end;) {
        const std::size_t next = text.find("\r\n", at + 2);
        const std::string line = text.substr(at + 2, next - at - 2);
        const std::size_t colon = line.find(": ");
        answer.fields[line.substr(0, colon)] = line.substr(colon + 2);
        at = next;
    }
    text.erase(0, end + 4);
    return answer;
}

/// Takes the chunks that are there from the front of the text; returns true with the last one.
inline bool take_chunks(std::string& text, std::string& body) {
    for (;;) {
        const std::size_t end = text.find("\r\n");
        if (end == std::string::npos) {
            return false;
        }
        const std::size_t size = std::stoul(text.substr(0, end), nullptr, 16);
        if (text.size() < end + 2 + size + 2) {
            return false;
        }
        body += text.substr(end + 2, size);
        text.erase(0, end + 2 + size + 2);
        if (size == 0) {
            return true;
        }
    }
}

/// A connection of a client that never blocks.
class Client {
 public:
    /// `from`: the client's address, of those that reach this machine.
    explicit Client(
        std::uint16_t port, int receive_buffer_bytes = 0, in_addr_t from = INADDR_LOOPBACK
    )
        : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        if (receive_buffer_bytes > 0) {
            ::setsockopt(
                socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof receive_buffer_bytes
            );
        }
        sockaddr_in own{};
        own.sin_family = AF_INET;
        own.sin_addr.s_addr = htonl(from);
        EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&own), sizeof own), 0);
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(port);
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
        ::fcntl(socket_, F_SETFL, O_NONBLOCK);
    }

    Client(Client&& other) noexcept
        : socket_(std::exchange(other.socket_, -1)),
          ended_(other.ended_),
          came_(std::move(other.came_)) {}

    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    ~Client() { hang_up(); }

    /// Sends what the system takes, and returns how many bytes that are.
    std::size_t say(std::string_view text) const {
        const ssize_t sent = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
        return sent > 0 ? static_cast<std::size_t>(sent) : 0;
    }

    /// Takes what has come.
    void hear() {
        char bytes[16384];
        for (;;) {
            const ssize_t count = ::recv(socket_, bytes, sizeof bytes, 0);
            if (count > 0) {
                came_.append(bytes, static_cast<std::size_t>(count));
                continue;
            }
            ended_ = ended_ || count == 0 || (errno != EAGAIN && errno != EINTR);
            return;
        }
    }

    [[nodiscard]] bool has_ended() const { return ended_; }

    std::string& came() { return came_; }

    [[nodiscard]] int socket() const { return socket_; }

    void end_sending() const { ::shutdown(socket_, SHUT_WR); }

    void hang_up() {
        if (socket_ >= 0) {
            ::close(std::exchange(socket_, -1));
        }
    }

 private:
    int socket_;
    bool ended_ = false;
    std::string came_;
};

class ServerTest : public testing::Test {
 protected:
    using Serve = std::function<void(const node::WebRequest&)>;

    /// Starts a server whose role notes requests and then does what serve_ says.
    void start(ServerOptions options = {}) {
        options.listen_port = 0;
        server_ =
            std::make_unique<HttpServer>(loop_, std::move(options), [this](node::Asked asked) {
                if (const auto* gone = std::get_if<node::WebGone>(&asked.request)) {
                    gone_.push_back(gone->exchange);
                } else {
                    requests_.push_back(std::get<node::WebRequest>(asked.request));
                    serve_(requests_.back());
                }
            });
        const Result<std::uint16_t> port = server_->listen();
        ASSERT_TRUE(port.has_value()) << port.error().detail;
        port_ = *port;
    }

    /// Runs the loop until `done` holds for the first time; returns false when it does not in time.
    bool run_until(const std::function<bool()>& done, Duration patience = kPatience) {
        const auto end = std::chrono::steady_clock::now() + patience;
        bool is_done = false;
        const auto check = [&] { return is_done = is_done || done(); };
        // The loop does not know of the clients' sockets, so it looks at them every 10 ms, too.
        while (!check() && std::chrono::steady_clock::now() < end) {
            (void)loop_.run_until(check, std::chrono::milliseconds(10));
        }
        return is_done;
    }

    /// Reads one answer whose length is said, or that is chunked.
    Answer read_answer(Client& client, bool has_body = true) {
        std::optional<Answer> answer;
        const bool came = run_until([&] {
            client.hear();
            if (!answer) {
                answer = take_head(client.came());
            }
            return answer && (!has_body || take_body(client, *answer));
        });
        EXPECT_TRUE(came) << "there is no whole answer in: " << client.came();
        return answer.value_or(Answer{});
    }

    Answer ask(Client& client, std::string_view request) {
        client.say(request);
        return read_answer(client);
    }

    /// Asks on a new connection.
    Answer ask(std::string_view request) {
        Client client(port_);
        return ask(client, request);
    }

    bool ends(Client& client, Duration patience = kPatience) {
        return run_until(
            [&] {
                client.hear();
                return client.has_ended();
            },
            patience
        );
    }

    void reply(std::uint64_t exchange, std::string body) {
        node::WebReply reply;
        reply.exchange = exchange;
        reply.body = std::move(body);
        server_->reply(reply);
    }

    void begin_stream(std::uint64_t exchange) {
        node::WebReply reply;
        reply.exchange = exchange;
        reply.content_type = "text/event-stream";
        reply.more = true;
        server_->reply(reply);
    }

    net::EventLoop loop_;
    std::unique_ptr<HttpServer> server_;
    std::uint16_t port_ = 0;
    std::vector<node::WebRequest> requests_;
    std::vector<std::uint64_t> gone_;
    /// Answers with method, path and body, unless a test chooses otherwise.
    Serve serve_ = [this](const node::WebRequest& request) {
        reply(request.exchange, request.method + " " + request.path + " " + request.body);
    };

 private:
    static bool take_body(Client& client, Answer& answer) {
        if (answer.fields.contains("Transfer-Encoding")) {
            return take_chunks(client.came(), answer.body);
        }
        if (!answer.fields.contains("Content-Length")) {
            return true;
        }
        const std::size_t size = std::stoul(answer.fields["Content-Length"]);
        if (client.came().size() < size) {
            return false;
        }
        answer.body = client.came().substr(0, size);
        client.came().erase(0, size);
        return true;
    }
};

inline std::string get(const std::string& path, const std::string& fields = "") {
    return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + fields + "\r\n";
}

inline std::string post(
    const std::string& path, const std::string& body, const std::string& fields = ""
) {
    return "POST " + path +
           " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n" + fields + "\r\n" + body;
}

}  // namespace swarm::http
