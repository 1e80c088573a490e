// Answers by the peers that serve a model, or the members of a stack, one after the other: a
// session client on a host of this process. Their text goes to stdout as it comes, figures to
// stderr and --json.
// Invariant: the tokens are those of one process with the same weights, whichever peers serve them.
// Threading: the loop's thread. Errors: those of opening the model and its tokenizer, TooLarge (the
// prompt fills the context); GenerationFailed becomes a line and kRunFailed.
#pragma once

#include "swarm/cli/answer/answer_report.hpp"
#include "swarm/cli/answer/answer_text.hpp"
#include "swarm/cli/answer/prompt_progress.hpp"
#include "swarm/cli/answer/served_question.hpp"
#include "swarm/cli/terminal/console.hpp"
#include "swarm/net/host.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace swarm::cli {

class RemoteAnswer {
 public:
    struct Hooks {
        /// Gets the peers that serve the hops from here on, and the member of the stack that they
        /// serve; 0 for a model.
        std::function<void(std::uint32_t, const std::vector<PeerId>&)> on_route{};
        /// Gets the number of tokens, after each token.
        std::function<void(std::size_t)> on_token{};
    };

    /// The arguments outlive this object.
    RemoteAnswer(
        net::EventLoop& loop, const GenerateOptions& options, Hooks hooks, Console& console
    );

    /// Opens the model, and asks for the answer; the loop must run for the answer to come.
    Result<> start(const std::string& directory);

    /// Asks for the next answer: the options have changed. REQUIRES: start() was well, and the
    /// answer before has ended.
    Result<> ask_next();

    /// The answer has ended, well or badly, or its host has failed.
    [[nodiscard]] bool ended() const { return exit_code_ || (host_ && host_->failure()); }

    /// Gives up the answer; the peers free its pages at once.
    void cancel(int exit_code);

    /// Writes the rest of the text.
    void end_text();

    /// Lets the host send its last messages.
    void close();

    /// Closes, and ends the text. Returns the exit code.
    int finish();

    /// Why no further answer can come; nullopt: one can.
    [[nodiscard]] std::optional<Error> failure() const {
        return host_ ? host_->failure() : std::nullopt;
    }

    [[nodiscard]] const std::optional<int>& exit_code() const { return exit_code_; }

    [[nodiscard]] const AnswerRecord& record() const { return record_; }

    /// Codecs of the rows between the hops of a model or a chain, link by link; with `auto` those
    /// that the peers chose.
    [[nodiscard]] const std::vector<protocol::CodecId>& codecs() const {
        return record_.readers.front().codecs;
    }

 private:
    void on_tell(const node::Report& report);
    void take(const node::TokenStreamed& token);
    void end(int exit_code);
    [[nodiscard]] Result<Question> read() const;
    [[nodiscard]] AnswerRecord new_record() const;
    void ask(Question question);

    net::EventLoop& loop_;
    const GenerateOptions& options_;
    Hooks hooks_;
    Console& console_;
    std::optional<ServedModel> served_;
    std::optional<net::Host> host_;
    std::uint64_t request_ = 0;  // number of the newest
    std::optional<Question> question_;
    std::optional<TextStream> stream_;
    PromptStatus status_;
    AnswerRecord record_;
    std::vector<std::uint32_t> asked_;  // members of an ensemble that read this text
    bool moved_ = false;                // since the last token
    std::optional<int> exit_code_;
};

/// `swarm generate --model --join`, or `--stack --join`. Returns the exit code.
int generate_remote(const GenerateOptions& options, Console& console);

}  // namespace swarm::cli
