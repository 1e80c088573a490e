// Reads the body of a POST on the device's thread, because the tokens of a long text take a second,
// in which streams of others must not wait.
// Invariant: outcome() is set once run() has returned.
// Threading: as node::Job. Errors: a WebError as the outcome, also when memory is short.
#pragma once

#include "stacking/api/completion_request.hpp"
#include "swarm/base/units.hpp"
#include "swarm/node/job.hpp"
#include "swarm/node/web.hpp"

#include <cstddef>
#include <string>
#include <utility>
#include <variant>

namespace stacking::api {

class BodyReading final : public node::Job {
 public:
    /// A request for texts, the body of an answer, or an error.
    using Outcome = std::variant<node::WebError, CompletionRequest, std::string>;

    /// `model` outlives this object.
    BodyReading(
        node::WebRequest request,
        const ApiModel& model,
        RequestDefaults defaults,
        swarm::TimePoint asked
    )
        : request_(std::move(request)), model_(model), defaults_(defaults), asked_(asked) {}

    /// Whether this body is to be read.
    static bool is_for(const node::WebRequest& request);

    void run() override;

    [[nodiscard]] double work_units() const override { return 0; }

    [[nodiscard]] std::uint64_t exchange() const { return request_.exchange; }

    [[nodiscard]] const std::string& user() const { return request_.user; }

    [[nodiscard]] std::size_t bytes() const { return bytes_; }

    [[nodiscard]] swarm::TimePoint asked() const { return asked_; }

    [[nodiscard]] Outcome& outcome() { return outcome_; }

 private:
    node::WebRequest request_;
    const ApiModel& model_;
    RequestDefaults defaults_;
    swarm::TimePoint asked_;
    std::size_t bytes_ = request_.body.size();
    Outcome outcome_;
};

}  // namespace stacking::api
