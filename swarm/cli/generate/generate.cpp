#include "swarm/cli/generate/generate.hpp"

#include "stacking/generator.hpp"
#include "stacking/tokenizers/model_tokenizer.hpp"
#include "stacking/tokenizers/stop_texts.hpp"
#include "stacking/tokenizers/tokenizer_file.hpp"
#include "stacking/tokenizers/utf8.hpp"
#include "swarm/base/digest.hpp"
#include "swarm/base/try.hpp"
#include "swarm/cli/answer/generate_alone.hpp"
#include "swarm/cli/answer/remote_answer.hpp"
#include "swarm/cli/common/clock.hpp"
#include "swarm/cli/common/files.hpp"
#include "swarm/cli/common/swarm_key.hpp"
#include "swarm/cli/owners/owner_check.hpp"
#include "swarm/cli/terminal/console.hpp"
#include "swarm/cli/terminal/exit_code.hpp"
#include "swarm/cli/terminal/printable.hpp"
#include "swarm/cli/terminal/standard_output.hpp"
#include "swarm/cli/terminal/stop_presses.hpp"
#include "swarm/net/address.hpp"
#include "swarm/net/host.hpp"
#include "swarm/protocol/limits.hpp"

#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace swarm::cli {
namespace {

using stacking::tokenizers::ModelTokenizer;
using stacking::tokenizers::SpecialTokens;

constexpr auto kGoodbye = std::chrono::seconds(2);
constexpr std::size_t kPromptBytesMax = 16 << 20;  // maximum from standard input
constexpr std::uint32_t kBytes = 256;              // the vocabulary where a token is a byte

/// A text by the peers of a run, from the question to its last token.
class Generation {
 public:
    Generation(const GenerateOptions& options, Console& console)
        : options_(options), console_(console), stops_(options.stops) {}

    int run() {
        if (const Result<> started = start(); !started) {
            return end_with(console_, started.error());
        }
        loop_.on_signal([this](int number) {
            if (presses_.note(clock_now()) == StopPress::Echo) {
                return;
            }
            if (exit_code_) {
                std::_Exit(after_signal(number));
            }
            exit_code_ = after_signal(number);
        });
        loop_.run_until([this] { return exit_code_ || host_->failure(); });
        host_->stop();
        static_cast<void>(loop_.run_until([this] { return host_->finished(); }, kGoodbye));
        return host_->failure() ? end_with(console_, *host_->failure()) : *exit_code_;
    }

 private:
    Result<> start() {
        SWARM_TRY(net::parse_address(options_.join));
        net::HostOptions host_options;
        SWARM_TRY(host_options.swarm_key, read_swarm_key(options_.swarm_key_file));
        host_options.first_contact = make_owner_check(options_.owner, console_);
        stacking::Generator::Options generator;
        generator.coordinator_address = options_.join;
        generator.first_contact_within = options_.wait;
        generator.patience = options_.wait;
        generator.tokenizer_sha256 = std::nullopt;
        if (!options_.tokenizer_file.empty()) {
            SWARM_TRY(
                std::string file, read_file(options_.tokenizer_file, protocol::kTokenizerBytesMax)
            );
            SWARM_TRY(read_tokenizer(std::move(file), options_.tokenizer_file));
            generator.tokenizer_sha256 = tokenizer_sha256_;
        }
        host_options.on_tell = [this](const node::Report& report) { on_tell(report); };
        host_.emplace(
            loop_,
            std::make_unique<stacking::Generator>(std::move(generator)),
            net::FileStore::none(),
            net::Identity::make_ephemeral(),
            std::move(host_options)
        );
        host_->start();
        return tokenizer_ ? ask() : Result<>{};
    }

    /// `origin` stands before an error.
    Result<> read_tokenizer(std::string file, const std::string& origin) {
        tokenizer_sha256_ = to_hex(sha256(std::as_bytes(std::span(file))));
        auto made = stacking::tokenizers::parse_tokenizer_file(std::move(file));
        if (!made) {
            const Error& error = made.error();
            return Error{error.code, error.reaction, origin + ": " + error.detail};
        }
        tokenizer_ = std::move(*made);
        return {};
    }

    /// Asks for the text, once the tokens of the run are known.
    Result<> ask() {
        std::vector<std::uint32_t> prompt;
        if (tokenizer_) {
            SWARM_TRY(prompt, tokenizer_->encode(options_.prompt, SpecialTokens::AsText));
        } else {
            for (const char letter : options_.prompt) {
                prompt.push_back(static_cast<unsigned char>(letter));
            }
        }
        host_->ask({node::GenerateRequest{
            1,
            std::move(prompt),
            options_.tokens,
            options_.temperature,
            options_.seed,
            options_.top_p,
            options_.top_k}});
        return {};
    }

    Result<> ask_with(std::string tokenizer) {
        if (!tokenizer.empty()) {
            SWARM_TRY(read_tokenizer(std::move(tokenizer), "the run's tokenizer"));
        }
        return ask();
    }

    void on_tell(const node::Report& report) {
        if (const auto* const line = std::get_if<node::LogLine>(&report)) {
            console_.log(line->level, line->text);
        } else if (const auto* const token = std::get_if<node::TokenGenerated>(&report)) {
            take(*token);
        } else if (const auto* const tokenizer = std::get_if<node::TokenizerKnown>(&report)) {
            if (const Result<> asked = ask_with(tokenizer->file); !asked) {
                exit_code_ = end_with(console_, asked.error());
            }
        } else if (const auto* const failed = std::get_if<node::GenerationFailed>(&report)) {
            console_.error(failed->reason);
            exit_code_ = kRunFailed;
        } else if (const auto* const ended = std::get_if<node::RunFailed>(&report)) {
            console_.error(ended->text);
            exit_code_ = ended->exit_code;
        }
    }

    std::string bytes_of(std::uint32_t token) const {
        if (tokenizer_) {
            Result<std::string> bytes = tokenizer_->decode(std::span(&token, 1));
            return bytes ? std::move(*bytes) : "";
        }
        return token < kBytes ? std::string(1, static_cast<char>(token)) : "";
    }

    /// A token that is a byte is written as it is, but to people; a character of several tokens is
    /// written whole.
    void write(const std::string& bytes) {
        if (output_is_terminal()) {
            std::cout << printable(stream_.push(bytes)) << std::flush;
        } else {
            std::cout << (tokenizer_ ? stream_.push(bytes) : bytes) << std::flush;
        }
    }

    void take(const node::TokenGenerated& token) {
        if (!std::exchange(begun_, true)) {
            std::cout << (output_is_terminal() ? printable(options_.prompt) : options_.prompt);
        }
        write(stops_.push(bytes_of(token.token)));
        if (token.last || stops_.is_found()) {
            write(stops_.finish());
            const std::string rest = stream_.finish();
            std::cout << (output_is_terminal() ? printable(rest) : rest) << std::endl;
            exit_code_ = kDone;
        } else if (!output_is_taken()) {
            exit_code_ = kRunFailed;
        }
    }

    const GenerateOptions& options_;
    Console& console_;
    net::EventLoop loop_;
    std::optional<net::Host> host_;
    std::optional<ModelTokenizer> tokenizer_;  // that of the run; none: its tokens are bytes
    std::string tokenizer_sha256_;
    stacking::tokenizers::StopTexts stops_;
    stacking::tokenizers::Utf8Stream stream_;
    std::optional<int> exit_code_;
    StopPresses presses_;
    bool begun_ = false;
};

}  // namespace

int generate(const GenerateOptions& given) {
    Console console;
    GenerateOptions options = given;
    if (options.prompt == "-") {
        Result<std::string> text = read_standard_input(kPromptBytesMax);
        if (!text) {
            return end_with(console, text.error());
        }
        options.prompt = std::move(*text);
    }
    if (options.model.empty() && options.stack.empty()) {
        return Generation(options, console).run();
    }
    return options.join.empty() ? generate_alone(options, console)
                                : generate_remote(options, console);
}

}  // namespace swarm::cli
