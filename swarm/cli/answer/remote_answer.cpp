#include "swarm/cli/answer/remote_answer.hpp"

#include "stacking/sessions/session_client.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/common/clock.hpp"
#include "swarm/cli/common/files.hpp"
#include "swarm/cli/common/swarm_key.hpp"
#include "swarm/cli/owners/owner_check.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/cli/terminal/printable.hpp"
#include "swarm/cli/terminal/stop_presses.hpp"
#include "swarm/net/address.hpp"

#include <boost/json/serialize.hpp>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <utility>

namespace swarm::cli {
namespace {

constexpr auto kGoodbye = std::chrono::seconds(2);
/// The peers may use what they have read for this conversation in its next turns.
constexpr std::uint64_t kConversation = 1;

}  // namespace

RemoteAnswer::RemoteAnswer(
    net::EventLoop& loop, const GenerateOptions& options, Hooks hooks, Console& console
)
    : loop_(loop),
      options_(options),
      hooks_(std::move(hooks)),
      console_(console),
      status_(console) {}

Result<> RemoteAnswer::start(const std::string& directory) {
    SWARM_TRY(net::parse_address(directory));
    net::HostOptions host_options;
    SWARM_TRY(host_options.swarm_key, read_swarm_key(options_.swarm_key_file));
    host_options.first_contact = make_owner_check(options_.owner, console_);
    SWARM_TRY(served_, open_served_model(options_, console_));
    SWARM_TRY(Question question, read());
    const net::Identity self = net::Identity::make_ephemeral();
    host_options.on_tell = [this](const node::Report& report) { on_tell(report); };
    stacking::sessions::SessionClient::Options client;
    client.self = self.peer();
    client.incarnation = host_options.incarnation;
    client.directory_address = directory;
    client.models = served_->models;
    client.patience = options_.wait;
    auto role = std::make_unique<stacking::sessions::SessionClient>(std::move(client));
    host_.emplace(loop_, std::move(role), net::FileStore::none(), self, std::move(host_options));
    host_->start();
    ask(std::move(question));
    return {};
}

Result<> RemoteAnswer::ask_next() {
    SWARM_TRY(Question question, read());
    ask(std::move(question));
    return {};
}

Result<Question> RemoteAnswer::read() const {
    return read_question(
        options_, served_->tokenizer, served_->context, served_->end_tokens, console_
    );
}

AnswerRecord RemoteAnswer::new_record() const {
    AnswerRecord record;
    record.name = options_.stack.empty() ? options_.model : options_.stack;
    record.replay = options_.replay;
    record.codes_rows = !options_.codecs.empty();
    record.is_ensemble = !served_->members.empty();
    record.prompt_tokens = question_->prompt.size();
    if (record.is_ensemble) {
        for (const std::uint32_t member : asked_) {
            record.readers.push_back({served_->names[member]});
        }
    } else {
        record.readers.push_back({served_->names.front()});
    }
    return record;
}

void RemoteAnswer::ask(Question question) {
    question_ = std::move(question);
    ChosenMembers chosen =
        choose_members(served_->members, served_->priors, question_->prompt, served_->tokenizer);
    asked_ = std::move(chosen.places);
    record_ = new_record();
    stream_.emplace(served_->tokenizer, question_->before, options_.stops);
    moved_ = false;
    exit_code_.reset();
    node::SessionRequest request;
    request.request = ++request_;
    request.prompt = question_->prompt;
    request.tokens = question_->tokens_max;
    request.sampling = {options_.temperature, options_.seed, 1, options_.top_p, options_.top_k};
    request.sampling.min_p = options_.min_p;
    request.sampling.repetition_penalty = options_.repetition_penalty;
    request.sampling.presence_penalty = options_.presence_penalty;
    request.sampling.frequency_penalty = options_.frequency_penalty;
    request.sampling.generated_from = static_cast<std::uint32_t>(request.prompt.size());
    request.sampling.biases = options_.biases;
    request.path = options_.path;
    request.exit_threshold = options_.exit_threshold;
    request.exact = options_.replay == "exact";
    request.members = std::move(chosen.members);
    request.chain = served_->chain;
    request.late_after = options_.late_after;
    request.codecs = options_.codecs;
    request.guesses_max = options_.guesses_max;
    if (!options_.messages.empty()) {
        request.keeps_for = kConversation;
    }
    host_->ask({std::move(request)});
}

void RemoteAnswer::on_tell(const node::Report& report) {
    if (const auto* const line = std::get_if<node::LogLine>(&report)) {
        console_.log(line->level, line->text);
    } else if (exit_code_) {
        return;  // the answer was given up
    } else if (const auto* const token = std::get_if<node::TokenStreamed>(&report)) {
        take(*token);
    } else if (const auto* const routed = std::get_if<node::SessionRouted>(&report)) {
        AnswerRecord::Reader& reader = record_.readers.at(routed->member);
        reader.routes.push_back(routed->peers);
        reader.codecs = routed->codecs;
        record_.routed = record_.ids.empty() ? clock_now() : record_.routed;
        if (hooks_.on_route) {
            const bool of_stack = !asked_.empty();
            hooks_.on_route(of_stack ? asked_[routed->member] : 0, routed->peers);
        }
    } else if (const auto* const prompt = std::get_if<node::PromptRead>(&report)) {
        if (record_.ids.empty()) {
            status_.show(prompt->read, prompt->tokens);
        }
    } else if (const auto* const dropped = std::get_if<node::MemberDropped>(&report)) {
        AnswerRecord::Reader& reader = record_.readers.at(dropped->member);
        reader.dropped = *dropped;
        console_.warn(reader.name + " is left out from here on: " + dropped->reason);
    } else if (const auto* const moved = std::get_if<node::SessionMoved>(&report)) {
        record_.moves.push_back(*moved);
        moved_ = true;
    } else if (const auto* const failed = std::get_if<node::GenerationFailed>(&report)) {
        console_.error(failed->reason);
        end(kRunFailed);
    }
}

void RemoteAnswer::take(const node::TokenStreamed& token) {
    status_.end();
    record_.last_token = clock_now();
    if (record_.ids.empty()) {
        record_.first_token = record_.last_token;
    } else if (!std::exchange(moved_, false) && !token.was_guessed) {
        record_.timed.push_back(token);
    }
    if (std::ranges::find(question_->end_tokens, token.token) != question_->end_tokens.end()) {
        host_->ask({node::CancelRequest{request_}});
        return end(kDone);
    }
    record_.ids.push_back(token.token);
    std::vector<std::size_t>& by_hop = record_.answered_by_hop;
    by_hop.resize(std::max<std::size_t>(by_hop.size(), token.hop + std::size_t{1}));
    ++by_hop[token.hop];
    const bool taken = stream_->add(token.token);
    if (hooks_.on_token) {
        hooks_.on_token(record_.ids.size());
    }
    if (token.last) {
        end(kDone);
    } else if (!taken) {
        cancel(stream_->is_stopped() ? kDone : kRunFailed);
    }
}

void RemoteAnswer::end(int exit_code) {
    exit_code_ = exit_code;
}

void RemoteAnswer::cancel(int exit_code) {
    if (!exit_code_ && host_) {
        host_->ask({node::CancelRequest{request_}});
    }
    end(exit_code);
}

void RemoteAnswer::end_text() {
    status_.end();
    record_.text = stream_->finish();
    if (!stream_->is_stopped()) {
        tell_full_context(*question_, record_.ids.size(), options_.tokens, console_);
    }
}

void RemoteAnswer::close() {
    host_->stop();
    static_cast<void>(loop_.run_until([this] { return host_->finished(); }, kGoodbye));
}

int RemoteAnswer::finish() {
    close();
    end_text();
    return host_->failure() ? end_with(console_, *host_->failure()) : *exit_code_;
}

int generate_remote(const GenerateOptions& options, Console& console) {
    net::EventLoop loop;
    RemoteAnswer answer(loop, options, {}, console);
    if (const Result<> started = answer.start(options.join); !started) {
        return end_with(console, started.error());
    }
    StopPresses presses;
    loop.on_signal([&](int number) {
        if (presses.note(clock_now()) == StopPress::Echo) {
            return;
        }
        if (answer.ended()) {
            std::_Exit(after_signal(number));
        }
        answer.cancel(after_signal(number));
    });
    loop.run_until([&] { return answer.ended(); });
    const int exit_code = answer.finish();
    std::cerr << printable(summary_of(answer.record()));
    const bool kept =
        options.json_file.empty() ||
        write_text(
            console, options.json_file, boost::json::serialize(to_json(answer.record())) + "\n"
        );
    return exit_code == kDone && !kept ? kRunFailed : exit_code;
}

}  // namespace swarm::cli
