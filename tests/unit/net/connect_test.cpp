// The order in which the addresses of a peer are tried, and how long one that is silent delays the
// next.
#include "swarm/net/connect.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

namespace swarm::net {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

tcp::endpoint at(const char* host, std::uint16_t port) {
    return {asio::ip::make_address(host), port};
}

TEST(AddressOrder, TakesTheFamiliesByTurnsAndKeepsTheOrderWithin) {
    const Endpoints given{
        at("10.0.0.1", 1), at("10.0.0.2", 1), at("10.0.0.1", 1), at("fd00::1", 1)};
    EXPECT_EQ(by_turns(given), (Endpoints{at("10.0.0.1", 1), at("fd00::1", 1), at("10.0.0.2", 1)}));
    EXPECT_EQ(by_turns({}), Endpoints{});
}

class ConnectTest : public testing::Test {
 protected:
    /// A port of 127.0.0.1 that takes no connection: its queue is full, so a dial gets no answer.
    class Silent {
     public:
        Silent() : acceptor_(io_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)) {
            EXPECT_EQ(::listen(acceptor_.native_handle(), 0), 0);
            for (int i = 0; i < 3; ++i) {
                auto& socket = fillers_.emplace_back(io_);
                socket.open(tcp::v4());
                socket.native_non_blocking(true);
                const tcp::endpoint to = acceptor_.local_endpoint();
                const auto size = static_cast<socklen_t>(to.size());
                EXPECT_NE(::connect(socket.native_handle(), to.data(), size), 1);
            }
        }

        [[nodiscard]] tcp::endpoint endpoint() const { return acceptor_.local_endpoint(); }

     private:
        asio::io_context io_;
        tcp::acceptor acceptor_;
        std::vector<tcp::socket> fillers_;
    };

    /// Returns the port that answered, or the reason why none did.
    std::string connect(const Endpoints& endpoints, milliseconds within = seconds(10)) {
        std::string outcome;
        const Clock::time_point began = Clock::now();
        const auto due = std::chrono::duration_cast<Duration>((began + within).time_since_epoch());
        asio::co_spawn(io_, connect(endpoints, TimePoint(due), outcome), asio::detached);
        io_.restart();
        io_.run();
        took_ = Clock::now() - began;
        return outcome;
    }

    static asio::awaitable<void> connect(Endpoints endpoints, TimePoint due, std::string& outcome) {
        Result<tcp::socket> socket = co_await connect_to_any(std::move(endpoints), {}, due);
        outcome = socket ? "port " + std::to_string(socket->remote_endpoint().port())
                         : socket.error().detail;
    }

    [[nodiscard]] std::string port() const {
        return "port " + std::to_string(open_.local_endpoint().port());
    }

    asio::io_context io_;
    tcp::acceptor open_{io_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
    Clock::duration took_{};
};

TEST_F(ConnectTest, GoesOnAtOnceWhereAnAddressRefuses) {
    tcp::acceptor gone(io_, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    const tcp::endpoint closed = gone.local_endpoint();
    gone.close();
    EXPECT_EQ(connect({closed, open_.local_endpoint()}), port());
    EXPECT_LT(took_, kNextAddressAfter);
}

TEST_F(ConnectTest, GoesOnAfterAQuarterOfASecondWhereAnAddressIsSilent) {
    const Silent silent;
    EXPECT_EQ(connect({silent.endpoint(), open_.local_endpoint()}), port());
    EXPECT_GE(took_, kNextAddressAfter);
    EXPECT_LT(took_, seconds(3));
}

TEST_F(ConnectTest, NamesEachAddressWithItsReason) {
    const Silent silent;
    tcp::acceptor gone(io_, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    const tcp::endpoint closed = gone.local_endpoint();
    gone.close();
    EXPECT_EQ(
        connect({silent.endpoint(), closed}, milliseconds(600)),
        "cannot connect to 127.0.0.1:" + std::to_string(silent.endpoint().port()) +
            ": no answer in time, 127.0.0.1:" + std::to_string(closed.port()) +
            ": Connection refused"
    );
}

}  // namespace
}  // namespace swarm::net
