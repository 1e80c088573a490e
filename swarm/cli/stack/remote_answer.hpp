// One answer by the peers that serve a model, or the members of a stack: a session client on a host
// of this process, its text on stdout as it comes, its speeds and what happened to its peers on
// stderr and in --json.
// Invariant: the tokens are those of one process with the same weights, whoever serves them.
// Threading: the loop's thread. Errors: those of opening the model and its tokenizer, TooLarge (the
// prompt fills the context); GenerationFailed becomes a line and kRunFailed.
#pragma once

#include "swarm/cli/console.hpp"
#include "swarm/cli/model/answer_text.hpp"
#include "swarm/cli/options.hpp"
#include "swarm/cli/stack/served_question.hpp"
#include "swarm/cli/temporary_directory.hpp"
#include "swarm/net/host.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace swarm::cli {

class RemoteAnswer {
 public:
    struct Hooks {
        /// Who serves the hops now; of which member of a stack, 0 for a model.
        std::function<void(std::uint32_t, const std::vector<PeerId>&)> on_route{};
        std::function<void(std::size_t)> on_token{};  // how many there are
    };

    /// All of them outlive this object.
    RemoteAnswer(
        net::EventLoop& loop, const GenerateOptions& options, Hooks hooks, Console& console
    );

    /// Asks for the answer; the loop must run for it to come.
    Result<> start(const std::string& directory);

    /// The answer, or its host, has ended, well or badly.
    [[nodiscard]] bool ended() const { return exit_code_ || (host_ && host_->failure()); }

    /// Gives up the answer: its pages at the peers are free at once.
    void cancel(int exit_code);

    /// Lets the host say its last word, and ends the text. The exit code.
    int finish();

    /// Speeds, hops and losses, for people.
    [[nodiscard]] std::string summary() const;
    /// The same for --json.
    [[nodiscard]] boost::json::object to_json() const;

    [[nodiscard]] const std::vector<std::uint32_t>& ids() const { return ids_; }

    /// Of the rows between the hops of a model or a chain, link by link; with `auto` what the peers
    /// chose.
    [[nodiscard]] const std::vector<protocol::CodecId>& codecs() const {
        return readers_.front().codecs;
    }

 private:
    /// A model, or a member of a stack.
    struct Reader {
        std::string name;
        std::vector<std::vector<PeerId>> routes{};
        std::vector<protocol::CodecId> codecs{};  // of the rows between its hops
        std::optional<node::MemberDropped> dropped{};
    };

    void on_tell(const node::Report& report);
    void take(const node::TokenStreamed& token);
    void end(int exit_code);
    void ask(const ServedQuestion& asked);
    [[nodiscard]] std::vector<double> hop_ms() const;
    [[nodiscard]] double between_hops_ms() const;
    [[nodiscard]] boost::json::array failovers_as_json() const;
    [[nodiscard]] boost::json::array members_as_json() const;

    net::EventLoop& loop_;
    const GenerateOptions& options_;
    Hooks hooks_;
    Console& console_;
    TemporaryDirectory scratch_;
    std::optional<net::Host> host_;
    std::optional<stacking::tokenizers::ModelTokenizer> tokenizer_;
    std::optional<Question> question_;
    std::optional<TextStream> stream_;
    std::string text_;
    std::vector<std::uint32_t> ids_;
    std::vector<node::TokenStreamed> timed_;  // those of plain decode steps
    std::vector<node::SessionMoved> moves_;
    bool ensemble_ = false;
    std::vector<Reader> readers_;        // of a model or a chain one
    std::vector<std::size_t> answered_;  // tokens by the hop that ended their path
    TimePoint routed_{};
    TimePoint first_token_{};
    TimePoint last_token_{};
    bool moved_ = false;  // since the last token
    std::optional<int> exit_code_;
};

/// `swarm generate --model --join`, or `--stack --join`.
int generate_remote(const GenerateOptions& options, Console& console);

}  // namespace swarm::cli
