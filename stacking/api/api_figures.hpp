// Counters and times of the API, for Prometheus. Each figure has a name of its own, and those that
// dashboards of vLLM and llama.cpp read have their names, too.
// Threading: one thread. Cost: O(1) for each event; to_text() is O(figures).
#pragma once

#include "swarm/base/units.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace stacking::api {

class ApiFigures {
 public:
    enum class Outcome { Stop, Length, Error, Abort };

    /// `model`: the label of all figures.
    explicit ApiFigures(const std::string& model);
    ApiFigures(const ApiFigures&) = delete;
    ApiFigures& operator=(const ApiFigures&) = delete;
    ~ApiFigures();

    void prompt_read(std::size_t tokens);
    /// Takes the tokens of a prompt, and how many of them peers had read before.
    void prompt_found(std::size_t tokens, std::size_t reused);
    /// Takes guesses that went out with a token, and those that turned out to be right.
    void guessed(std::size_t guesses, std::size_t right);
    void first_token(swarm::Duration since_asked);
    void next_token(swarm::Duration since_token);
    void ended(Outcome outcome, swarm::Duration since_asked);
    void refused();
    void moved();
    /// Takes the rows that peers read again after a failover, and those that another answer had
    /// left there.
    void refilled(std::uint64_t rows, std::uint64_t found);
    void set_load(std::size_t running, std::size_t waiting);

    [[nodiscard]] std::string to_text() const;

 private:
    struct Families;

    std::unique_ptr<Families> families_;
};

}  // namespace stacking::api
