// A world of session servers whose one client is an ApiServer, with users that ask it. Answers are
// compared with the tokens that one process makes of the same request.
#pragma once

#include "stacking/api/api_server.hpp"
#include "tests/simulation/sessions/session_bed.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sim {

/// A request of a user for one text.
struct UserRequest {
    std::string user = "user";
    std::string prompt = "Hi";
    std::uint32_t tokens = 8;
    std::uint64_t seed = 1;
    double temperature = 1;
    double presence_penalty = 0;
    bool streams = true;
    std::uint32_t answers = 1;
};

class ApiBed {
 public:
    static constexpr PeerId kApi{{3000}};

    struct Answered {
        std::uint32_t status = 0;  // 0: not answered yet
        std::map<std::uint64_t, std::vector<std::uint32_t>> tokens{};  // by choice
        std::map<std::uint64_t, swarm::TimePoint> first_at{};          // time of the first token
        std::string trouble;  // text of an error
        bool ended = false;
        swarm::TimePoint ended_at{};
    };

    explicit ApiBed(SessionBedOptions options);

    World& world() { return bed_.world(); }

    [[nodiscard]] SessionBed& sessions() { return bed_; }

    /// Returns the number of the exchange.
    std::uint64_t ask(const UserRequest& request);
    void hang_up(std::uint64_t exchange);

    /// Asks for the events as a page does. seen() is then the newest state that came.
    void watch();

    [[nodiscard]] const std::string& seen() const { return seen_; }

    /// Runs until all requests whose users did not hang up have ended.
    bool run(swarm::Duration limit = std::chrono::seconds(300));

    [[nodiscard]] const Answered& answered(std::uint64_t exchange) const {
        return answered_.at(exchange);
    }

    /// Says what went wrong; empty when every request ended with the tokens of one process.
    [[nodiscard]] std::string verdict() const;

    /// Positions that are reserved at all servers.
    [[nodiscard]] std::uint64_t reserved() const;

 private:
    void add_api(std::uint32_t vocabulary);
    void hear(const node::Report& report);
    [[nodiscard]] std::vector<std::uint32_t> expected(
        const UserRequest& request, std::uint32_t answer
    ) const;

    SessionBed bed_;
    std::map<std::uint64_t, UserRequest> asked_;
    std::map<std::uint64_t, Answered> answered_;
    std::uint64_t exchanges_ = 0;
    std::uint64_t watching_ = 0;  // the exchange of the events
    std::string seen_;
};

}  // namespace sim
