#include "stacking/generator.hpp"

#include "stacking/sampler.hpp"
#include "swarm/node/dial_advice.hpp"
#include "swarm/node/wrong_place.hpp"
#include "swarm/protocol/limits.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace stacking {
namespace {

// Exit codes of the program: 3 for a run that it cannot read, 4 when nobody answers.
constexpr int kExitBadRun = 3;
constexpr int kExitUnreachable = 4;

void fail(std::uint64_t request, std::string reason, node::Turn turn) {
    turn.out.add(node::Tell{node::GenerationFailed{request, std::move(reason), {}}});
}

}  // namespace

Generator::Generator(Options options)
    : options_(std::move(options)), view_(options_.coordinator, options_.coordinator_address) {
    if (!options_.tokenizer_sha256) {
        view_.want_tokenizer();
    }
}

void Generator::on(const node::Event& event, TimePoint now, node::Outbox& out) {
    const node::Turn turn{now, out};
    if (ended_ || std::holds_alternative<node::Stop>(event)) {
        return;
    }
    std::visit([&](const auto& occurred) { handle(occurred, turn); }, event);
    if (view_.was_reached()) {
        give_up_at_ = swarm::kNever;
    }
    if (view_.fatal()) {
        end(kExitBadRun, *view_.fatal(), turn);
    }
    if (ended_) {
        return;
    }
    if (view_.take_roster_changed()) {
        heads_.follow(view_.roster(), turn);
    }
    advance(turn);
}

TimePoint Generator::next_deadline() const {
    if (ended_) {
        return swarm::kNever;
    }
    TimePoint due =
        std::min({give_up_at_, tokenizer_due_, view_.next_deadline(), heads_.next_deadline()});
    for (const auto& [arrival, generation] : generations_) {
        due = std::min({due, generation.answer_due, generation.token_since + options_.patience});
    }
    return due;
}

node::Allowance Generator::allowance(const PeerId& peer) const {
    using node::Acquaintance;
    if (peer == view_.coordinator()) {
        return {Acquaintance::Partner, protocol::kRosterBytesMax, protocol::kChunkTensorBytesMax};
    }
    const bool listed = view_.roster().find_peer(peer) != nullptr;
    return node::Allowance::without_tensors(
        listed ? Acquaintance::Partner : Acquaintance::Stranger
    );
}

void Generator::handle(const node::LinkUp& up, node::Turn turn) {
    if (!view_.on(up, turn)) {
        heads_.on(up, turn);
    }
}

void Generator::handle(const node::LinkDown& down, node::Turn turn) {
    if (view_.on(down, turn)) {
        return;
    }
    heads_.on(down, turn);
    for (auto& [arrival, generation] : generations_) {
        const auto waited = generation.asked.find(generation.latest);
        if (waited != generation.asked.end() && waited->second == down.peer) {
            ask_again(generation, "the link to a member broke");
        }
        std::erase_if(generation.asked, [&](const auto& ask) { return ask.second == down.peer; });
    }
}

void Generator::handle(const node::DialFailed& failed, node::Turn turn) {
    if (!view_.on(failed, turn)) {
        heads_.on(failed, turn);
    }
}

void Generator::handle(const node::Received& received, node::Turn turn) {
    const auto* const misdirected = std::get_if<protocol::Misdirected>(&received.message.body);
    if (misdirected && received.peer == view_.coordinator()) {
        const auto wanted = protocol::HubKind::Coordinator;
        if (misdirected->here != wanted && !std::exchange(ended_, true)) {
            const std::string& where = options_.coordinator_address;
            turn.out.add(node::Tell{node::wrong_place(where, misdirected->here, wanted)});
        }
        return;
    }
    if (view_.on(received, turn)) {
        return;
    }
    if (const auto* inferred = std::get_if<protocol::Inferred>(&received.message.body)) {
        take(received.peer, *inferred, turn);
    }
}

void Generator::handle(const node::Woke&, node::Turn turn) {
    if (!started_) {
        started_ = true;
        if (options_.first_contact_within > swarm::Duration{}) {
            give_up_at_ = turn.now + options_.first_contact_within;
        }
        if (!options_.tokenizer_sha256) {
            tokenizer_due_ = turn.now + options_.patience;
        }
    }
    if (give_up_at_ <= turn.now) {
        const auto& trouble = view_.dial_trouble();
        const auto code = trouble ? trouble->code : swarm::ErrorCode::Unreachable;
        return end(
            kExitUnreachable,
            view_.status() + " in time" + (trouble ? ": " + trouble->detail : "") +
                node::dial_advice(code, "swarm train"),
            turn
        );
    }
    if (tokenizer_due_ <= turn.now) {
        const auto waited =
            std::chrono::duration_cast<std::chrono::seconds>(options_.patience).count();
        return end(
            kExitUnreachable,
            (view_.tokenizer() == nullptr ? view_.status()
                                          : "the coordinator has not sent the run's tokenizer") +
                " in " + std::to_string(waited) + " s",
            turn
        );
    }
    view_.wake(turn);
    heads_.wake(turn);
    give_up_late(turn);
}

void Generator::handle(const node::Asked& asked, node::Turn turn) {
    if (const auto* request = std::get_if<node::GenerateRequest>(&asked.request)) {
        start(*request, turn);
    }
}

void Generator::start(const node::GenerateRequest& request, node::Turn turn) {
    if (request.prompt.empty()) {
        fail(request.request, "the prompt is empty; give at least one token", turn);
    } else if (request.tokens == 0) {
        fail(request.request, "no tokens were asked for; ask for at least one", turn);
    } else if (generations_.size() >= kRequestsMax) {
        fail(request.request, "too many requests at once; try again later", turn);
    } else {
        Generation generation;
        generation.request = request;
        generation.tokens = request.prompt;
        generation.left = request.tokens;
        generation.token_since = turn.now;
        generations_.emplace(++arrivals_, std::move(generation));
    }
}

bool Generator::is_usable(const protocol::Inferred& inferred) const {
    const auto known = [this](const protocol::TokenScore& score) {
        return score.token < view_.config()->model.vocabulary;
    };
    return !inferred.refused && !inferred.top.empty() &&
           std::all_of(inferred.top.begin(), inferred.top.end(), known);
}

void Generator::take(PeerId from, const protocol::Inferred& inferred, node::Turn turn) {
    const auto at = std::ranges::find_if(generations_, [&](const auto& entry) {
        const auto asked = entry.second.asked.find(inferred.request);
        return asked != entry.second.asked.end() && asked->second == from;
    });
    if (at == generations_.end()) {
        return;  // another member has answered for this token
    }
    Generation& generation = at->second;
    if (is_usable(inferred)) {
        heads_.succeeded(from);
        const node::GenerateRequest& request = generation.request;
        const SamplerOptions options{
            request.temperature, request.seed, request.top_p, request.top_k};
        add_token(at, sample_token(inferred.top, options, generation.tokens.size()), turn);
        return;
    }
    heads_.rest(from, turn.now);
    generation.asked.erase(inferred.request);
    if (generation.latest == inferred.request) {
        ask_again(generation, "a member refused");
    }
}

void Generator::add_token(Generations::iterator at, std::uint32_t token, node::Turn turn) {
    Generation& generation = at->second;
    --generation.left;
    const swarm::Duration took = turn.now - generation.token_since;
    const bool last = generation.left == 0;
    turn.out.add(node::Tell{node::TokenGenerated{generation.request.request, token, took, last}});
    if (last) {
        generations_.erase(at);
        return;
    }
    generation.tokens.push_back(token);
    generation.token_since = turn.now;
    generation.asked.clear();
    ask_again(generation, "");
}

void Generator::ask_again(Generation& generation, std::string trouble) {
    generation.latest = 0;
    generation.answer_due = swarm::kNever;
    generation.trouble = std::move(trouble);
}

void Generator::end(int exit_code, std::string text, node::Turn turn) {
    ended_ = true;
    turn.out.add(node::Tell{node::RunFailed{exit_code, std::move(text)}});
}

bool Generator::tell_tokenizer(node::Turn turn) {
    if (tokenizer_told_) {
        return true;
    }
    const TokenizerFetch* const tokenizer = view_.tokenizer();
    if (tokenizer != nullptr && !tokenizer->failure().empty()) {
        end(kExitBadRun,
            tokenizer->failure() + "; name tokenizer.model of the run's folder with --tokenizer",
            turn);
        return false;
    }
    if (tokenizer != nullptr && !tokenizer->is_whole()) {
        return false;
    }
    tokenizer_told_ = true;
    tokenizer_due_ = swarm::kNever;
    turn.out.add(node::Tell{
        node::TokenizerKnown{tokenizer == nullptr ? std::string() : tokenizer->file()}});
    return true;
}

bool Generator::check_tokenizer(node::Turn turn) {
    if (!options_.tokenizer_sha256) {
        return tell_tokenizer(turn);
    }
    const swarm::run::RunConfig& config = *view_.config();
    if (config.tokenizer_sha256 == *options_.tokenizer_sha256) {
        return true;
    }
    std::string text = "the tokenizer that was given is not the run's";
    if (config.tokenizer_sha256.empty()) {
        text = "the tokens of this run are bytes; leave --tokenizer out";
    } else if (options_.tokenizer_sha256->empty()) {
        text = "the tokens of this run are " + config.tokenizer +
               "; name tokenizer.model of the run's folder, or of a checkpoint, with --tokenizer";
    }
    end(kExitBadRun, std::move(text), turn);
    return false;
}

void Generator::advance(node::Turn turn) {
    if (view_.config() == nullptr || !check_tokenizer(turn)) {
        return;
    }
    const std::uint32_t vocabulary = view_.config()->model.vocabulary;
    for (auto at = generations_.begin(); at != generations_.end();) {
        Generation& generation = at->second;
        const auto& tokens = generation.tokens;
        if (*std::max_element(tokens.begin(), tokens.end()) >= vocabulary) {
            fail(
                generation.request.request,
                "the prompt has a token that the run's vocabulary of " +
                    std::to_string(vocabulary) + " does not know",
                turn
            );
            at = generations_.erase(at);
            continue;
        }
        if (generation.latest == 0) {
            ask(generation, turn);
        }
        ++at;
    }
}

void Generator::ask(Generation& generation, node::Turn turn) {
    const std::optional<PeerId> head = heads_.pick(turn.now);
    if (!head) {
        return;  // a new link, a new roster or the end of a rest calls this function again
    }
    const std::size_t window =
        std::min<std::size_t>(view_.config()->model.context, protocol::kTokensMax);
    const std::size_t kept = std::min(window, generation.tokens.size());
    protocol::Infer infer;
    infer.request = ++questions_;
    infer.tokens.assign(
        generation.tokens.end() - static_cast<std::ptrdiff_t>(kept), generation.tokens.end()
    );
    infer.top = generation.request.temperature > 0 ? protocol::kTopTokensMax : 1;
    generation.latest = infer.request;
    generation.asked[infer.request] = *head;
    generation.answer_due = turn.now + kAnswerWithin;
    turn.out.add(node::Send{*head, {0, 0, std::move(infer)}});
}

void Generator::give_up_late(node::Turn turn) {
    for (auto at = generations_.begin(); at != generations_.end();) {
        Generation& generation = at->second;
        if (generation.answer_due <= turn.now) {
            heads_.rest(generation.asked.at(generation.latest), turn.now);
            ask_again(generation, "a member did not answer in 5 s");
        }
        if (generation.token_since + options_.patience <= turn.now) {
            const std::string& trouble = generation.trouble;
            const std::string why = trouble.empty() ? view_.status() : trouble;
            const auto waited =
                std::chrono::duration_cast<std::chrono::seconds>(options_.patience).count();
            fail(
                generation.request.request,
                "no token in " + std::to_string(waited) + " s: " + why +
                    "; are all stages of the run served?",
                turn
            );
            at = generations_.erase(at);
        } else {
            ++at;
        }
    }
}

}  // namespace stacking
