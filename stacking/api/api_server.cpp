#include "stacking/api/api_server.hpp"

#include "swarm/base/check.hpp"
#include "swarm/base/digest.hpp"
#include "swarm/base/rng.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <span>
#include <utility>

namespace stacking::api {
namespace {

using sessions::SessionClient;

constexpr std::int64_t kRetryMost_s = 60;

std::string hex(std::uint64_t value) {
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
    return text;
}

/// Users share nothing that peers have read: who waits less would learn what others have asked.
std::uint64_t scope_of(const std::string& user) {
    const swarm::Digest digest = swarm::sha256(std::as_bytes(std::span(user)));
    std::uint64_t scope = 0;
    std::memcpy(&scope, digest.bytes.data(), sizeof scope);
    return scope;
}

}  // namespace

ApiServer::ApiServer(Options options)
    : options_(std::move(options)),
      client_(options_.client),
      figures_(options_.model.name),
      state_(options_.name_of) {}

void ApiServer::on(const node::Event& event, TimePoint now, node::Outbox& out) {
    const node::Turn turn{now, out};
    started_ = started_.value_or(now);
    if (ended_) {
        return;
    }
    ended_ = std::holds_alternative<node::Stop>(event);
    const auto* const asked = std::get_if<node::Asked>(&event);
    if (const auto* request = asked ? std::get_if<node::WebRequest>(&asked->request) : nullptr) {
        take(*request, turn);
    } else if (const auto* gone = asked ? std::get_if<node::WebGone>(&asked->request) : nullptr) {
        take(*gone, turn);
    } else if (const auto* computed = std::get_if<node::Computed>(&event)) {
        take(*computed, turn);
    } else {
        state_.note(event, now);
        give(event, turn);
    }
    wake(turn);
    dispatch(turn);
    state_.watch(client_.models(), now);
    figures_.set_load(under_way_, jobs_.size() - under_way_);
}

TimePoint ApiServer::next_deadline() const {
    if (ended_) {
        return swarm::kNever;
    }
    TimePoint next = std::min(client_.next_deadline(), watchers_due_);
    if (!looks_.empty()) {
        next = std::min(next, looks_.begin()->first);
    }
    if (!resting_.empty() && under_way_ < places()) {
        next = std::min(next, resting_.begin()->first);
    }
    return next;
}

node::Allowance ApiServer::allowance(const PeerId& peer) const {
    return client_.allowance(peer);
}

/// Gives the event to the client, and hears what it tells after all else that it asks for: an
/// answer to a token, such as the end of the session, then follows the messages of this turn.
void ApiServer::give(const node::Event& event, node::Turn turn) {
    node::Outbox asked;
    client_.on(event, turn.now, asked);
    std::vector<node::Report> reports;
    for (node::Action& action : asked.actions) {
        if (auto* const tell = std::get_if<node::Tell>(&action)) {
            reports.push_back(std::move(tell->report));
        } else {
            turn.out.actions.push_back(std::move(action));
        }
    }
    for (node::Report& report : reports) {
        hear(std::move(report), turn);
    }
}

void ApiServer::take(const node::WebRequest& request, node::Turn turn) {
    if (BodyReading::is_for(request)) {
        return read(request, turn);
    }
    if (!answer_watching(request, turn)) {
        const Answer<std::string> body = answer_simple(request);
        node::WebReply reply;
        reply.exchange = request.exchange;
        if (body) {
            reply.body = *body;
        } else {
            reply = reply_of(request.exchange, body.error());
        }
        turn.out.add(node::Tell{std::move(reply)});
    }
}

void ApiServer::read(const node::WebRequest& request, node::Turn turn) {
    if (reading_bytes_ + request.body.size() > kReadingBytesMax) {
        figures_.refused();
        const node::WebError full{
            503, "full", "too much waits to be read", std::chrono::seconds(1)};
        turn.out.add(node::Tell{reply_of(request.exchange, full)});
        return;
    }
    RequestDefaults defaults = options_.defaults;
    defaults.now_unix_s = unix_s(turn.now);
    auto reading = std::make_shared<BodyReading>(request, options_.model, defaults, turn.now);
    reading_bytes_ += reading->bytes();
    const swarm::JobId job{++numbers_};
    readings_.emplace(job, Reading{reading});
    turn.out.add(node::Compute{job, std::move(reading)});
}

void ApiServer::take(const node::Computed& computed, node::Turn turn) {
    const auto found = readings_.find(computed.job);
    if (found == readings_.end()) {
        return;
    }
    const Reading reading = std::move(found->second);
    readings_.erase(found);
    reading_bytes_ -= reading.job->bytes();
    if (reading.is_gone) {
        return;
    }
    BodyReading::Outcome& outcome = reading.job->outcome();
    if (auto* const request = std::get_if<CompletionRequest>(&outcome)) {
        return begin(*reading.job, std::move(*request), turn);
    }
    node::WebReply reply;
    reply.exchange = reading.job->exchange();
    if (auto* const body = std::get_if<std::string>(&outcome)) {
        reply.body = std::move(*body);
    } else {
        figures_.refused();
        reply = reply_of(reply.exchange, std::get<node::WebError>(outcome));
    }
    turn.out.add(node::Tell{std::move(reply)});
}

void ApiServer::take(const node::WebGone& gone, node::Turn turn) {
    watchers_.erase(gone.exchange);
    for (auto& [job, reading] : readings_) {
        reading.is_gone = reading.is_gone || reading.job->exchange() == gone.exchange;
    }
    const auto found = exchanges_.find(gone.exchange);
    if (found != exchanges_.end()) {
        figures_.ended(ApiFigures::Outcome::Abort, turn.now - found->second.asked);
        cancel(found->second, turn);
        forget(found);
    }
}

void ApiServer::begin(const BodyReading& asked, CompletionRequest request, node::Turn turn) {
    const auto refuse = [&](const node::WebError& error) {
        figures_.refused();
        turn.out.add(node::Tell{reply_of(asked.exchange(), error)});
    };
    const bool mixed = !options_.members.empty();
    if (mixed && (request.sampling.reads_text() || !request.sampling.biases.empty())) {
        return refuse(bad_field("", "a stack whose members are mixed draws without penalties"));
    }
    const std::size_t jobs = request.prompts.size() * request.answers;
    if (const auto error = refuse_load(asked.user(), jobs)) {
        return refuse(*error);
    }
    const auto at = exchanges_.try_emplace(asked.exchange()).first;
    Exchange& exchange = at->second;
    exchange.request = std::move(request);
    exchange.user = asked.user();
    exchange.asked = exchange.said = asked.asked();
    const Endpoint endpoint = exchange.request.endpoint;
    const std::string kind = endpoint == Endpoint::Chat ? "chatcmpl-" : "cmpl-";
    const std::uint64_t incarnation = options_.client.incarnation.value;
    exchange.head = {
        endpoint,
        kind + hex(swarm::mix_bits(incarnation + ++numbers_)),
        options_.model.name,
        unix_s(turn.now)};
    exchange.whole.resize(jobs);
    for (std::size_t choice = 0; choice < jobs; ++choice) {
        const std::size_t prompt = choice / exchange.request.answers;
        exchange.choices.emplace_back(exchange.request, prompt, options_.model);
        Job job{.exchange = asked.exchange(), .choice = choice};
        const std::size_t tokens = exchange.request.prompts[prompt].tokens.size();
        job.cost = static_cast<double>(tokens + exchange.request.tokens_max[prompt]);
        jobs_.emplace(++numbers_, job);
        exchange.jobs.insert(numbers_);
        queue_.add(exchange.user, numbers_, job.cost);
        figures_.prompt_read(tokens);
    }
    look_again(at, turn.now);
}

/// Says why so many jobs more cannot wait.
std::optional<node::WebError> ApiServer::refuse_load(const std::string& user, std::size_t jobs)
    const {
    switch (queue_.room(user, jobs)) {
        case FairQueue::Room::UserIsFull:
            return node::WebError{
                429,
                "too_many_requests",
                "too many of your requests wait; try again later",
                wait_for_place()};
        case FairQueue::Room::Full:
            return node::WebError{503, "full", "too many requests wait", wait_for_place()};
        case FairQueue::Room::Yes:
            break;
    }
    if (exchanges_.size() >= kExchangesMax) {
        return node::WebError{503, "full", "too many requests are under way", wait_for_place()};
    }
    return std::nullopt;
}

std::size_t ApiServer::places() const {
    return SessionClient::kSessionsMax / std::max<std::size_t>(options_.members.size(), 1);
}

/// Estimates when all that waits has had a place.
std::chrono::seconds ApiServer::wait_for_place() const {
    const double rounds = static_cast<double>(queue_.size()) / static_cast<double>(places()) + 1;
    const auto wait = static_cast<std::int64_t>(std::ceil(rounds * text_s_));
    return std::chrono::seconds(std::clamp<std::int64_t>(wait, 1, kRetryMost_s));
}

std::int64_t ApiServer::unix_s(TimePoint now) const {
    const auto passed = std::chrono::duration_cast<std::chrono::seconds>(now - *started_);
    return options_.started_unix_s + passed.count();
}

void ApiServer::dispatch(node::Turn turn) {
    const std::size_t kept = std::min(kPlacesForOthers, places() / 2);
    const auto may = [&](const std::string& user) {
        const auto found = under_way_by_user_.find(user);
        return found == under_way_by_user_.end() || found->second < places() - kept;
    };
    while (!ended_ && under_way_ < places()) {
        const std::optional<std::uint64_t> next = queue_.take(may);
        if (!next) {
            return;
        }
        open_session(*next, jobs_.at(*next), turn);
    }
}

void ApiServer::open_session(std::uint64_t number, Job& job, node::Turn turn) {
    const Exchange& exchange = exchanges_.at(job.exchange);
    const CompletionRequest& asked = exchange.request;
    const std::size_t prompt = job.choice / asked.answers;
    const std::size_t answer = job.choice % asked.answers;
    job.at = Job::At::UnderWay;
    ++under_way_;
    ++under_way_by_user_[exchange.user];
    node::SessionRequest request;
    request.request = number;
    request.prompt = asked.prompts[prompt].tokens;
    request.tokens = asked.tokens_max[prompt];
    request.sampling = asked.sampling;
    request.sampling.generated_from = static_cast<std::uint32_t>(request.prompt.size());
    const std::uint64_t seed =
        asked.seed.value_or(swarm::mix_bits(options_.client.incarnation.value ^ number));
    request.sampling.seed = answer == 0 ? seed : swarm::mix_bits(seed + answer);
    const std::vector<node::StackMember>& own = asked.prompts[prompt].members;
    request.members = own.empty() ? options_.members : own;
    request.chain = options_.chain;
    request.codecs = options_.codecs;
    request.guesses_max = options_.guesses_max;
    request.keeps_for = scope_of(exchange.user);
    give(node::Asked{std::move(request)}, turn);
}

void ApiServer::leave_place(const Exchange& exchange) {
    --under_way_;
    const auto user = under_way_by_user_.find(exchange.user);
    if (--user->second == 0) {
        under_way_by_user_.erase(user);
    }
}

void ApiServer::end_job(Jobs::iterator at) {
    const auto& [number, job] = *at;
    Exchange& exchange = exchanges_.at(job.exchange);
    switch (job.at) {
        case Job::At::Waiting:
            queue_.remove(number);
            break;
        case Job::At::Resting:
            resting_.erase({job.again_at, number});
            break;
        case Job::At::UnderWay: {
            leave_place(exchange);
            const Choice& choice = exchange.choices[job.choice];
            const std::size_t read = exchange.request.prompts[choice.prompt()].tokens.size();
            const double used = static_cast<double>(read + choice.tokens());
            queue_.give_back(exchange.user, std::max(job.cost - used, 0.0));
            break;
        }
    }
    exchange.jobs.erase(number);
    jobs_.erase(at);
}

void ApiServer::cancel(Exchange& exchange, node::Turn turn) {
    while (!exchange.jobs.empty()) {
        const std::uint64_t number = *exchange.jobs.begin();
        const auto job = jobs_.find(number);
        const bool is_open = job->second.at == Job::At::UnderWay;
        end_job(job);
        if (is_open) {
            give(node::Asked{node::CancelRequest{number}}, turn);
        }
    }
}

void ApiServer::fail(Exchanges::iterator at, const node::WebError& error, node::Turn turn) {
    const std::uint64_t number = at->first;
    figures_.ended(ApiFigures::Outcome::Error, turn.now - at->second.asked);
    cancel(at->second, turn);
    if (at->second.has_begun) {
        turn.out.add(node::Tell{node::WebPiece{number, event_of_error(error), true}});
    } else {
        turn.out.add(node::Tell{reply_of(number, error)});
    }
    forget(at);
}

void ApiServer::forget(Exchanges::iterator at) {
    looks_.erase({at->second.looked_at, at->first});
    exchanges_.erase(at);
}

/// Does what is due for the exchange although nothing happens.
void ApiServer::look(Exchanges::iterator at, node::Turn turn) {
    const Exchange& exchange = at->second;
    const bool is_patient = turn.now < exchange.asked + kPlaceWithin;
    if (!is_patient && lacks_place(exchange)) {
        return fail(at, {503, "full", "no place became free in time", wait_for_place()}, turn);
    }
    if (due(exchange) <= turn.now) {
        say(at, ": the answer is under way\n\n", false, turn);
    }
    look_again(at, turn.now);
}

/// Notes the earliest time at which something may be due: what happens until then only delays it.
void ApiServer::look_again(Exchanges::iterator at, TimePoint now) {
    Exchange& exchange = at->second;
    looks_.erase({exchange.looked_at, at->first});
    exchange.looked_at = swarm::kNever;
    if (exchange.request.streams) {
        exchange.looked_at = exchange.said + (exchange.has_begun ? kQuietMax : kHeadWithin);
    }
    if (now < exchange.asked + kPlaceWithin) {
        exchange.looked_at = std::min(exchange.looked_at, exchange.asked + kPlaceWithin);
    }
    if (exchange.looked_at != swarm::kNever) {
        looks_.insert({exchange.looked_at, at->first});
    }
}

/// Returns when something has to be done for the exchange although nothing happens.
TimePoint ApiServer::due(const Exchange& exchange) const {
    TimePoint at = swarm::kNever;
    if (exchange.request.streams) {
        at = exchange.said + (exchange.has_begun ? kQuietMax : kHeadWithin);
    }
    if (lacks_place(exchange)) {
        at = std::min(at, exchange.asked + kPlaceWithin);
    }
    return at;
}

bool ApiServer::lacks_place(const Exchange& exchange) const {
    return std::ranges::any_of(exchange.jobs, [this](std::uint64_t job) {
        return jobs_.at(job).at != Job::At::UnderWay;
    });
}

void ApiServer::wake(node::Turn turn) {
    tell_watchers(turn);
    while (!looks_.empty() && looks_.begin()->first <= turn.now) {
        look(exchanges_.find(looks_.begin()->second), turn);
    }
    // Each one once: whoever is refused again rests anew.
    for (std::size_t left = resting_.size(); left > 0 && under_way_ < places(); --left) {
        if (resting_.empty() || resting_.begin()->first > turn.now) {
            break;
        }
        const std::uint64_t number = resting_.begin()->second;
        resting_.erase(resting_.begin());
        open_session(number, jobs_.at(number), turn);
    }
}

}  // namespace stacking::api
