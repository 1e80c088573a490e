// A flood of connections on an API, beside the same flood on a listener that accepts and closes.
// under_flood.py has the honest users, flood.py the others. It prints figures, because they depend
// on the machine.
#include "tests/process/api/api_attacks_bed.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace swarm::test {
namespace {

/// Accepts connections and closes them.
class BareListener {
 public:
    BareListener() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in own{};
        own.sin_family = AF_INET;
        own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&own), sizeof own), 0);
        EXPECT_EQ(::listen(socket_, SOMAXCONN), 0);
        thread_ = std::thread([this] { serve(); });
    }

    BareListener(const BareListener&) = delete;
    BareListener& operator=(const BareListener&) = delete;

    ~BareListener() {
        ::shutdown(socket_, SHUT_RDWR);  // ends accept()
        thread_.join();
        ::close(socket_);
    }

    [[nodiscard]] std::uint16_t port() const {
        sockaddr_in own{};
        socklen_t size = sizeof own;
        EXPECT_EQ(::getsockname(socket_, reinterpret_cast<sockaddr*>(&own), &size), 0);
        return ntohs(own.sin_port);
    }

 private:
    void serve() const {
        for (;;) {
            const int client = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
            if (client < 0) {
                return;
            }
            ::close(client);
        }
    }

    int socket_;
    std::thread thread_;
};

class ApiFloodTest : public ApiAttacksTest {
 protected:
    void expect_that_users_are_served(const std::vector<std::string>& flags) {
        const std::unique_ptr<Program> api = start_api(flags);
        const BareListener bare;
        run("under_flood.py", *api, " " + std::to_string(bare.port()) + " 30", std::cout);
    }
};

TEST_F(ApiFloodTest, HonestUsersAreServedDuringAFloodOfHttp) {
    expect_that_users_are_served({});
}

TEST_F(ApiFloodTest, HonestUsersAreServedDuringAFloodOfHttps) {
    expect_that_users_are_served({"--tls"});
}

}  // namespace
}  // namespace swarm::test
