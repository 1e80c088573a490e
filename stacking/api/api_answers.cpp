// Second part of ApiServer: what its sessions tell, and what its clients are told.
#include "stacking/api/api_server.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace stacking::api {

void ApiServer::hear(node::Report report, node::Turn turn) {
    if (const auto* const token = std::get_if<node::TokenStreamed>(&report)) {
        return hear(*token, turn);
    }
    if (const auto* const failed = std::get_if<node::GenerationFailed>(&report)) {
        return hear(*failed, turn);
    }
    if (const auto* const routed = std::get_if<node::SessionRouted>(&report)) {
        hear(*routed);
    }
    if (const auto* const moved = std::get_if<node::SessionMoved>(&report)) {
        state_.note(*moved, turn.now);
        figures_.moved();
    }
    turn.out.add(node::Tell{std::move(report)});
}

void ApiServer::hear(const node::TokenStreamed& token, node::Turn turn) {
    const auto at = jobs_.find(token.request);
    if (at == jobs_.end()) {
        return;
    }
    Job& job = at->second;
    const auto exchange = exchanges_.find(job.exchange);
    const swarm::Duration since =
        turn.now - (job.has_token ? job.token_at : exchange->second.asked);
    if (std::exchange(job.has_token, true)) {
        figures_.next_token(since);
    } else {
        figures_.first_token(since);
    }
    job.token_at = turn.now;
    figures_.guessed(token.guessed, token.was_guessed ? 1 : 0);
    state_.count_token(turn.now);
    const std::size_t index = job.choice;
    Choice& choice = exchange->second.choices[index];
    Choice::Piece piece = choice.take(token);
    if (choice.end()) {
        end_job(at);
        if (!token.last) {
            give(node::Asked{node::CancelRequest{token.request}}, turn);
        }
    }
    tell_piece(exchange, index, std::move(piece), turn);
    if (exchange->second.jobs.empty()) {
        finish(exchange, turn);
    }
}

void ApiServer::hear(const node::SessionRouted& routed) {
    figures_.refilled(routed.refilled, routed.found);
    const auto at = jobs_.find(routed.request);
    if (at != jobs_.end() && !std::exchange(at->second.has_route, true)) {
        Exchange& exchange = exchanges_.at(at->second.exchange);
        const std::size_t prompt = exchange.choices[at->second.choice].prompt();
        std::uint32_t& reused = exchange.reused.try_emplace(prompt, routed.reused).first->second;
        reused = std::min(reused, routed.reused);
        figures_.prompt_found(exchange.request.prompts[prompt].tokens.size(), routed.reused);
    }
}

/// A session that found no room, and has told nothing, tries again while its client is patient.
void ApiServer::hear(const node::GenerationFailed& failed, node::Turn turn) {
    const auto at = jobs_.find(failed.request);
    if (at == jobs_.end()) {
        return;
    }
    const auto exchange = exchanges_.find(at->second.exchange);
    const TimePoint give_up_at = exchange->second.asked + kPlaceWithin;
    const TimePoint again_at = turn.now + failed.retry_after.value_or(swarm::Duration::zero());
    if (failed.retry_after && !at->second.has_token && again_at < give_up_at) {
        leave_place(exchange->second);
        at->second.at = Job::At::Resting;
        at->second.again_at = again_at;
        resting_.insert({again_at, failed.request});
        return;
    }
    const auto retry_after = std::chrono::ceil<std::chrono::seconds>(
        failed.retry_after.value_or(options_.client.patience / kPatienceParts)
    );
    end_job(at);
    fail(exchange, {503, "no_peers", failed.reason, retry_after}, turn);
}

void ApiServer::tell_piece(
    Exchanges::iterator at, std::size_t choice, Choice::Piece piece, node::Turn turn
) {
    Exchange& exchange = at->second;
    const auto& end = exchange.choices[choice].end();
    const bool usage = exchange.request.tells_usage;
    if (!exchange.request.streams) {
        Choice::Piece& whole = exchange.whole[choice];
        whole.text += piece.text;
        whole.ids.insert(whole.ids.end(), piece.ids.begin(), piece.ids.end());
        std::ranges::move(piece.logprobs, std::back_inserter(whole.logprobs));
        return;
    }
    std::string events;
    if (!piece.text.empty() || !piece.ids.empty() || !piece.logprobs.empty()) {
        events = event_of_piece(exchange.head, choice, piece, usage);
    }
    if (end) {
        events += event_of_end(exchange.head, choice, *end, usage);
    }
    if (!events.empty()) {
        say(at, std::move(events), false, turn);
    }
}

Usage ApiServer::usage_of(const Exchange& exchange) const {
    Usage usage;
    for (const Prompt& prompt : exchange.request.prompts) {
        usage.prompt_tokens += prompt.tokens.size();
    }
    for (const Choice& choice : exchange.choices) {
        usage.completion_tokens += choice.tokens();
    }
    for (const auto& [prompt, reused] : exchange.reused) {
        usage.reused_tokens += reused;
    }
    return usage;
}

/// Ends an exchange all of whose answers have ended.
void ApiServer::finish(Exchanges::iterator at, node::Turn turn) {
    Exchange& exchange = at->second;
    const swarm::Duration took = turn.now - exchange.asked;
    constexpr double kWeight = 0.1;  // the last text's in the moving mean
    text_s_ += kWeight * (swarm::in_seconds(took) - text_s_);
    const bool is_cut = std::ranges::any_of(exchange.choices, [](const Choice& choice) {
        return choice.end() == Choice::End::Length;
    });
    figures_.ended(is_cut ? ApiFigures::Outcome::Length : ApiFigures::Outcome::Stop, took);
    const Usage usage = usage_of(exchange);
    if (exchange.request.streams) {
        std::string events = kLastEvent;
        if (exchange.request.tells_usage) {
            events = event_of_usage(exchange.head, usage) + events;
        }
        say(at, std::move(events), true, turn);
    } else {
        std::vector<WholeChoice> choices;
        for (std::size_t i = 0; i < exchange.choices.size(); ++i) {
            choices.push_back({i, std::move(exchange.whole[i]), exchange.choices[i].end()});
            if (exchange.request.echo) {
                const std::size_t prompt = exchange.choices[i].prompt();
                choices.back().all.text.insert(0, exchange.request.prompts[prompt].text);
            }
        }
        node::WebReply reply;
        reply.exchange = at->first;
        reply.body = json_of_answer(exchange.head, choices, usage);
        turn.out.add(node::Tell{std::move(reply)});
    }
    forget(at);
}

/// Sends events of a stream; before the first ones go its head, and who speaks or is echoed.
void ApiServer::say(Exchanges::iterator at, std::string events, bool last, node::Turn turn) {
    Exchange& exchange = at->second;
    exchange.said = turn.now;
    if (std::exchange(exchange.has_begun, true)) {
        turn.out.add(node::Tell{node::WebPiece{at->first, std::move(events), last}});
        return;
    }
    node::WebReply reply;
    reply.exchange = at->first;
    reply.content_type = "text/event-stream";
    reply.more = true;
    for (std::size_t i = 0; i < exchange.choices.size(); ++i) {
        const bool usage = exchange.request.tells_usage;
        if (exchange.head.endpoint == Endpoint::Chat) {
            reply.body += event_of_role(exchange.head, i, usage);
        } else if (exchange.request.echo) {
            Choice::Piece echo;
            echo.text = exchange.request.prompts[exchange.choices[i].prompt()].text;
            reply.body += event_of_piece(exchange.head, i, echo, usage);
        }
    }
    reply.body += events;
    turn.out.add(node::Tell{std::move(reply)});
    if (last) {
        turn.out.add(node::Tell{node::WebPiece{at->first, "", true}});
    }
}

}  // namespace stacking::api
